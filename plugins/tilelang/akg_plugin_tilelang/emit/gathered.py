"""Factors that a product gathers: positions in their tensors are digits of what is summed over, as of a convolution.

Threads that only load would compute addresses while those that multiply wait, and take the registers of a second
program, so the function has none. TileLang loads ahead then what is loaded without a condition.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from akg_core.plugin.lower import Op
from akg_core.plugin.sketch import Binary, Call, Expr, Name, walk
from akg_core.plugin.tile import EXISTS, conjuncts
from akg_plugin_tilelang.emit.expression import Tile
from akg_plugin_tilelang.emit.reads import is_loaded
from akg_plugin_tilelang.emit.terms import Term
from akg_plugin_tilelang.emit.tiles import TilePrinter


@dataclass(slots=True)
class LastTile(Tile):
    """The tile of an axis whose lanes that do not exist are at the position of the last that exists."""

    def position(self) -> Term:
        return Term(f"T.min({Tile.position(self)}, {int(self.end) - 1})", "i64", narrow=self.begin.narrow)


def is_gathered(printer: TilePrinter, op: Op) -> bool:
    """Whether a value that is a factor is loaded from positions that are digits of what is summed over."""
    return op.expr is not None and any(
        isinstance(node, Binary) and node.op in ("//", "%") and printer.body.axes_of(node.left) & _summed(printer)
        for node in walk(op.expr)
    )


def gather(printer: TilePrinter, op: Op) -> Term:
    """The element that a factor gathers; without a condition where it would only ask for lanes of a result's axes.

    Lanes that do not exist gather what the last gathers that exists: no other lane of the result sees them.
    """
    axes, tiles = _masked(printer, op.operand), printer.terms.tiles
    known = all(tiles[axis].end.isdigit() for axis in axes) and _has_places_of_its_own(printer, op.operand)
    if not axes or not known or not loads_all_but(printer, op, axes - _summed(printer)):
        return printer.terms.term(op.operand)
    assert isinstance(op.operand, Call)
    printer.terms.tiles = tiles | {a: LastTile(tiles[a].begin, tiles[a].end, tiles[a].lane) for a in axes}
    term = printer.terms.term(Call("load", op.operand.args, type=op.operand.type))
    printer.terms.tiles = tiles
    return term


def loads_all_but(printer: TilePrinter, op: Op, axes: Set[str]) -> bool:
    """Whether a factor is loaded in all lanes but some that do not exist of these axes, and products alone see it."""
    mask = dict(op.operand.keywords).get("mask") if isinstance(op.operand, Call) else None
    lacking = _masked(printer, op.operand)
    return bool(lacking or mask is None) and lacking <= axes and is_multiplied_only(printer, op.result.name)


def _summed(printer: TilePrinter) -> set[str]:
    return {axis for each in printer.products for axis in each.over}


def _masked(printer: TilePrinter, expr: Expr) -> set[str]:
    """The axes whose lanes a load's mask asks for; {} where it has none, or asks for something else."""
    mask = dict(expr.keywords).get("mask") if isinstance(expr, Call) and is_loaded(expr) else None
    asked = conjuncts(mask)
    axes = {
        each.args[0].id
        for each in asked
        if isinstance(each, Call) and each.op == EXISTS and isinstance(each.args[0], Name)
    }
    return axes if len(axes) == len(asked) else set()


def _has_places_of_its_own(printer: TilePrinter, expr: Expr) -> bool:
    """Whether no index lies in a tile, where lanes that do not exist would still have theirs."""
    names = {node.id for node in walk(expr) if isinstance(node, Name)}
    return not printer.terms.kept and not any(printer.body.values[n].axes for n in names & set(printer.body.values))


def is_multiplied_only(printer: TilePrinter, name: str) -> bool:
    others = (op for op in printer.region.inside() if op.kind != "dot")
    expressions = (expr for op in others for expr in op.expressions())
    return not any(isinstance(node, Name) and node.id == name for expr in expressions for node in walk(expr))
