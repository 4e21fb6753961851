"""One case's answers beside the reference's: structure, dtype, shape, strides, then every element.

Worker side, in the reference process. How far apart floats may be is the policy of `akg_core.judge.compare.accuracy`.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from akg_core.errors import OutOfMemory
from akg_core.judge.compare import accuracy
from akg_core.judge.compare.bits import flatten, same_bits
from akg_core.judge.compare.diagnose import diagnose
from akg_core.judge.compare.ties import Tie, repeated, tied, told
from akg_core.judge.compare.undecided import undecided
from akg_core.judge.records import OutputComparison
from akg_core.records import HOST
from akg_core.worker.tensors import span

_HOPELESS = 1e3  # an error so many times what is allowed is no rounding, unless that decides a comparison, or eager's
# answer is no measure: the mean of x and -x is exactly 0 there, in whatever way x was rounded
_BY_CHANCE = 0.5  # of the elements that rounding lifts over 0 at times, as relu shows: those that a run leaves there;
# a channel's are lifted together, so that how many are left after more runs than the first tells nothing

Noise = dict[str, torch.Tensor]
"""By leaf: how far noise moves each element; of one of whole numbers, the places where it gives others, and these."""
NoiseSource = Callable[[int, "torch.Tensor | None"], "Noise | None"]


@dataclass(frozen=True)
class Expected:
    """What the reference answers: by eager PyTorch, and in float64 (`exact`, where that could be run).

    Keys are the paths of leaves as `flatten` gives them. `changed`: arguments and state that the call leaves different,
    or may: what it `kept` this time, a candidate may leave as it was, too. `ties`: for an output of indices, what it
    points into. `open`: by leaf, the elements that depend on which of equal values comes first, and are not counted.
    `shares`: in whose memory outputs lie, as `sharing.shared` says; None: in any that they like.
    `sized`: outputs whose size is among the values, of which nobody can rely on more than that they are dense.
    `has_steps`: the reference compares, so that rounding may move an answer by more than it is itself.
    `summed`: outputs of whole numbers that are sums, as counts are.
    """

    result: dict[str, Any]
    changed: dict[str, Any]
    exact: dict[str, Any] | None = None
    ties: dict[str, Tie] = field(default_factory=dict)
    kept: frozenset[str] = frozenset()
    open: dict[str, torch.Tensor] = field(default_factory=dict)
    shares: list[list[str]] | None = None
    sized: frozenset[str] = frozenset()
    has_steps: bool = False
    summed: frozenset[str] = frozenset()

    def tensors(self) -> list[torch.Tensor]:
        """The result's tensors."""
        return [value for value in self.result.values() if isinstance(value, torch.Tensor)]


def compare(
    result: Any,
    changed: dict[str, Any],
    expected: Expected,
    longest_reduction: float,
    noise: NoiseSource,
    before: Callable[[str], Any] = lambda name: None,
) -> list[OutputComparison]:
    """Compare what a candidate returned and left changed with what is expected.

    What it left as it was holds what it held `before`, which is near enough where the change is rounding's alone.
    `noise` gives, when asked, how far rounding noise moves each element of each leaf at most in so many runs
    (None: not known); where some rows of the first dimension are named, those elsewhere may be given as 0.
    """
    given = flatten(result)
    if list(given) != list(expected.result):
        reason = f"it returns {_spell(given)} where {_spell(expected.result)} is due"
        return [OutputComparison(name="output", ok=False, reason=reason)]
    found = []
    for name, due in (expected.result | expected.changed).items():
        mine = given.get(name) if name in given else changed.get(name)
        if mine is None and name in expected.kept:
            found.append(OutputComparison(name=name, ok=True, dtype=_plain(due.dtype), kernelbench=True))
        elif not isinstance(due, torch.Tensor):
            ok = _equal(mine, due)
            reason = "" if ok else f"it is {_thing(mine)} where {_thing(due)} is due"
            found.append(OutputComparison(name=name, ok=ok, reason=reason, kernelbench=ok))
        elif mine is None and name in expected.changed:
            found.append(_as_it_was(name, before(name), due, expected, longest_reduction, noise))
        elif not isinstance(mine, torch.Tensor):
            found.append(OutputComparison(name=name, ok=False, reason=f"it is {_thing(mine)}, not a tensor"))
        else:
            found.append(_tensor(name, mine, due, expected, longest_reduction, noise))
    return found


def fits(result: Any, expected: Expected) -> bool:
    """Whether an answer has the structure, dtypes and shapes that are due; until then nothing looks at its numbers."""
    given = flatten(result)
    return list(given) == list(expected.result) and all(
        (mine.dtype, mine.shape) == (due.dtype, due.shape)
        if isinstance(mine, torch.Tensor) and isinstance(due, torch.Tensor)
        else type(mine) is type(due)
        for mine, due in zip(given.values(), expected.result.values(), strict=True)
    )


def alike(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two answers differ no more than where each call adds in another order, as devices and threads do."""

    def close(a: Any, b: Any) -> bool:
        if not isinstance(a, torch.Tensor) or not a.is_floating_point() or not a.numel():
            return same_bits(a, b)
        tolerance = accuracy.kernelbench_tolerance(a.dtype)
        return torch.allclose(a, b, rtol=tolerance, atol=tolerance * float(a.abs().max()), equal_nan=True)

    return one.keys() == other.keys() and all(close(one[name], other[name]) for name in one)


def _as_it_was(
    name: str, before: Any, due: torch.Tensor, expected: Expected, reduced: float, noise: NoiseSource
) -> OutputComparison:
    """What was left as it was `before`, which is right only where a change is too small to be told from rounding."""
    if isinstance(before, torch.Tensor) and due.is_floating_point():
        found = _tensor(name, before, due, expected, reduced, noise)
        if found.ok:
            return found
    return OutputComparison(name=name, ok=False, reason="it is not updated")


def _tensor(
    name: str,
    mine: torch.Tensor,
    due: torch.Tensor,
    expected: Expected,
    reduced: float,
    noise: NoiseSource,
) -> OutputComparison:
    for what, verb, one, other in (
        ("dtype", "is", mine.dtype, due.dtype),
        ("shape", "is", tuple(mine.shape), tuple(due.shape)),
        ("strides", "are", _strides(mine), _strides(due)),
    ):
        if one != other and not (what == "strides" and mine.is_contiguous() and _is_free(name, due, expected)):
            reason = f"its {what} {verb} {_plain(one)} where {_plain(other)} {verb} due"
            return OutputComparison(name=name, ok=False, reason=reason, dtype=_plain(due.dtype))
    exact = (expected.exact or {}).get(name)
    if name in expected.open:
        if due.is_floating_point() and due.dim() > 1:
            noise = _among_ties(noise, name, expected.open[name])
        mine = torch.where(expected.open[name], due, mine)
        exact = torch.where(expected.open[name], due.to(exact.dtype), exact) if exact is not None else None
    if due.is_floating_point():
        return _floats(name, mine, due, exact, reduced, noise, math.inf if expected.has_steps else _HOPELESS)
    return _integers(name, mine, due, exact, expected.ties.get(name), reduced, noise, name in expected.summed)


def _floats(
    name: str, mine: torch.Tensor, due: torch.Tensor, exact: Any, reduced: float, noise: NoiseSource, most: float
) -> OutputComparison:
    c, e = mine.reshape(-1), due.reshape(-1)
    if not isinstance(exact, torch.Tensor) or exact.shape != due.shape:
        return _without_exact(name, mine, due)
    r = exact.double().resolve_neg().reshape(-1)
    slack = accuracy.slack(reduced, due.dtype)
    errors = accuracy.errors(c, e, r, slack)
    allowed = accuracy.norm_allowed(errors, slack, due.dtype)
    seems_hopeless = errors.norm >= most * allowed
    done, rows = 0, _rows_in_doubt(errors, due) if errors.norm <= allowed else None
    scatter: torch.Tensor | None = None
    for runs in (1,) * seems_hopeless + accuracy.NOISE_RUNS:
        right = errors.nonfinite < 0 and not errors.count and errors.norm <= allowed
        many = errors.nonfinite >= 0 or errors.count > 1 + 2 * _BY_CHANCE ** accuracy.NOISE_RUNS[0] * due.numel()
        # Below a relu, say, one run may leave no trace of what rounding does.
        cut_off = scatter is not None and not r[errors.where] and not scatter[errors.where]
        if right or (done > 1 and many) or (done == 1 and errors.norm >= most * allowed and not cut_off):
            break
        done = runs
        with contextlib.suppress(*(OutOfMemory,) * seems_hopeless):  # what is wrong by far is so without noise, too
            scatter = (noise(runs, rows) or {}).get(name)
        if scatter is not None:
            errors = accuracy.errors(c, e, r, slack, scatter)
            allowed = accuracy.norm_allowed(errors, slack, due.dtype, scatter)
    reason, where, wrong = "", errors.where, errors.count
    if errors.nonfinite >= 0:
        where = errors.nonfinite
        return OutputComparison(
            name=name,
            ok=False,
            reason=f"it holds {float(c[where])} where {float(e[where])} is due",
            hints=diagnose(mine, due, _misplaced(c, e)),
            dtype=_plain(due.dtype),
            where=_index(where, due.shape),
        )
    if wrong:
        reason = (
            f"it holds {float(c[where]):.9g} where {float(r[where]):.9g} is due, {_times(errors.worst, errors.allowed)}"
        )
    elif errors.norm > allowed:
        reason = f"its error as a whole is {_times(errors.norm, allowed)}"
    return OutputComparison(
        name=name,
        ok=not reason,
        reason=reason,
        hints=diagnose(mine, exact, errors.outside),
        dtype=_plain(due.dtype),
        worst_error=errors.worst,
        allowed_error=errors.allowed,
        where=_index(where, due.shape),
        wrong_elements=wrong,
        eager_error=errors.eager_worst,
        ratio=accuracy.ratio(errors, due.dtype),
        kernelbench=errors.close,
    )


def _among_ties(noise: NoiseSource, name: str, is_open: torch.Tensor) -> NoiseSource:
    """Noise of a leaf of which some elements are open: what others in such rows have may come from any of these rows,
    so that noise moves it as far as it moves any of them."""

    def shared(runs: int, rows: torch.Tensor | None) -> Noise | None:
        found = noise(runs, None)
        if found is None or name not in found:
            return found
        moved, settled = found[name].view(-1, is_open.shape[-1]), ~is_open.view(-1, is_open.shape[-1])
        tied = ~settled.all(1)
        most = torch.where(settled[tied], moved[tied], 0).amax(0)
        moved = torch.where(tied[:, None] & settled, torch.maximum(moved, most), moved)
        return found | {name: moved.view(-1)}

    return shared


def _rows_in_doubt(errors: accuracy.Errors, due: torch.Tensor) -> torch.Tensor | None:
    """The rows of the first dimension that hold all elements in doubt, in order; None: these are not all known."""
    if errors.nonfinite >= 0 or not due.dim() or not 0 < errors.count <= len(errors.outside):
        return None
    return (errors.outside // (due.numel() // len(due))).unique()


def _misplaced(c: torch.Tensor, e: torch.Tensor) -> torch.Tensor:
    """The flat indices where one of two flat tensors holds a NaN or an infinity that the other does not."""
    alike = (c == e) | (torch.isnan(c) & torch.isnan(e)) | (torch.isfinite(c) & torch.isfinite(e))
    return (~alike).nonzero().flatten()


def _without_exact(name: str, mine: torch.Tensor, due: torch.Tensor) -> OutputComparison:
    """Without a float64 run there is only eager to go by, and KernelBench's tolerance of it."""
    tolerance = accuracy.kernelbench_tolerance(due.dtype)
    c, e = mine.reshape(-1).double(), due.reshape(-1).double()
    wrong = ~torch.isclose(c, e, rtol=tolerance, atol=tolerance, equal_nan=True)
    distance = torch.where(torch.isfinite(c) & torch.isfinite(e), (c - e).abs(), 0.0)
    where = int(wrong.nonzero()[0]) if bool(wrong.any()) else int(distance.argmax()) if distance.numel() else 0
    ok = not bool(wrong.any())
    return OutputComparison(
        name=name,
        ok=ok,
        reason="" if ok else f"it holds {float(c[where]):.9g} where eager has {float(e[where]):.9g}",
        hints=diagnose(mine, due, wrong.nonzero().flatten()),
        dtype=_plain(due.dtype),
        worst_error=float(distance[where]) if distance.numel() else 0.0,
        allowed_error=tolerance * (1 + float(e[where].abs())) if e.numel() else tolerance,
        where=_index(where, due.shape),
        wrong_elements=int(wrong.sum()),
        kernelbench=ok,
    )


def _integers(
    name: str,
    mine: torch.Tensor,
    due: torch.Tensor,
    exact: Any,
    tie: Tie | None,
    reduced: float,
    noise: NoiseSource,
    summed: bool,
) -> OutputComparison:
    """Exactly eager's value, or where rounding before a comparison decides, float64's, without noise or with; for
    indices, an equal value."""
    wrong = _unlike(mine, due)
    is_known = isinstance(exact, torch.Tensor) and exact.shape == due.shape and exact.dtype == due.dtype
    if is_known:
        wrong &= _unlike(mine, exact)
    if tie is not None and bool((mine != due).any()):
        wrong = wrong & ~tied(mine, due, tie, reduced) | repeated(mine, tie)
    elif exact is not None:
        center = exact if is_known else due
        wrong = undecided(mine, center, wrong, lambda runs, rows: (noise(runs, rows) or {}).get(name), summed)
    count = int(wrong.sum())
    if not count:
        return OutputComparison(name=name, ok=True, dtype=_plain(due.dtype), kernelbench=True)
    where = int(wrong.reshape(-1).nonzero()[0])
    one, other = mine.reshape(-1)[where].item(), due.reshape(-1)[where].item()
    said = f": {told(mine, due, tie, where)}" if tie is not None else ""
    return OutputComparison(
        name=name,
        ok=False,
        reason=f"it holds {one} where {other} is due{said}",
        hints=diagnose(mine, due, wrong.reshape(-1).nonzero().flatten()),
        dtype=_plain(due.dtype),
        worst_error=float(abs(one - other)),
        where=_index(where, due.shape),
        wrong_elements=count,
    )


def _unlike(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Where two tensors differ; of truths the bytes count, for of other bytes than 0 and 1 nobody knows the truth."""
    if one.dtype == torch.bool:
        one, other = one.view(torch.uint8), other.view(torch.uint8)
    return one != other


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-5) or (math.isnan(one) and math.isnan(other))
    return type(one) is type(other) and one == other


def _strides(tensor: torch.Tensor) -> tuple[int, ...]:
    """The strides that matter: those of dimensions with more than one element."""
    if tensor.numel() == 0:
        return ()
    return tuple(stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if size > 1)


def _is_free(name: str, due: torch.Tensor, expected: Expected) -> bool:
    """Whether a tensor may as well be contiguous.

    State may: where the reference puts a part of something larger in its place, a kernel writes it where it was.
    A dense answer may where libraries choose its layout (on other devices than the host), and where its size is among
    the values.
    """
    if name.startswith("state "):
        return True
    chosen = name in expected.sized or due.device.type != HOST
    return chosen and not due.is_contiguous() and span(due) == due.numel()


def _index(flat: int, shape: torch.Size) -> tuple[int, ...]:
    index = []
    for size in reversed(shape):
        flat, part = divmod(flat, max(1, size))
        index.append(part)
    return tuple(reversed(index))


def _times(worst: float, allowed: float) -> str:
    return f"off by {worst:.3g} where {allowed:.3g} is allowed"


def _plain(value: Any) -> str:
    return str(value).removeprefix("torch.")


def _thing(value: Any) -> str:
    """A value that is no tensor (or should not be one), in few words."""
    if isinstance(value, torch.Tensor):
        return "a tensor"
    text = repr(value)
    return text if len(text) <= 60 else f"a {type(value).__name__}"


def _spell(leaves: dict[str, Any]) -> str:
    """What holds these leaves, in words."""
    if list(leaves) == ["output"]:
        return "a single value"
    if not leaves:
        return "nothing"
    container = {"[": "a list", "(": "a tuple", ".": "a dict"}[next(iter(leaves))[len("output")]]
    names = ", ".join(name[:60] for name in list(leaves)[:6]) + (", …" if len(leaves) > 6 else "")
    return f"{container} with {names}"
