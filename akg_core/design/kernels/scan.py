"""Kernels of running sums and their like: tile by tile along the row, what came before carried on.

Long rows may be shared by several programs, in three kernels: the totals of chunks, their running totals, and the
rows, each chunk starting from what came before it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from akg_core.design.algebra.index import Axis, position
from akg_core.design.graph.values import Reduction, Scan
from akg_core.design.kernels.builder import Emitted, builder_of, ends
from akg_core.design.nest.accesses import access_order
from akg_core.design.nest.nest import Head, Nest, Store
from akg_core.design.nest.terms import Buffer, Result, Term
from akg_core.design.nest.tiling import MANY_TILES, ONE, Step, Tiling, choices_around, power_below
from akg_core.records import Traits
from akg_core.sketch.ast import Assign, AxisList, Call, Expr, Grid, Name, Number, Statement, Text, Tiles, call
from akg_core.sketch.numerics import identity

_JOIN = {"sum": "+", "prod": "*", "max": "maximum", "min": "minimum"}


def tile_scan(nest: Nest, traits: Traits) -> Tiling:
    """Long tiles along the row; where rows lie side by side in memory, several of them a program."""
    walked = access_order(nest)
    grid: list[tuple[Axis, Step]] = []
    across = walked.lane is not None and walked.lane not in nest.reduced
    left = traits.tile_elements
    for axis in [a for a in reversed(walked.order) if a not in nest.reduced]:
        step = power_below(min(8 * traits.lanes, 2 * axis.extent.example - 1)) if across and axis == walked.lane else 1
        grid.append((axis, choices_around(step, traits.lanes, 8 * step) if step > 1 else ONE))
        left = max(left // step, 1)
    loops: list[tuple[Axis, Step]] = []
    for axis in (a for a in nest.axes if a in nest.reduced):
        step = power_below(min(left, 2 * axis.extent.example - 1))
        loops.append((axis, choices_around(step, min(step, 8), 8 * step)))
    return Tiling(tuple(reversed(grid)), (), tuple(loops), on_chip=False, trees=traits.register_tiles)


def scan_chunk(tiling: Tiling, traits: Traits, wanted: bool | None) -> int:
    """Positions of a row for one program, 0 when a row stays with one; `wanted` overrides what units and tiles say."""
    programs = tiling.programs
    ((axis, step),) = tiling.loops
    tiles = -(-axis.extent.example // step.default)
    if wanted is False or tiles < 4 or (wanted is None and (programs >= 2 * traits.units or tiles < MANY_TILES)):
        return 0
    each = -(-tiles * programs // (4 * traits.units))
    return max(min(each, tiles // 2), 1) * step.default


def emit_scan(
    nest: Nest,
    tiling: Tiling,
    name: str,
    stream: Callable[[Store], bool],
    prefix: tuple[Axis, Term] | None = None,
) -> Emitted:
    """The scan of each tile joined with what came before it.

    `prefix`: the axis over chunks, and what came before the chunk at hand, where a program has one chunk of a row.
    """
    head = nest.heads[0]
    assert isinstance(head.of, Scan)
    ((axis, step),), e = tiling.loops, builder_of(nest, tiling, stream)
    along, kept = e.axis(axis), tuple(e.axis(a) for a, _ in tiling.grid)
    dtype = head.args[0].dtype
    inner = _narrow(nest) if tiling.trees else head.args[0]
    before = e.writer.fresh("before")
    first: Expr = Call("full", (AxisList(kept), Number(identity(head.of.op, dtype)), Text(dtype)))
    start = stop = None
    if prefix:
        e.number_chunks(prefix[0], tiling.chunk)
        first = e.writer.expression(prefix[1])
        start, stop = ends("g")
    out: list[Statement] = e.writer.hoisted(e.terms, [inner], frozenset((axis,)))
    out.append(Assign((before,), first))
    body = e.writer.named(e.terms, [inner])
    tile = e.argument(inner, frozenset((axis,)), False, body)
    reverse = (("reverse", Number(True)),) if head.of.reverse else ()
    scanned = Call(f"scan_{head.of.op}", (tile, Name(along)), reverse)
    running, join = e.writer.fresh("running"), _JOIN[head.of.op]
    end = "first" if head.of.reverse else "last"
    if inner.dtype == dtype:
        body.append(Assign((running,), call(join, scanned, Name(before))))
        after: Expr = Call(end, (Name(running), Name(along)))
    else:  # narrow tiles, and what came before them in the wide dtype
        within = e.writer.fresh("within")
        body.append(Assign((within,), scanned))
        narrow = Call("cast", (Name(before), Text(inner.dtype)))
        body.append(Assign((running,), call(join, Name(within), narrow)))
        after = call(join, Name(before), Call("cast", (Call(end, (Name(within), Name(along))), Text(dtype))))
    e.bind(head.of, (Name(running),))
    body += e.stores(list(nest.stores))
    body.append(Assign((before,), after))
    out.append(Tiles(along, e.extent(axis), e.step(axis, step), tuple(body), start, stop, head.of.reverse))
    if prefix:
        out = [Grid("g", e.extent(axis), Number(tiling.chunk), tuple(out))]
    return e.kernel(name, e.in_grid(tiling.grid, out))


def _narrow(nest: Nest) -> Term:
    """What is scanned, before it was widened, where the result is only wanted as narrow as that.

    Products keep the wide dtype: those of a tile's elements may leave the range of the narrow one, in either direction,
    where what came before brings them back.
    """
    (head,) = nest.heads
    (wide,) = head.args
    if isinstance(head.of, Scan) and head.of.op == "prod":
        return wide
    if not (wide.op == "cast" and wide.dtype == "f64" and wide.args[0].dtype == "f32"):
        return wide
    narrow = wide.args[0]
    results = {t for t in nest.terms() if isinstance(t, Result)}
    readers = [t for t in nest.terms() if results & set(t.args)]
    narrowed = all(t.op == "cast" and t.dtype == narrow.dtype for t in readers)
    return narrow if narrowed and not results & {s.term for s in nest.stores} else wide


def split_scan(nest: Nest, group: Axis, totals: Buffer, through: Buffer) -> tuple[Nest, Nest, Term]:
    """A scan in chunks: the nest of the chunks' totals, that of their running totals, and what precedes a chunk.

    `totals` and `through` hold a number for each position of the kept axes and each chunk `group`.
    """
    (head,), pool = nest.heads, nest.pool
    assert isinstance(head.of, Scan)
    kept = tuple(position(a) for a in nest.kept)
    here = (*kept, position(group))
    summed = Reduction(head.of.op, head.of.arg, (head.of.dim,))
    total = Store(totals, here, pool.result(summed, 0, totals.dtype))
    parts = replace(nest, heads=(Head(summed, head.args),), stores=(total,))
    scan = Scan(head.of.op, head.of.arg, len(kept), head.of.reverse, shape=totals.shape, dtype=totals.dtype)
    carry = Store(through, here, pool.result(scan, 0, totals.dtype))
    heads = (Head(scan, (pool.load(totals, here),)),)
    carried = Nest(pool, (*nest.kept, group), frozenset((group,)), heads, (carry,), frozenset((group,)))
    last = (*kept, position(group) + (1 if head.of.reverse else -1))
    return parts, carried, pool.load(through, last, identity(head.of.op, totals.dtype))
