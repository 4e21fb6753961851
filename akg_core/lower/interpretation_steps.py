"""How much it is to run a sketch one program after the other, as an interpreter does: its operations on tiles, counted.

Such an operation takes about the same time whatever the tile, until the tile is large.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from akg_core.lower.host.module import calls
from akg_core.lower.specialise import known, specialise
from akg_core.records import Schedule
from akg_core.sketch import ast
from akg_core.sketch.program import turns
from akg_core.sketch.schedule import bind

_PLACES = 2  # steps for the places along an axis of what is loaded or stored, and for which of them there are
_ELEMENTS = 1 << 14  # of a tile, that take as long as the step itself
_MULTIPLIED = 1 << 18  # elements of the factors of a product, and multiplications, likewise


def steps(tree: ast.SketchFile, schedule: Schedule, symbols: Mapping[str, int] = {}) -> float:
    """Operations on tiles in one call of a checked sketch under a schedule, at these sizes of what varies.

    What stands under a condition counts as if it held, and loops whose bounds only a launch knows as if they had all;
    where programs read from where to where each goes, they have all together.
    """
    launched = [
        (call, specialise(call.kernel, *known(call, symbols), "").kernel) for call in calls(bind(tree, schedule))
    ]
    return sum(_steps(kernel.body, float(call.turns), {}) for call, kernel in launched)


def _steps(body: Sequence[ast.Statement], times: float, tiles: dict[str, float]) -> float:
    """The steps of statements that come so often, on axes of which a program holds so many positions."""
    total = 0.0
    for statement in body:
        match statement:
            case ast.Grid(axis=axis, extent=extent, step=step) | ast.Tiles(axis=axis, extent=extent, step=step):
                size, tile = _part(statement, tiles) or _number(extent), _number(step)
                if isinstance(statement, ast.Tiles) and _is_read(statement):
                    size /= times
                total += times + _steps(statement.body, times * math.ceil(size / tile), {**tiles, axis: tile})
            case ast.Range():
                total += times + _steps(statement.body, times * turns(statement), tiles)
            case ast.If():
                total += times + _steps((*statement.body, *statement.orelse), times, tiles)
            case ast.Whole(axis=axis, extent=extent):
                tiles = {**tiles, axis: _number(extent)}
            case _:
                nodes = [*ast.walk(statement)]
                places = {id(each) for node in nodes if isinstance(node, ast.Element) for each in ast.walk(node)}
                made = (node for node in nodes if isinstance(node, (ast.Unary, ast.Binary, ast.Call)))
                total += times * sum(_cost(node, tiles) for node in made if id(node) not in places)
    return total


def _part(loop: ast.Statement, tiles: dict[str, float]) -> float:
    """How many positions a loop over one tile of another axis has; 0 for other loops."""
    match loop:
        case ast.Tiles(start=ast.Call(op="begin", args=(ast.Name(id=axis),)), stop=ast.Call(op="end")):
            return tiles.get(axis, 0.0)
    return 0.0


def _is_read(loop: ast.Tiles) -> bool:
    """Whether both ends of a loop are loaded."""
    ends = [[*ast.walk(end)] for end in (loop.start, loop.stop) if end is not None]
    return len(ends) == 2 and all(any(isinstance(node, ast.Element) for node in end) for end in ends)


def _cost(node: ast.Expr, tiles: dict[str, float]) -> float:
    """The steps of one operation: its own, and for large tiles those of their elements."""
    steps, axes = 1.0, node.type.axes if node.type else frozenset[str]()
    if isinstance(node, ast.Call) and node.args:
        operands = [each.type.axes for each in node.args if each.type]
        match node.op:
            case "dot":
                return steps + _elements(axes.union(*operands), tiles) / _MULTIPLIED
            case op if op.startswith("reduce"):
                axes = axes.union(*operands)
                steps = len(axes)
            case _ if isinstance(node.args[0], ast.Element):
                axes = axes.union(*operands)
                steps += _PLACES * len(axes)
    return steps + _elements(axes, tiles) / _ELEMENTS


def _elements(axes: Iterable[str], tiles: dict[str, float]) -> float:
    return math.prod(tiles.get(axis, 1) for axis in axes)


def _number(node: ast.Expr) -> float:
    """The value of a number; 1 for what only a launch knows."""
    return float(node.value) if isinstance(node, ast.Number) else 1.0
