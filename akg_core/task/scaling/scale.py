"""Makes a reference file smaller: integers that feed shapes are rewritten, wherever they stand, and it still runs.

One rule for all files. A size above 16 becomes about `scale` times itself, at least 16, with the same power of two
in it (up to 16), so that what was aligned stays aligned and what divided nothing still does not. Where the file then
does not run, sizes shrink less or go back to what they were, as few as a greedy search finds. Whether a file runs is
tried on fake tensors (shapes without data), and for real where it looks things up by integers and is small: as it
draws these, and at the ends of what it draws them from. Worker side only.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import math
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from akg_core.errors import TaskError
from akg_core.task.scaling.literals import Change, Integer, rewritten
from akg_core.task.scaling.shapes import Shapes, is_degenerate, shapes_of
from akg_core.task.scaling.sizes import SMALLEST, Role, Size, sizes_of
from akg_core.task.scaling.writes import Required
from akg_core.task.source import load

SMALL = 16  # what no scaled size gets below, and the power of two up to which it keeps what is in it
_SMALL_ENOUGH_TO_RUN, _AT_ALL = 1 << 22, 1 << 28  # to run it for real at each try, and where it does not run otherwise
_SMALL_BATCH, _SMALLEST_BATCH = 4, 2
_TRIES = 1 << 15  # operators that trying smaller sizes may run
_OUTSIDE: tuple[Role, ...] = ("batch", "extent", "result")
_ALL: tuple[Role, ...] = (*_OUTSIDE, "feature", "unknown")
_STAGES = ((_OUTSIDE, SMALL), (_ALL, SMALL), (_OUTSIDE, SMALLEST), (_ALL, SMALLEST))


def scaled(source: str, name: str, scale: float) -> tuple[str, tuple[str, ...]]:
    """The file with its sizes shrunk by `scale` (0 < scale < 1), and sentences that say what changed.

    Raises TaskError when the file does not run even as it is.
    """
    if not 0 < scale < 1:
        raise TaskError(f"A scale of {scale:g} does not shrink.", "Give a number between 0 and 1.")
    shrinking = _Shrinking(source, name)
    wanted = shrinking.wanted(scale, SMALL, _ALL)
    shrinking.most(wanted, SMALL)
    return shrinking.text(), shrinking.sentences(f"Scaled by {scale:g}", wanted)


def with_small_batch(source: str, name: str, work: int, rank: int = 1) -> tuple[str, tuple[str, ...]]:
    """The file with fewer rows in a batch, until one call does at most about `work` (see `Shapes.work`).

    A batch is an integer that moves the first dimension of inputs and nothing else: no other dimension, and no
    parameter; these inputs have `rank` dimensions at least. It stays at 4 or more. What comes back is the file itself
    where it has none or is small enough.
    """
    shrinking = _Shrinking(source, name, work)
    shrinking.fewer_rows(work, _SMALL_BATCH, rank)
    return shrinking.text(), shrinking.sentences("With a smaller batch", ()) if shrinking.made else ()


def fitting(source: str, name: str, work: int, rank: int = 1) -> tuple[str, tuple[str, ...]]:
    """The file made smaller until one call does at most about `work`: what costs least to lose goes first.

    That is how many rows (of inputs of `rank` dimensions at least) a batch has, then how large inputs are apart from
    what parameters share, then everything. Sizes get below 16, and not below 8, only where that is needed.
    """
    shrinking = _Shrinking(source, name, work)
    # At large sizes it does not show that a table is too small for what looks it up, unless the file is run for real.
    for features, runs in ((True, _SMALL_ENOUGH_TO_RUN), (False, _SMALL_ENOUGH_TO_RUN), (True, _AT_ALL)):
        shrinking = shrinking.afresh(runs)
        shrinking.fewer_rows(work, _SMALL_BATCH, rank)
        for roles, least in _STAGES:
            for halvings in range(1, 20):
                if shrinking.shapes.work > work:
                    shrinking.most(shrinking.wanted(0.5**halvings, least, roles if features else _OUTSIDE), least)
        shrinking.fewer_rows(work, _SMALLEST_BATCH, rank)
        if not shrinking.whole.indexes or (shrinking.shapes.work <= work if features else shrinking.runs()):
            break
    return shrinking.text(), shrinking.sentences("Sizes", ()) if shrinking.made else ()


def shrunk(value: int, scale: float, divisors: Collection[int] = (), least: int = SMALL) -> int:
    """About `scale * value`, at least `least`, a power of two up to which it is divisible by 2, 4, … where `value` is.

    It stays divisible by those of the `divisors` that divide `value`, where that leaves it small.
    """
    target = max(value * scale, least)
    power = math.gcd(value, least)
    common = math.lcm(power, *(each for each in divisors if 2 < each < value and value % each == 0))
    step = common if common <= target else power
    near, around = int(target) // step * step, 2 * least * step  # in `least` steps, powers of two up to it repeat
    multiples = range(max(-(-least // step) * step, near - around), min(value, near + around), step)
    alike = (m for m in multiples if math.gcd(m, least) == power)
    return min(alike, key=lambda m: abs(m - target), default=value)


class _Shrinking:
    """A file, what its integers are, and which have been `made` smaller so far, with the `shapes` that it then has."""

    def __init__(self, source: str, name: str, work: int = 0) -> None:
        self.source, self.name = source, name
        self.shapes = self.whole = shapes_of(source, name)
        self.made: dict[Integer, int] = {}
        small_enough = work and self.whole.work <= work
        self.sizes: dict[Integer, Size] = {} if small_enough else sizes_of(source, name, self.whole)
        self._tries = max(24, _TRIES // max(1, len(self.whole.results)))
        self._tried = {source}
        self._known: dict[str, Shapes | None] = {}  # what has been tried: its shapes, if it is of any use
        self._run_up_to = _SMALL_ENOUGH_TO_RUN  # so much work
        divisors = {each.value for each, size in self.sizes.items() if size.role == "none" and each.value <= 64}
        self._divisors = divisors | {each.value for each in self.sizes if each.value <= SMALL}

    def afresh(self, runs: int) -> _Shrinking:
        """The same file with nothing made smaller, of which all is known that is known here.

        `runs`: up to how much work it is run for real.
        """
        other = copy.copy(self)
        other.made, other.shapes, other._tried = {}, self.whole, {self.source}
        other._run_up_to, least = runs, min(runs, self._run_up_to)
        known = self._known.items()
        other._known = {text: s for text, s in known if s is None or s.work <= least or runs == self._run_up_to}
        return other

    def runs(self) -> bool:
        """Whether the file as it is now runs for real."""
        try:
            _run(self.text(), self.name)
        except TaskError:
            return False
        return True

    def text(self) -> str:
        """The file as it is now."""
        return rewritten(self.source, self.made.items())

    def wanted(self, scale: float, least: int, roles: Sequence[Role]) -> list[Change]:
        """What integers of these roles become at a scale, as far as that is smaller than they have been made."""
        inputs = [each.value for each, size in self.sizes.items() if size.role == "extent" and each.value > least]
        found = []
        for each, size in self.sizes.items():
            times = each.value // min(inputs, default=each.value) if size.role == "result" else 1
            new = shrunk(each.value, scale, self._divisors, least * max(1, times))  # an input that is enlarged stays so
            if size.role in roles and new < self.made.get(each, each.value):
                found.append((each, new))
        return found

    def most(self, changes: Sequence[Change], least: int) -> None:
        """As many of the changes as go together, or to twice, four times … as much, the largest values first.

        Equal values are tried as one.
        """
        if not changes or self._try(changes):
            return
        for value in sorted({each.value for each, _ in changes}, reverse=True):
            group = [each for each, _ in changes if each.value == value]
            new = next(new for each, new in changes if each.value == value)
            doublings = range(max(1, (value // new).bit_length() - 1))
            now = max(self.made.get(each, value) for each in group)
            tried = {shrunk(value, (new << n) / value, self._divisors, least) for n in doublings}
            sizes = sorted(size for size in tried if size < now)
            if not any(self._try_group(group, size) for size in sizes):
                for each in group if len(group) > 1 else ():
                    any(self._try([(each, size)]) for size in sizes)

    def fewer_rows(self, work: int, least: int, rank: int) -> None:
        """Make batches smaller, down to `least`, until a call does at most `work`; the largest first."""
        batches = [each for each, size in self.sizes.items() if size.role == "batch" and size.rank >= rank]
        for each in sorted(batches, key=lambda each: -each.value):
            now = self.made.get(each, each.value)
            new = max(least, now * work // self.shapes.work)
            if self.shapes.work > work and new < now:
                self._try([(each, new)])

    def sentences(self, what: str, wanted: Sequence[Change]) -> tuple[str, ...]:
        """What became smaller, and which of the changes that were `wanted` did not."""
        arguments = list(inspect.signature(load.load_source(self.source, self.name).Model.forward).parameters)[1:]
        made = sorted(self.made.items(), key=lambda change: change[0].span)
        changed = self._listed([(each, f"{each.value} -> {new}") for each, new in made], arguments)
        same = self.whole.parameters and self.shapes.parameters == self.whole.parameters
        said = f"{changed}{'; parameters as they are' * bool(same)}" if changed else "no integer could shrink"
        kept = self._listed([(each, f"{each.value}") for each, _ in wanted if each not in self.made], arguments)
        return (f"{what}: {said}.", *([f"Kept, or the file would not run: {kept}."] if kept else []))

    def _listed(self, changes: Sequence[tuple[Integer, str]], arguments: Sequence[str]) -> str:
        """ "a 32 -> 16, b and c 64 -> 16": what is done to several is said once."""
        said: dict[str, list[Integer]] = {}
        for each, change in changes:
            said.setdefault(change, []).append(each)
        return ", ".join(f"{self._names(group, arguments)} {change}" for change, group in said.items())

    def _names(self, group: Sequence[Integer], arguments: Sequence[str]) -> str:
        """What the file calls integers, or what they are."""
        names: list[str] = []
        dims: dict[str, list[str]] = {}
        for each in group:
            size = self.sizes.get(each, Size())
            if each.name:
                names.append(each.name)
            elif size.role == "batch" and size.rank > 2:
                names.append("batch")
            elif not size.moves:
                names.append(f"a number in {each.scope.removeprefix('Model.')}")
            for which, dim in () if each.name or "batch" in names[-1:] else size.moves:
                dims.setdefault((*arguments, *["*"] * 99)[which], []).append(str(dim))
        spelled = [f"dim{'s' * (len(found) > 1)} {' and '.join(found)} of {x}" for x, found in dims.items()]
        return " and ".join(dict.fromkeys([*spelled, *names]))

    # --- what still runs ---------------------------------------------------------------------------------

    def _try_group(self, group: Sequence[Integer], new: int) -> bool:
        """Change equal integers to `new`, with what must follow them, or all but one of them."""
        return any(self._try(part) for part in self._following([(each, new) for each in group], new))

    def _following(self, changes: list[Change], new: int) -> Iterator[list[Change]]:
        """Changes of equal integers, with none, with some and with all of those that may have to follow them."""
        value = changes[0][0].value
        rest = [each for each in self.sizes if each not in dict(changes)]
        features = any(self.sizes[each].role == "feature" for each, _ in changes)
        last = {value: new, value - 1: new - 1}  # how many places there are, or which is the last
        bounds = [(each, last[each.value]) for each in rest if each.value in last and self._is_bound(each)]
        beyond = [(each, new) for each in rest if new < self.made.get(each, each.value) and self._is_bound(each)]
        inside = [each for each in rest if each.in_class and (features or self.sizes[each].role != "feature")]
        equal = [(each, new) for each in inside if each.value == value]
        yield changes + bounds
        if self.shapes.indexes and bounds:  # a file may draw one more than there are places
            yield changes + [(each, new - 1) for each, _ in bounds]
        if self.shapes.indexes and beyond != bounds:  # what points into a table, by less than the whole of it
            yield changes + beyond
        if equal:
            yield changes + bounds + equal
        if len(changes) > 2:
            yield from (changes[:n] + changes[n + 1 :] for n in range(len(changes)))
        if value % new == 0 and not features:
            yield from (changes + more for more in self._in_proportion(rest, value, new))

    def _in_proportion(self, rest: Sequence[Integer], value: int, new: int) -> Iterator[list[Change]]:
        """Other numbers of features, that may be made of the sizes of inputs: of one of them, or a product of some."""
        inside = [each for each in rest if self.sizes[each].role == "feature"]
        for other in sorted({each.value for each in inside} - {value}, reverse=True):
            for ratio in (value // new, (value // new) ** 2, (value // new) ** 3):
                if other % ratio == 0 and other > ratio:
                    yield [(each, other // ratio) for each in inside if each.value == other]

    def _is_bound(self, integer: Integer) -> bool:
        """Whether a number that makes inputs is not of their shapes: then it is of their values."""
        return not integer.in_class and bool(integer.scope) and self.sizes[integer].role == "none"

    def _try(self, changes: Sequence[Change]) -> bool:
        """Make changes that leave the file running, with all that it has now."""
        made = {**self.made, **dict(changes)}
        text = rewritten(self.source, made.items())
        if text in self._tried or len(self._tried) >= self._tries:
            return False
        self._tried.add(text)
        if text not in self._known:
            self._known[text] = self._running(text)
        shapes = self._known[text]
        if shapes is None or shapes.work > self.shapes.work:
            return False
        self.made, self.shapes = made, shapes
        return True

    def _running(self, text: str) -> Shapes | None:
        """The shapes of a file that runs, and with none that the file itself would not have."""
        try:
            shapes = shapes_of(text, self.name)
            if is_degenerate(shapes, self.whole):
                return None
            if shapes.indexes and shapes.work <= self._run_up_to:
                _run(text, self.name)
        except TaskError:
            return None
        return shapes


def _run(text: str, name: str) -> None:
    reference = load.load_source(text, name)
    for mode in (contextlib.nullcontext(), _Ends()):
        with mode:
            inputs = reference.inputs()
        with load.blame(name, "forward"), torch.no_grad(), Required():
            reference.model()(*inputs)


class _Ends(TorchFunctionMode):
    """Whole numbers that are drawn are by turns the largest and the smallest that may be, the largest first."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        if func in (torch.randint, torch.randint_like):
            given = dict(zip(("low", "high"), [each for each in args if isinstance(each, int)], strict=False))
            given |= {key: value for key, value in (kwargs or {}).items() if key in ("low", "high")}
            low, high = (given.get("low", 0), given["high"]) if "high" in given else (0, given["low"])
            made.view(-1)[0::2], made.view(-1)[1::2] = high - 1, low
        return made
