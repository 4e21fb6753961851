"""Products: by matrix units where these take them, else element by element in blocks of registers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from akg_core.plugin.lower import Op, dtype_of
from akg_core.plugin.sketch import Binary, Expr, Name, is_float, numerics, promote
from akg_plugin_tilelang.emit.combine import folded, tile_of
from akg_plugin_tilelang.emit.region import RegionPrinter
from akg_plugin_tilelang.emit.terms import HELD, Term, cast, literal, strong
from akg_plugin_tilelang.emit.units import has_rows_of_its_own, is_on_units, sides_of


def multiply(printer: RegionPrinter, op: Op) -> None:
    """A product: by matrix units where these take it, else element by element."""
    name, _ = printer.hold(op)
    held = numerics.dot_dtype(dtype_of(op.operand), dtype_of(op.second))
    sides = sides_of(printer, op)
    if not sides.rows or not sides.columns or not is_float(held):
        _fold_products(printer, op, held)
        return
    if not is_on_units(printer, op):
        _by_elements(printer, op, sides.left, sides.right, held)
        return
    source = promote(dtype_of(op.operand), dtype_of(op.second))
    (a, a_axes), (b, b_axes) = (_factor(printer, expr, source) for expr in (sides.left, sides.right))
    turned = a_axes != (*sides.rows, *op.over), b_axes != (*op.over, *sides.columns)
    options = "".join(f", transpose_{n}=True" for n, turn in zip("AB", turned, strict=True) if turn)
    options += "" if op.accumulate else ", clear_accum=True"
    if has_rows_of_its_own(printer, sides):
        options += ", policy=T.GemmWarpPolicy.FullRow"
    printer.say(f"T.gemm({a}, {b}, {name}{options})")
    printer.on_units = True


def _factor(printer: RegionPrinter, expr: Expr, dtype: str) -> tuple[str, tuple[str, ...]]:
    """A tile in shared memory that holds a factor, and its dimensions."""
    axes, term = printer.ordered(printer.body.axes_of(expr)), cast(strong(printer.terms.term(expr)), dtype)
    own = printer.axes_of(expr.id) if isinstance(expr, Name) and expr.id in printer.body.values else axes
    for scope in ("shared", "fragment"):
        found = tile_of(printer, term, own, scope)
        if found and (scope == "shared" or found in printer.registers):
            return found, own
    name = expr.id if isinstance(expr, Name) else "factor"
    tile = printer.allocate(printer.body.unique(f"{name}_shared"), axes, HELD[dtype], "shared")
    printer.fill(tile, axes, term)
    return tile, axes


def _by_elements(printer: RegionPrinter, op: Op, left: Expr, right: Expr, held: str) -> None:
    """A product outside of matrix units: each lane of the result goes along what is summed over."""
    name, axes = printer.hold(op)
    dtypes = [dtype_of(e) for e in (left, right)]
    tiles = [_factor(printer, e, d) for e, d in zip((left, right), dtypes, strict=True)]
    total = name
    if not (op.accumulate and op.result.dtype == held):
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
        made = cast(Term(at, held), op.result.dtype)
        before = f"{printer.terms.at(name, axes)} + " if op.accumulate else ""
        printer.fill(name, axes, Term(f"{before}{made}", op.result.dtype))


def _share_out(printer: RegionPrinter, tile: str, axes: Sequence[str]) -> None:
    """Give each thread a block of a result's rows by four of its columns, so that it reads each factor for several.

    Rows lie alike over the threads for all such results of a region, which share what is known of a row.
    """
    rows, columns = (printer.body.axes[axis].lanes or 0 for axis in axes) if len(axes) == 2 else (0, 0)
    results = [printer.axes_of(op.target.name) for op in printer.products if op.target and not is_on_units(printer, op)]
    across = math.gcd(*(printer.body.axes[result[-1]].lanes or 1 for result in results if result)) // 4
    across &= -across  # as many threads as all results have in a row, a power of two of them
    if not across or printer.threads % across or rows % (printer.threads // across):
        return
    down, several = rows * across // printer.threads, columns // across
    thread, place = f"i // {down} * {across} + j // 4", f"i % {down} * {several} + j % 4"
    if several > 4:
        thread, place = f"{thread} % {across}", f"{place} + j // {4 * across} * 4"
    printer.distribute(tile, axes, "ij", thread, place)


def _fold_products(printer: RegionPrinter, op: Op, held: str) -> None:
    """A product of which one factor has no axis of its own, or of whole numbers: multiplied, then summed."""
    name, axes = printer.hold(op)
    pair = [cast(strong(printer.terms.term(e)), held) for e in (op.operand, op.second)]
    term = Term(f"{pair[0].beside('*')} * {pair[1].beside('*', right=True)}", held)
    both = Op(op.kind, op.place, target=op.result, expr=Binary("*", op.operand, op.second), over=op.over)
    made = cast(folded(printer, both, term, "sum"), op.result.dtype)
    before = f"{printer.terms.at(name, axes)} + " if op.accumulate else ""
    printer.fill(name, axes, Term(f"{before}{made}", op.result.dtype))
