"""Makes a reference file smaller: the integers that it spells out at module level are rewritten, and it still runs.

One rule for all files. An integer above 16 becomes about `scale` times itself, at least 16, with the same power of two
in it (up to 16), so that what was aligned stays aligned and what divided nothing still does not. Where the file then
does not run, integers shrink less or go back to what they were, as few as a greedy search finds. Whether a file runs is
tried on fake tensors (shapes without data), and for real once it is small. Worker side only.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from akg_core.errors import TaskError
from akg_core.task import load
from akg_core.task.fake import fake_mode, fake_or_real, run

SMALL, SMALLEST = 16, 8
_SMALL_ENOUGH_TO_RUN = 1 << 22
_SMALLEST_BATCH = 4


@dataclass(frozen=True, slots=True)
class Constant:
    """An integer written at module level, alone or in a tuple, list or dict; `span` is its place in the text."""

    name: str
    value: int
    span: tuple[int, int]


Change = tuple[Constant, int]


def scaled(source: str, name: str, scale: float, least: int = SMALL) -> tuple[str, tuple[str, ...]]:
    """The file with its constants shrunk by `scale` (0 < scale < 1), and sentences that say what changed.

    `least`: what no constant gets below, and the power of two up to which it keeps what is in it.

    Raises TaskError when the file does not run even as it is.
    """
    if not 0 < scale < 1:
        raise TaskError(f"A scale of {scale:g} does not shrink.", "Give a number between 0 and 1.")
    _shapes(source, name)
    found = constants(source)
    changes = [(c, new) for c in found if (new := shrunk(c.value, scale, found, least)) < c.value]
    made = changes if _runs(rewritten(source, changes), name) else _most(source, name, changes, found, least)
    return rewritten(source, made), _sentences(f"Scaled by {scale:g}", made, changes)


def with_small_batch(source: str, name: str, work: int, rank: int = 1) -> tuple[str, tuple[str, ...]]:
    """The file with fewer rows in a batch, until one call does at most about `work` (see `_Shapes.work`).

    A batch constant is one that moves the first dimension of inputs and nothing else: no other dimension, and no
    parameter; these inputs have `rank` dimensions at least. It stays at 4 or more. What comes back is the file itself
    where it has none or is small enough.
    """
    shapes = _shapes(source, name)
    made: list[Change] = []
    for constant in sorted(constants(source), key=lambda c: -c.value):
        if shapes.work <= work:
            break
        new = max(_SMALLEST_BATCH, constant.value * work // shapes.work)
        if new >= constant.value:
            continue
        try:
            smaller = _shapes(rewritten(source, [*made, (constant, new)]), name)
        except TaskError:
            continue
        if smaller.parameters == shapes.parameters and _fewer_rows(smaller.inputs, shapes.inputs, rank):
            made.append((constant, new))
            shapes = smaller
    return rewritten(source, made), _sentences("With a smaller batch", made, made) if made else ()


def fitting(source: str, name: str, work: int) -> tuple[str, tuple[str, ...]]:
    """The file scaled by the largest power of a half at which one call does at most `work`.

    Integers get below 16, and not below 8, only where that is needed.
    """
    smaller, notes = source, tuple[str, ...]()
    for least in (SMALL, SMALLEST):
        scale = 1.0
        while _shapes(smaller, name).work > work and scale > 1e-3:
            scale /= 2
            smaller, notes = scaled(source, name, scale, least)
    return smaller, notes


def shrunk(value: int, scale: float, others: Sequence[Constant] = (), least: int = SMALL) -> int:
    """About `scale * value`, at least `least`, a power of two up to which it is divisible by 2, 4, … where `value` is.

    It stays divisible by those of the `others` up to 16 that divide `value`, where that leaves it small.
    """
    target = max(value * scale, least)
    power = math.gcd(value, least)
    common = math.lcm(power, *(c.value for c in others if 2 < c.value <= SMALL and value % c.value == 0))
    step = common if common <= target else power
    multiples = range(-(-least // step) * step, value, step)
    alike = (m for m in multiples if math.gcd(m, least) == power)
    return min(alike, key=lambda m: abs(m - target), default=value)


# --- the text --------------------------------------------------------------------------------------------


def constants(source: str) -> list[Constant]:
    """The integers that module-level assignments spell out, in order; `2048 * 2` is one."""
    lines = [line + "\n" for line in source.split("\n")]
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def offset(line: int, column: int) -> int:  # ast counts columns in bytes of UTF-8
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    found: list[Constant] = []

    def visit(name: str, node: ast.expr) -> None:
        value = _integer(node)
        if value is not None:
            end = offset(node.end_lineno or node.lineno, node.end_col_offset or 0)
            found.append(Constant(name, value, (offset(node.lineno, node.col_offset), end)))
        elif isinstance(node, (ast.Tuple, ast.List)):
            for i, item in enumerate(node.elts):
                visit(f"{name}[{i}]", item)
        elif isinstance(node, ast.Dict):
            for key, item in zip(node.keys, node.values, strict=True):
                visit(f"{name}[{ast.unparse(key) if key else '**'}]", item)

    for statement in ast.parse(source).body:
        if isinstance(statement, ast.Assign):
            target, value = statement.targets[0], statement.value
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
                for item, part in zip(target.elts, value.elts, strict=True):
                    visit(ast.unparse(item), part)
            else:
                visit(ast.unparse(target), value)
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            visit(ast.unparse(statement.target), statement.value)
    return found


def rewritten(source: str, changes: Iterable[Change]) -> str:
    """The text with each constant replaced; every line keeps its number."""
    for constant, value in sorted(changes, key=lambda change: change[0].span, reverse=True):
        start, end = constant.span
        source = source[:start] + str(value) + "\n" * source.count("\n", start, end) + source[end:]
    return source


def _integer(node: ast.expr) -> int | None:
    """The value of an expression made of integer literals alone."""
    plain = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)
    if not all(isinstance(part, plain) for part in ast.walk(node)):
        return None
    try:
        value = ast.literal_eval(node) if isinstance(node, ast.Constant) else eval(ast.unparse(node), {})
    except (ArithmeticError, TypeError, ValueError):
        return None
    return value if type(value) is int else None


def _sentences(what: str, made: Sequence[Change], wanted: Sequence[Change]) -> tuple[str, ...]:
    changed = ", ".join(f"{c.name} {c.value} -> {new}" for c, new in made)
    shrank = [c for c, _ in made]
    kept = ", ".join(f"{c.name} {c.value}" for c, _ in wanted if c not in shrank)
    sentences = [f"{what}: {changed}." if changed else f"{what}: no integer could shrink."]
    return (*sentences, f"Kept, or the file would not run: {kept}.") if kept else tuple(sentences)


# --- what still runs -------------------------------------------------------------------------------------


def _most(source: str, name: str, changes: Sequence[Change], others: Sequence[Constant], least: int) -> list[Change]:
    """As many of the changes as go together, or to twice, four times … as much, the largest values first.

    Equal values are tried as one.
    """
    made: list[Change] = []
    for value in sorted({c.value for c, _ in changes}, reverse=True):
        group = [c for c, _ in changes if c.value == value]
        new = next(new for c, new in changes if c.value == value)
        doublings = range(max(1, (value // new).bit_length() - 1))
        sizes = sorted({shrunk(value, (new << n) / value, others, least) for n in doublings})
        for part in [group, *([c] for c in group if len(group) > 1)]:
            tries = [[(c, size) for c in part if c not in dict(made)] for size in sizes]
            made += next((tried for tried in tries if _runs(rewritten(source, [*made, *tried]), name)), [])
    return made


def _runs(source: str, name: str) -> bool:
    try:
        shapes = _shapes(source, name)
        if shapes.work + sum(map(math.prod, shapes.parameters.values())) <= _SMALL_ENOUGH_TO_RUN:
            reference = load.load_source(source, name)
            with load.blame(name, "forward"), torch.no_grad():
                reference.model()(*reference.inputs())
    except TaskError:
        return False
    return True


class _Shapes(NamedTuple):
    inputs: list[tuple[int, ...]]
    parameters: dict[str, tuple[int, ...]]
    outputs: list[tuple[int, ...]]
    products: int  # floating-point operations of matrix products and convolutions

    @property
    def work(self) -> int:
        """What one call costs, counted in elements moved; 256 operations of a product cost about as much as one."""
        return sum(math.prod(shape) for shape in (*self.inputs, *self.outputs)) + self.products // 256


def _shapes(source: str, name: str) -> _Shapes:
    """Shapes of what goes into forward, of the module's state, and of what comes out, on fake tensors."""
    reference = load.load_source(source, name)
    mode = fake_mode()
    model: nn.Module = fake_or_real(mode, reference.model)
    inputs: list[Any] = fake_or_real(mode, reference.inputs)
    counter = FlopCounterMode(display=False)
    outputs = run(name, mode, model, inputs, counter)
    parameters = {n: tuple(p.shape) for n, p in model.state_dict().items()}
    return _Shapes(_tensor_shapes(inputs), parameters, _tensor_shapes(outputs), counter.get_total_flops())


def _tensor_shapes(values: Iterable[Any]) -> list[tuple[int, ...]]:
    return [tuple(v.shape) for v in values if isinstance(v, torch.Tensor)]


def _fewer_rows(smaller: Sequence[tuple[int, ...]], before: Sequence[tuple[int, ...]], rank: int) -> bool:
    pairs = list(zip(smaller, before, strict=True))
    alike = all(a == b or (len(a) == len(b) >= rank and a[1:] == b[1:]) for a, b in pairs)
    return alike and smaller != before
