"""Kernels of matrix products: tiles of the result, the contracted axis tile by tile, elementwise work as epilogue."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import gcd, prod

from akg_core.design.algebra.index import Axis, Index, Quotient, Remainder, position
from akg_core.design.graph.values import NARROW, Product
from akg_core.design.kernels.builder import Emitted, KernelBuilder
from akg_core.design.nest.accesses import example
from akg_core.design.nest.nest import Nest, Store, fused, stored_in_a_row
from akg_core.design.nest.terms import Constant, Load, Place, Result, Term, axes_of, below
from akg_core.design.nest.tiling import ONE, Step, Tiling, choices_around, power_below
from akg_core.records import Traits
from akg_core.sketch.ast import (
    Assign,
    AxisList,
    Call,
    Expr,
    Grid,
    Group,
    Hints,
    If,
    Name,
    Number,
    Statement,
    Text,
    call,
)

FILLED = 1.25  # how many times longer than a contraction its tiles may be together
FEW_COLUMNS = 64  # with fewer, or where their results lie in a row, images of a batch share a tile
_COMPARED = {">=": (True, ">="), ">": (True, ">"), "<=": (False, "<="), "<": (False, "<")}


def flattened(nest: Nest, by_taps: bool = False) -> Nest:
    """A refined nest with the positions that windows slide along as one axis, channels and taps as one, rows as one.

    `by_taps`: channels and taps stay apart, so that each tap is a product over channels.
    """
    left, right = sides(nest)
    columns = [a for a in nest.kept if a in right and a not in left]
    contracted = [a for a in nest.axes if a in nest.reduced]
    read = (p for t in below(list(_operands(nest)[1])) if isinstance(t, Load) for p in t.at)
    written = (p for s in nest.stores for p in s.at)
    if not any(_slides(place, columns, contracted) for place in (*read, *written)):
        return nest
    rows = [a for a in nest.kept if a in left and a not in right and a not in nest.batch]
    inside = [a for a in columns if a not in nest.batch]
    few = example(inside) < FEW_COLUMNS or (multiplies_halves(nest) and stored_in_a_row(nest, columns))
    whole = fused(fused(nest, rows), columns if few else inside)
    return fused(whole, () if by_taps else contracted)


def multiplies_halves(nest: Nest) -> bool:
    """Whether all that a product multiplies lies in memory in 16 bits."""
    return all(isinstance(t, Load) and t.dtype in NARROW for t in nest.heads[0].args)


def _operands(nest: Nest) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
    """The terms that the left operand consists of, and the right one."""
    args = nest.heads[0].args
    return args[: len(args) // 2], args[len(args) // 2 :]


def sides(nest: Nest) -> tuple[frozenset[Axis], frozenset[Axis]]:
    """The axes of the left operand, and those of the right one."""
    found = axes_of(below(list(nest.heads[0].args)), frozenset())
    left, right = (frozenset().union(*(found[t] for t in operand)) for operand in _operands(nest))
    return left, right


def _slides(place: Index, columns: list[Axis], contracted: list[Axis]) -> bool:
    """Whether a window is behind this position: a column moves in it by more than one, or together with a tap."""
    moving = [a for a in columns if a in place.axes()]
    steps = [place.coefficient(a) for a in moving]
    return any(s is None or s.constant != 1 for s in steps) or bool(moving and place.axes() & set(contracted))


def roles(nest: Nest) -> tuple[list[Axis], Axis | None, Axis | None, list[Axis]]:
    """Axes that each program has one position of, the rows, the columns, and the contracted axes, the longest last."""
    left, right = sides(nest)
    rows = [a for a in nest.kept if a in left and a not in right]
    columns = [a for a in nest.kept if a in right and a not in left]
    row, column = (max(axes, key=lambda a: _room(nest, a), default=None) for axes in (rows, columns))
    single = [a for a in nest.kept if a not in (row, column)]
    contracted = [a for a in nest.axes if a in nest.reduced]
    longest = max(contracted, key=lambda a: a.extent.example)
    return single, row, column, [*(a for a in contracted if a != longest), longest]


def _room(nest: Nest, axis: Axis) -> tuple[bool, int]:
    """What speaks for an axis as the one that tiles lie along: not being a batch's, then its length."""
    extent = axis.extent.example
    return extent >= FEW_COLUMNS and axis not in nest.batch, extent


def tile_product(nest: Nest, traits: Traits) -> Tiling:
    """Tiles near the chip's best, smaller where the result would leave units without work."""
    single, row, column, contracted = roles(nest)
    sizes = list(traits.dot_tile)
    for number, axis in enumerate((row, column, contracted[-1])):
        if axis is not None:
            sizes[number] = min(sizes[number], power_below(2 * axis.extent.example - 1))

    while len(nest.heads) * prod(sizes[:2]) > prod(traits.dot_tile[:2]) and sizes[1] > 4 * traits.lanes:
        sizes[1] //= 2  # all sums together fill a tile

    def count() -> int:
        across = zip((row, column), sizes, strict=False)
        return example(single) * prod(-(-a.extent.example // size) for a, size in across if a is not None)

    wanted = traits.units if len(nest.heads) > 1 else 2 * traits.units  # what takes long is few programs sooner
    while count() < wanted and max(sizes[:2]) > 4 * traits.lanes:
        sizes[sizes.index(max(sizes[:2]))] //= 2
    grid: list[tuple[Axis, Step]] = [(a, ONE) for a in single]
    for axis, size in ((row, sizes[0]), (column, sizes[1])):
        if axis is not None:
            grid.append((axis, _around(size, power_below(2 * axis.extent.example - 1))))
    loops = [(a, ONE) for a in contracted[:-1]]
    last = contracted[-1]
    run, length = _run(nest, last), last.extent.example
    even = [size for size in (sizes[2], sizes[2] // 2) if size > 1 and run % size == 0]
    size = even[0] if even else sizes[2]
    if -(-length // size) * size > FILLED * length and size > 16:
        size //= 2
    step = _around(size, power_below(2 * length - 1))
    loops.append((last, Step(step.default, tuple(c for c in step.choices if run % c == 0)) if even else step))
    return Tiling(tuple(grid), (), tuple(loops), on_chip=False)


def _run(nest: Nest, axis: Axis) -> int:
    """How many positions along an axis its digits leave evenly spaced in memory; 0 when all of them are."""
    walks = [p for t in nest.terms() if isinstance(t, Load) for p in t.at]
    cuts = [a for p in walks for a in p.atoms() if isinstance(a, (Quotient, Remainder)) and a.top == position(axis)]
    return gcd(*(a.bottom.constant or 1 for a in cuts))


def _around(size: int, high: int) -> Step:
    step = choices_around(size, min(size, 16), high)
    return Step(step.default, tuple(c for c in step.choices if size // 2 <= c <= 2 * size))


@dataclass(slots=True)
class Sum:
    """How products are summed: statements before their loops, in the innermost and after them; `result` names the sum
    of the first one, `others` those of the others."""

    result: str
    start: list[Statement] = field(default_factory=list)
    body: list[Statement] = field(default_factory=list)
    finish: list[Statement] = field(default_factory=list)
    others: tuple[str, ...] = ()


def plain_sum(
    e: KernelBuilder, kept: tuple[str, ...], over: Expr, operands: tuple[Term, ...] | None = None, precision: str = ""
) -> Sum:
    """One product of the operands' tiles each turn; `kept`: axes of a result's tile."""
    head = e.nest.heads[0]
    operands = operands or head.args
    acc = e.writer.fresh("acc")
    body = e.writer.named(e.terms, list(operands))
    found = axes_of(below(list(operands)), frozenset())
    # A constant operand has no axes of its own.
    absent = frozenset(a for a in e.nest.kept if not any(a in found[t] for t in operands))
    left, right = (
        e.argument(t, e.nest.reduced | more, False, body)
        for t, more in zip(operands, (absent, frozenset()), strict=True)
    )
    if isinstance(head.of, Product) and head.of.narrow:
        precision = "fast"
    options: list[tuple[str, Expr]] = [("over", over), ("into", Name(acc))]
    body.append(
        Assign((acc,), Call("dot", (left, right), (*options, *([("precision", Text(precision))] if precision else ()))))
    )
    total = next((t.dtype for t in e.terms if isinstance(t, Result)), "f32")
    return Sum(acc, [Assign((acc,), Call("zeros", (AxisList(kept), Text(total))))], body)


def sums_beside(e: KernelBuilder, kept: tuple[str, ...], over: Expr) -> Sum:
    """The products of all heads of a nest, turn by turn."""
    first, *others = (plain_sum(e, kept, over, head.args) for head in e.nest.heads)
    for other in others:
        first.start += other.start
        first.body += other.body
    return replace(first, others=tuple(other.result for other in others))


Summing = Callable[[KernelBuilder, tuple[str, ...], Expr], Sum]
Chunk = tuple[Axis, int]  # an axis over chunks of the first contracted one, and positions of a chunk


def opened(nest: Nest, stream: Callable[[Store], bool]) -> KernelBuilder:
    """A kernel of a product with its axes named: m the rows, n the columns, k the contracted axis."""
    single, row, column, contracted = roles(nest)
    names = dict(zip(single, ("b", "c", "d", "e", "f", "h"), strict=False))
    names |= {a: n for a, n in ((row, "m"), (column, "n")) if a is not None}
    names |= dict(zip(reversed(contracted), ("k", "l", "j", "u", "v"), strict=False))
    return KernelBuilder(nest, names, stream)


def product_tile(
    e: KernelBuilder, tiling: Tiling, chunk: Chunk | None = None, summed: Summing = plain_sum
) -> list[Statement]:
    """Statements for one tile of the result: its sum over the contracted axes, or over a chunk, and its stores."""
    return [*summed_tile(e, tiling, chunk, summed), *e.stores(list(e.nest.stores))]


def summed_tile(e: KernelBuilder, tiling: Tiling, chunk: Chunk | None, summed: Summing) -> list[Statement]:
    """Statements for the sum of one tile of the result."""
    over = tuple(Name(e.axis(a)) for a, _ in tiling.loops)
    made = summed(e, tuple(e.axis(a) for a, _ in tiling.grid), over[0] if len(over) == 1 else Group(over))
    body = e.looped(tiling.loops, made.body, bool(chunk))
    e.writer.known.clear()
    for head, name in zip(e.nest.heads, (made.result, *made.others), strict=True):
        e.bind(head.of, (Name(name),))
    needed = _needed(e, e.nest.stores)
    if needed is not None:
        body = [If(needed, tuple(body))]
    if chunk:
        e.number_chunks(*chunk)
    return [*made.start, *body, *made.finish]


def in_chunks(e: KernelBuilder, tiling: Tiling, chunk: Chunk | None, body: list[Statement]) -> list[Statement]:
    """`body` for each chunk, in parallel."""
    return [Grid("g", e.extent(tiling.loops[0][0]), Number(chunk[1]), tuple(body))] if chunk else body


def emit_product(
    nest: Nest,
    tiling: Tiling,
    name: str,
    stream: Callable[[Store], bool],
    chunk: Chunk | None = None,
    summed: Summing = plain_sum,
) -> Emitted:
    """A sum over the contracted axes, then the stores; a program for each tile, and for each chunk when it is split.

    Tiles of a chunk are neighbours: they read the same.
    """
    e = opened(nest, stream)
    body = product_tile(e, tiling, chunk, summed)
    stay: Hints = (("persistent", Number(True)),) if tiling.persistent else ()
    return e.kernel(name, in_chunks(e, tiling, chunk, e.in_grid(tiling.grid, body, hints=stay)))


def _needed(e: KernelBuilder, stores: tuple[Store, ...]) -> Expr | None:
    """When a tile's product is needed at all: a store that masks it by positions leaves whole tiles out."""
    if len(stores) != 1:
        return None
    term = stores[0].term
    while term.op == "cast":
        term = term.args[0]
    if term.op != "where" or any(isinstance(t, Result) for t in below([term.args[2]])):
        return None
    condition = term.args[0]
    if condition.op not in _COMPARED or not isinstance(condition.args[0], Place):
        return None
    bound = condition.args[1]
    if not isinstance(bound, (Place, Constant)):
        return None
    high, op = _COMPARED[condition.op]
    difference = condition.args[0].index - (bound.index if isinstance(bound, Place) else int(bound.number))
    limit = extreme(e, difference, high)
    return None if limit is None else call(op, limit, Number(0))


def extreme(e: KernelBuilder, value: Index, high: bool) -> Expr | None:
    """The largest (or smallest) that a linear position is in the tile at hand."""
    shift = 0
    ends: list[tuple[int, Expr]] = []
    for axis in sorted(value.axes(), key=lambda a: a.name):
        factor = value.coefficient(axis)
        if factor is None or factor.constant not in (1, -1):
            return None
        last = (factor.constant == 1) == high
        shift += (-1 if last else 0) * factor.constant
        ends.append((factor.constant, Call("end" if last else "begin", (Name(e.axis(axis)),))))
        value = value - factor * position(axis)
    if not ends or value.constant is None:
        return None
    ends.sort(key=lambda p: -p[0])
    if ends[0][0] < 0:
        return None
    total = ends[0][1]
    for sign, end in ends[1:]:
        total = total + end if sign > 0 else total - end
    shift += value.constant
    return shifted(total, shift)


def shifted(value: Expr, by: int) -> Expr:
    return value if by == 0 else value + by if by > 0 else value - abs(by)


def split_chunk(nest: Nest, tiling: Tiling, traits: Traits) -> int:
    """Contracted positions of one program when the result has too few tiles for all units, else 0."""
    programs = tiling.programs
    axis, step = tiling.loops[0]
    enough = traits.units // 3 if step.stages else traits.units  # many loads under way stand for many programs
    if programs >= enough or axis.extent.example < 8 * step.default:
        return 0
    wanted = -(-2 * traits.units // programs)
    size = -(-axis.extent.example // wanted)
    return -(-size // step.default) * step.default
