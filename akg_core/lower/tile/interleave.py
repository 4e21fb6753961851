"""Stores of tiles whose rows hold residues of a position: `store(y[m % C, m // C + R * n], t)`, as transposed
convolutions make them.

Neighbours in memory are then neighbours neither along m nor along n. Seen as C columns of R times as many positions,
which is how the same numbers lie in the tile, they are neighbours along the positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from akg_core.lower.divisors import Divisors
from akg_core.lower.fold import fold
from akg_core.lower.ir import Axis, Body, Op
from akg_core.sketch.affine import INDEX, number, polynomial
from akg_core.sketch.ast import Binary, Element, Expr, Name, Number, Type, rewrite, walk

_ZERO = Number(0, type=INDEX)


def interleave(body: Body, divisors: Divisors) -> None:
    """Regroup, in a padded body, what is stored by residues: neighbours in memory become neighbours in the tile."""

    def change(op: Op) -> list[Op]:
        found = _residues(body, op) if op.kind == "store" and op.function == "store" else None
        return [op] if found is None else _regrouped(body, divisors, op, *found)

    body.rewrite_blocks(change)


def _regrouped(body: Body, divisors: Divisors, op: Op, tall: Axis, wide: Axis, divisor: int) -> list[Op]:
    """The store of a tile of positions and channels, and what makes that tile; `tall`: rows, `wide`: columns."""
    assert tall.lanes is not None and wide.lanes is not None
    count = Number(tall.lanes // divisor, type=INDEX)
    made: list[Op] = []
    extent = fold(Binary("*", wide.extent, count, type=INDEX))
    step = Number(wide.lanes * int(count.value), type=INDEX)
    begin = fold(Binary("*", wide.begin, count, type=INDEX))
    if not isinstance(begin, Number):
        value = body.fresh(f"{wide.name}_apart_begin", (), "i64")
        made.append(Op("map", op.place, target=value, expr=begin, depth=op.depth))
        body.bounds.counters[value.name] = (_ZERO, extent)
        divisors.note(value.name, int(step.value))
        begin = Name(value.name, type=INDEX)
    positions = _axis(body, f"{wide.name}_apart", extent, step, begin, int(step.value), wide.partial)
    size = Number(divisor, type=INDEX)
    channels = _axis(body, f"{tall.name}_apart", size, size, _ZERO, divisor, False)
    axes = (positions.name, channels.name)
    tile = body.fresh("regrouped", axes, op.operand.dtype)
    made.append(Op("regroup", op.place, target=tile, expr=op.expr, over=(wide.name, tall.name, *axes), depth=op.depth))
    at, channel = (Name(name, type=INDEX) for name in axes)

    def put(node: Any) -> Any:
        if isinstance(node, Binary) and node.left == Name(tall.name) and node.right == Number(divisor):
            return channel if node.op == "%" else Binary("%", at, count, type=INDEX)
        return Binary("//", at, count, type=INDEX) if node == Name(wide.name) else node

    indices = tuple(_plain(rewrite(index, put), at) for index in op.destination.indices)
    stored = Name(tile.name, type=Type(dtype=tile.dtype))
    return [*made, replace(op, element=replace(op.destination, indices=indices), expr=stored)]


def _axis(body: Body, name: str, extent: Expr, step: Expr, begin: Expr, lanes: int, partial: bool) -> Axis:
    unique = body.unique(name)
    axis = Axis(unique, extent, begin, extent, lanes, lanes=lanes, partial=partial, aligned=True)
    axis.step = None if extent == step else step
    body.axes[unique] = axis
    body.bounds.extents[unique] = extent
    return axis


def _residues(body: Body, op: Op) -> tuple[Axis, Axis, int] | None:
    """The axes of rows and columns of a store of residues, and how many channels each residue has."""
    element = op.element
    assert element is not None
    tiled = [body.axes[name] for name in sorted(body.axes_of(op.operand))]
    if len(tiled) != 2 or any(axis.lanes is None for axis in tiled):
        return None
    for tall, wide in (tiled, tiled[::-1]):
        divisor = _divisor(element.indices, tall.name)
        if divisor is None or tall.partial or tall.begin != _ZERO or divisor & (divisor - 1):
            continue
        count = (tall.lanes or 0) // divisor
        if count > 1 and _interleaves(element, tall.name, divisor, wide.name, count):
            return tall, wide, divisor
    return None


def _plain(index: Expr, at: Name) -> Expr:
    """An index whose digits of `at` come together again, as the position that they are of, or as one digit of it."""
    digit = next((n for n in walk(index) if isinstance(n, Binary) and n.op == "%" and _is_quotient(n.left, at)), None)
    if digit is not None and isinstance(digit.left, Binary):
        low, whole = digit.left.right, fold(Binary("*", digit.left.right, digit.right, type=INDEX))
        one = Binary("%", at, whole, type=INDEX)
        apart = {
            digit: Binary("//", one, low, type=INDEX),
            Binary("%", at, low, type=INDEX): Binary("%", one, low, type=INDEX),
        }
        rewritten = rewrite(index, lambda node: apart.get(node, node) if isinstance(node, Binary) else node)
        return one if polynomial(rewritten) == polynomial(one) else index
    found = polynomial(index)
    if found.atoms() != {at} or found.factor_of(at) != number(1):
        return index
    rest = (found + -polynomial(at)).constant or 0
    return at if rest == 0 else Binary("+" if rest > 0 else "-", at, Number(abs(rest), type=INDEX), type=INDEX)


def _is_quotient(node: Expr, at: Name) -> bool:
    return isinstance(node, Binary) and node.op == "//" and node.left == at and isinstance(node.right, Number)


def _divisor(indices: Sequence[Expr], axis: str) -> int | None:
    """The number by which an axis is taken apart everywhere in the indices."""
    nodes = [node for index in indices for node in walk(index)]
    cuts = [n for n in nodes if isinstance(n, Binary) and n.op in ("//", "%") and n.left == Name(axis)]
    numbers = {n.right.value for n in cuts if isinstance(n.right, Number)}
    named = sum(isinstance(n, Name) and n.id == axis for n in nodes)
    whole = len(numbers) == 1 and len(cuts) == named and {n.op for n in cuts} == {"//", "%"}
    return int(numbers.pop()) if whole else None


def _interleaves(element: Element, rows: str, divisor: int, columns: str, count: int) -> bool:
    """Whether some index counts residues up between positions of a column's steps."""
    residue = Binary("//", Name(rows), Number(divisor))
    for index in element.indices:
        nodes = list(walk(index))
        steps = [n for n in nodes if isinstance(n, Binary) and n.op == "*" and n.right == Number(count)]
        if residue in nodes and any(Name(columns) in list(walk(step.left)) for step in steps):
            return True
    return False
