"""Products: by matrix units where these take them, else element by element in blocks of registers."""

from __future__ import annotations

from collections.abc import Sequence

from akg_core.plugin.lower import Op
from akg_core.plugin.sketch import Binary, Expr, Name, is_float, numerics, promote
from akg_plugin_tilelang.emit.combine import folded, tile_of
from akg_plugin_tilelang.emit.expression import dtype_of
from akg_plugin_tilelang.emit.reads import is_exact
from akg_plugin_tilelang.emit.region import RegionPrinter
from akg_plugin_tilelang.emit.terms import HELD, Term, cast, literal, strong


def multiply(printer: RegionPrinter, op: Op) -> None:
    """A product: by matrix units where these take it, else element by element."""
    assert op.expr is not None and op.other is not None and op.target is not None
    name, axes = printer.hold(op)
    source = promote(dtype_of(op.expr), dtype_of(op.other))
    held = numerics.dot_dtype(dtype_of(op.expr), dtype_of(op.other))
    own = [printer.body.axes_of(e) - set(op.over) for e in (op.expr, op.other)]
    rows, columns = (printer.ordered(a - b) for a, b in (own, reversed(own)))
    if not rows or not columns or not is_float(held):
        _fold_products(printer, op, held)
        return
    left, right = op.expr, op.other
    if axes.index(rows[0]) > axes.index(columns[0]):
        left, right, rows, columns = right, left, columns, rows
    matrices = (rows, columns, op.over)
    if _on_matrix_units(printer, op, source, matrices) and op.target.dtype == "f32" and axes == (*rows, *columns):
        (a, a_axes), (b, b_axes) = (_factor(printer, expr, source) for expr in (left, right))
        turned = a_axes != (rows[0], op.over[0]), b_axes != (op.over[0], columns[0])
        options = "".join(f", transpose_{n}=True" for n, turn in zip("AB", turned, strict=True) if turn)
        options += "" if op.accumulate else ", clear_accum=True"
        # Each group of four warps has rows of its own.
        if 2 * (printer.body.axes[rows[0]].lanes or 0) >= printer.threads:
            options += ", policy=T.GemmWarpPolicy.FullRow"
        printer.say(f"T.gemm({a}, {b}, {name}{options})")
        printer.on_units = True
        return
    _by_elements(printer, op, left, right, held)


def _on_matrix_units(printer: RegionPrinter, op: Op, dtype: str, groups: Sequence[Sequence[str]]) -> bool:
    """Whether T.gemm takes a product: one axis each of rows, columns and what is summed over, and tiles of its size."""
    if any(len(group) != 1 for group in groups):
        return False
    if (
        op.expr is None
        or op.other is None
        or printer.body.axes_of(op.expr) & printer.body.axes_of(op.other) - set(op.over)
    ):
        return False
    rows, columns, over = (printer.body.axes[group[0]].lanes or 0 for group in groups)
    return (
        not is_exact(op) and rows % 64 == 0 and columns % 16 == 0 and over % 16 == 0 and bool(rows and columns and over)
    )


def _factor(printer: RegionPrinter, expr: Expr, dtype: str) -> tuple[str, tuple[str, ...]]:
    """A tile in shared memory that holds a factor, and its dimensions."""
    axes, term = printer.ordered(printer.body.axes_of(expr)), cast(strong(printer.terms.term(expr)), dtype)
    own = printer.axes_of(expr.id) if isinstance(expr, Name) and expr.id in printer.body.values else axes
    if found := tile_of(printer, term, own, "shared"):
        return found, own
    name = expr.id if isinstance(expr, Name) else "factor"
    tile = printer.allocate(printer.body.unique(f"{name}_shared"), axes, HELD[dtype], "shared")
    printer.fill(tile, axes, term)
    return tile, axes


def _by_elements(printer: RegionPrinter, op: Op, left: Expr, right: Expr, held: str) -> None:
    """A product outside of matrix units: each lane of the result goes along what is summed over."""
    assert op.target is not None
    name, axes = printer.hold(op)
    dtypes = [dtype_of(e) for e in (left, right)]
    tiles = [_factor(printer, e, d) for e, d in zip((left, right), dtypes, strict=True)]
    total = name
    if not (op.accumulate and op.target.dtype == held):
        total = printer.allocate(printer.body.unique(f"{name}_sum"), axes, HELD[held])
        printer.fill(total, axes, Term(literal(0, held), held))
    _share_out(printer, total, axes)
    outside = printer.lines
    for axis in printer.ordered(op.over):
        printer.block(f"for {printer.terms.lanes[axis]} in T.unroll({printer.lanes(axis)}):")
    factors = [cast(Term(printer.terms.at(*tile), d), held) for tile, d in zip(tiles, dtypes, strict=True)]
    at = printer.terms.at(total, axes)
    printer.fill(total, axes, Term(f"{at} + {factors[0]} * {factors[1]}", held))
    printer.lines = outside
    if total != name:
        made = cast(Term(at, held), op.target.dtype)
        before = f"{printer.terms.at(name, axes)} + " if op.accumulate else ""
        printer.fill(name, axes, Term(f"{before}{made}", op.target.dtype))


def _share_out(printer: RegionPrinter, tile: str, axes: Sequence[str]) -> None:
    """Give each thread a block of a result's rows by four of its columns, so that it reads each factor for several."""
    rows, columns = (printer.body.axes[axis].lanes or 0 for axis in axes) if len(axes) == 2 else (0, 0)
    across = columns // 4
    if not across or printer.threads % across or rows % (printer.threads // across) or tile in printer.shared_out:
        return
    printer.shared_out.add(tile)
    down = rows * across // printer.threads
    place = f"lambda i, j: (i // {down} * {across} + j // 4, i % {down} * 4 + j % 4)"
    printer.held.add(
        f"T.annotate_layout({{{tile}: T.Fragment(({rows}, {columns}), forward_fn={place})}})", printer.line
    )


def _fold_products(printer: RegionPrinter, op: Op, held: str) -> None:
    """A product of which one factor has no axis of its own, or of whole numbers: multiplied, then summed."""
    assert op.expr is not None and op.other is not None and op.target is not None
    name, axes = printer.hold(op)
    pair = [cast(strong(printer.terms.term(e)), held) for e in (op.expr, op.other)]
    term = Term(f"{pair[0].beside('*')} * {pair[1].beside('*', right=True)}", held)
    both = Op(op.kind, op.place, target=op.target, expr=Binary("*", op.expr, op.other), over=op.over)
    made = cast(folded(printer, both, term, "sum"), op.target.dtype)
    before = f"{printer.terms.at(name, axes)} + " if op.accumulate else ""
    printer.fill(name, axes, Term(f"{before}{made}", op.target.dtype))
