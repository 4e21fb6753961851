"""Kernels that reduce segments of rows whose ends are read: a program goes through the rows of one of them."""

from __future__ import annotations

from collections.abc import Callable

from akg_core.design.algebra.index import Axis
from akg_core.design.graph.values import Segmented
from akg_core.design.kernels.builder import Emitted, KernelBuilder, builder_of, ends
from akg_core.design.kernels.reduction import ReductionBuilder
from akg_core.design.nest.accesses import access_order
from akg_core.design.nest.nest import Nest, Store
from akg_core.design.nest.terms import Term, axes_of, below
from akg_core.design.nest.tiling import ONE, Step, Tiling, choices_around, power_below
from akg_core.records import Traits
from akg_core.sketch.ast import Expr, Name, Number, Range, Statement, Tiles


def tile_segments(nest: Nest, traits: Traits) -> Tiling:
    """One segment a program, as many rows in a tile as a segment of the usual length has.

    Where a program goes through its tiles piece by piece, it takes one row after the other, all of it; of rows of one
    number, lanes are along them.
    """
    (rows,) = nest.reduced
    walked, single = access_order(nest), _segments(nest)
    grid: list[tuple[Axis, Step]] = []
    left = traits.tile_elements
    for axis in (a for a in reversed(walked.order) if a != rows):
        step = 1 if axis in single else power_below(min(left, 2 * axis.extent.example - 1))
        grid.append((axis, choices_around(step, min(step, traits.lanes), 8 * step) if step > 1 else ONE))
        left = max(left // step, 1)
    each = -(-rows.extent.example // max(1, *(a.extent.example for a in single)))
    step = power_below(min(left, 2 * each - 1))
    inside = () if traits.register_tiles or single.issuperset(nest.kept) else (rows,)
    return Tiling(tuple(reversed(grid)), (), ((rows, choices_around(step, 1, 8 * step)),), on_chip=False, rows=inside)


def emit_segments(nest: Nest, tiling: Tiling, name: str, stream: Callable[[Store], bool]) -> Emitted:
    """Tiles of a segment's rows, one after the other, and what is stored of it."""
    (head,), ((rows, step),), single = nest.heads, tiling.loops, _segments(nest)
    assert isinstance(head.of, Segmented)
    e = builder_of(nest, tiling, stream)
    for axis in single:  # a program has one position of it, and what is read there are scalars
        e.writer.special[axis], _ = ends(e.axis(axis))
    argument, *where = head.args
    kept = tuple(e.axis(a) for a, _ in tiling.grid if a not in single)
    along, op, dtype = e.axis(rows), head.of.op, argument.dtype
    over = () if rows in tiling.rows else (along,)
    reducing = ReductionBuilder(op, dtype, over, kept, e.writer.fresh, tiling.has_many_tiles)
    out: list[Statement] = e.writer.hoisted(e.terms, [*head.args], frozenset((rows,)))
    start, stop = (e.writer.expression(term) for term in where)
    reducing.start(out)
    known = dict(e.writer.known)
    body = list[Statement]()
    if rows in tiling.rows:
        tile = ReductionBuilder(op, dtype, (), kept, e.writer.fresh)
        part = _row_by_row(e, tile, rows, argument, body)
    else:
        body += e.writer.named(e.terms, [argument])
        part = e.argument(argument, frozenset((rows,)), False, body)
    reducing.step(body, part)
    e.writer.known = known
    out.append(Tiles(along, e.extent(rows), e.step(rows, step), tuple(body), start, stop, False, ()))
    e.bind(head.of, reducing.finish(out))
    out += e.stores(list(nest.stores))
    return e.kernel(name, e.in_grid(tiling.grid, out))


def _row_by_row(e: KernelBuilder, tile: ReductionBuilder, rows: Axis, argument: Term, out: list[Statement]) -> Expr:
    """The rows of a tile reduced one after the other."""
    turn = e.writer.fresh("k")
    e.writer.special[rows] = Name(turn)
    tile.start(out)
    body = e.writer.named(e.terms, [argument])
    tile.step(body, e.writer.expression(argument))
    out.append(Range(turn, *ends(e.axis(rows)), Number(1), tuple(body)))
    (found,) = tile.finish(out)
    return found


def _segments(nest: Nest) -> frozenset[Axis]:
    """The axis of segments; none where there is one segment."""
    (head,) = nest.heads
    where = below([*head.args[1:]])
    found = axes_of(where, frozenset(nest.kept))
    return frozenset().union(*(found[term] for term in where))
