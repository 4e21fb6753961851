"""Which products matrix units make, and which of their factors these take from registers."""

from __future__ import annotations

from dataclasses import dataclass

from akg_core.plugin.lower import Op
from akg_core.plugin.sketch import Element, Expr, Name, walk
from akg_plugin_tilelang.emit.reads import is_exact
from akg_plugin_tilelang.emit.tiles import TilePrinter


@dataclass(frozen=True, slots=True)
class Sides:
    """The factors of a product, that whose axes come first in the result the left one; the axes that each has alone."""

    left: Expr
    right: Expr
    rows: tuple[str, ...]
    columns: tuple[str, ...]


def sides_of(printer: TilePrinter, op: Op) -> Sides:
    """How a product's factors lie in its result."""
    left, right = (printer.body.axes_of(e) - set(op.over) for e in (op.operand, op.second))
    rows, columns, axes = printer.ordered(left - right), printer.ordered(right - left), printer.axes_of(op.result.name)
    if rows and columns and axes.index(rows[0]) > axes.index(columns[0]):
        return Sides(op.second, op.operand, columns, rows)
    return Sides(op.operand, op.second, rows, columns)


def is_on_units(printer: TilePrinter, op: Op) -> bool:
    """Whether T.gemm takes a product: one axis each of rows, columns and what is summed over, and tiles of its size."""
    sides = sides_of(printer, op)
    rows, columns, over = _lanes(printer, op, sides)
    alone = printer.axes_of(op.result.name) == (*sides.rows, *sides.columns) and op.result.dtype == "f32"
    return alone and not is_exact(op) and _fits(rows, columns, over)


def _lanes(printer: TilePrinter, op: Op, sides: Sides) -> tuple[int, int, int]:
    """Rows, columns, and terms of a product's tiles; 0 where these are not one axis each, of a known size."""
    groups = (sides.rows, sides.columns, op.over)
    rows, columns, over = ((printer.body.axes[g[0]].lanes or 0) if len(g) == 1 else 0 for g in groups)
    return rows, columns, over


def _fits(rows: int, columns: int, over: int) -> bool:
    return min(rows, columns, over) > 0 and rows % 64 == columns % 16 == over % 16 == 0


def turned_results(printer: TilePrinter) -> dict[str, tuple[str, ...]]:
    """Results whose rows matrix units take as columns, since there are too few of them to be rows; their dimensions.

    None where products on matrix units are of several kinds: what is known of a row would lie in several ways.
    """
    found: dict[str, tuple[str, ...]] = {}
    for op in printer.products:
        sides = sides_of(printer, op)
        rows, columns, over = _lanes(printer, op, sides)
        if is_exact(op):
            continue
        if _fits(rows, columns, over) or not _fits(columns, rows, over):
            return {}
        found[op.result.name] = (*sides.columns, *sides.rows)
    return found


def has_rows_of_its_own(printer: TilePrinter, sides: Sides) -> bool:
    """Whether each group of four warps has rows of its own."""
    return 2 * (printer.body.axes[sides.rows[0]].lanes or 0) >= printer.threads


def stays_in_registers(printer: TilePrinter, op: Op) -> bool:
    """Whether a left factor is made of what products left in registers, which lies there as matrix units take it."""
    (product, *others) = (each for each in printer.products if op.result.name in _names(each))
    if others or not is_on_units(printer, product) or any(isinstance(node, Element) for node in walk(op.operand)):
        return False
    sides, tiles = sides_of(printer, product), {name for name in _names(op) if printer.scopes.get(name)}
    whole = any(printer.axes_of(name) == (*sides.rows, *product.over) for name in tiles & _made_of_products(printer))
    held = all(printer.scopes[name] == "fragment" for name in tiles)
    return whole and held and sides.left == Name(op.result.name) and has_rows_of_its_own(printer, sides)


def is_factor_of_loops(printer: TilePrinter, op: Op) -> bool:
    """Whether products of several loops have a factor: for what a copy unit loads TileLang waits in the first alone.

    That may have no turns.
    """
    loops = (each for each in printer.region.inside() if each.kind == "tiles")
    used = [any(product.kind == "dot" and op.result.name in _names(product) for product in loop.body) for loop in loops]
    return sum(used) > 1


def _made_of_products(printer: TilePrinter) -> set[str]:
    """The values that are products, or are made of them."""
    found = {op.target.name for op in printer.products if op.target is not None}
    for op in (op for op in printer.region.inside()):
        if op.target is not None and found & _names(op):
            found.add(op.target.name)
    return found


def _names(op: Op) -> set[str]:
    expressions = (expr for expr in (op.expr, op.other) if expr is not None)
    return {node.id for expr in expressions for node in walk(expr) if isinstance(node, Name)}
