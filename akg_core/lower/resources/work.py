"""What a schedule must move and compute, read off the sketch: the data of the least time that it can take.

A load counts for every program and turn of a loop that asks for other places, stores and products likewise; what stands
under a condition, or in loops whose bounds only a launch knows, counts as if it came once. So these are lower bounds,
apart from what is masked.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from akg_core.dtypes import DTYPES
from akg_core.lower.specialise import instances
from akg_core.records import Record, Schedule
from akg_core.sketch import ast
from akg_core.sketch.program import turns
from akg_core.sketch.schedule import bind


class Work(Record):
    """One launch: `programs` that may run at once, `bytes` that they load and store, `operations` of their products.

    `kernel`: the name of what is launched; `turns`: how often, one after the other.
    """

    programs: int
    bytes: float
    operations: float
    kernel: str = ""
    turns: int = 1


@dataclass(frozen=True, slots=True)
class _Loop:
    """A loop around a statement: its axis or counter, how often it turns, the positions that its tiles cover."""

    name: str
    turns: float
    extent: float
    parallel: bool


def work(tree: ast.SketchFile, schedule: Schedule) -> list[Work]:
    """What each launch of a checked sketch does under a schedule."""
    launched = instances(bind(tree, schedule))
    known = {instance: _done_by(instance.kernel) for instance in dict.fromkeys(i for _, i in launched)}
    return [known[instance].model_copy(update={"turns": call.turns}) for call, instance in launched]


def _done_by(kernel: ast.Kernel) -> Work:
    sizes = {tensor.name: DTYPES[tensor.dtype].size for tensor in kernel.tensors}
    met = list(_walk(kernel.body, (), {}, sizes))
    return Work(
        programs=max((each.programs for each in met), default=1),
        bytes=sum(each.bytes for each in met),
        operations=sum(each.operations for each in met),
        kernel=kernel.name,
    )


def _walk(
    body: Sequence[ast.Statement], loops: tuple[_Loop, ...], whole: dict[str, float], sizes: dict[str, int]
) -> Iterator[Work]:
    """The work of each statement; `whole`: the sizes of axes that are no loop's."""
    for statement in body:
        match statement:
            case ast.Grid(axis=axis, extent=extent, step=step):
                yield from _walk(statement.body, (*loops, _tiled(axis, extent, step, parallel=True)), whole, sizes)
            case ast.Tiles(axis=axis, extent=extent, step=step, start=start, stop=stop):
                loop = _tiled(axis, extent, step) if start is None and stop is None else _Loop(axis, 1, 1, False)
                yield from _walk(statement.body, (*loops, loop), whole, sizes)
            case ast.Range(variable=name):
                count = turns(statement)
                yield from _walk(statement.body, (*loops, _Loop(name, count, count, False)), whole, sizes)
            case ast.Whole(axis=axis, extent=extent):
                whole = {**whole, axis: _number(extent) or 1}
            case ast.Assign() | ast.Effect():
                calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call)]
                yield from (_work(call, loops, whole, sizes) for call in calls)


def _work(call: ast.Call, loops: tuple[_Loop, ...], whole: dict[str, float], sizes: dict[str, int]) -> Work:
    programs = math.prod(int(loop.turns) for loop in loops if loop.parallel)
    moved = operations = 0.0
    place = call.args[0] if call.args else None
    if isinstance(place, ast.Element):
        value = call if call.op == "load" else call.args[1]
        axes = value.type.axes if value.type else frozenset()
        moved = _positions(axes, _names(place), loops, whole) * sizes[place.tensor]
    elif call.op == "dot":
        axes = frozenset[str]().union(*(each.type.axes for each in call.args if each.type))
        operations = 2 * _positions(axes, {loop.name for loop in loops}, loops, whole)
    return Work(programs=programs, bytes=moved, operations=operations)


def _positions(axes: frozenset[str], names: set[str], loops: tuple[_Loop, ...], whole: dict[str, float]) -> float:
    """Elements that all programs and turns touch; a loop that is not named asks for the same ones again."""
    along = math.prod(size for axis, size in whole.items() if axis in axes)
    for loop in loops:
        if loop.name in axes:
            along *= loop.extent
        elif loop.parallel or loop.name in names:
            along *= loop.turns
    return along


def _tiled(axis: str, extent: ast.Expr, step: ast.Expr, *, parallel: bool = False) -> _Loop:
    size, tile = _number(extent), _number(step)
    if size is None or tile is None:
        return _Loop(axis, 1, 1, parallel)
    return _Loop(axis, math.ceil(size / tile), size, parallel)


def _names(node: object) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _number(node: ast.Expr) -> float | None:
    return float(node.value) if isinstance(node, ast.Number) else None
