"""How alike a task and a kernel that was verified are, level by level.

First what is computed: the family of the heaviest operator, then operators, how data flows between them, and, where
both have one, the structure of the sketch. Then on what: dtypes, the chip, sizes.
"""

from __future__ import annotations

import ast
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from akg_core.python_text import module_of
from akg_core.records import Graph, Record, Task
from akg_core.task.category import category

_STEPS = 10  # in which similarity is counted, so that what differs little is decided on the next level


class Described(Record):
    """What a task computes. `flow`: pairs "a>b" of operators of which b takes what a gives, in the graph's order."""

    family: str = ""
    operators: tuple[str, ...]
    flow: tuple[str, ...] = ()
    dtypes: tuple[str, ...]
    shapes: tuple[tuple[int | str, ...], ...]


def described(task: Task) -> Described:
    """A task in these words."""
    tensors = [argument for argument in task.interface.arguments if argument.kind == "tensor"]
    return Described(
        family=category(task),
        operators=tuple(node.op for node in task.graph.nodes),
        flow=tuple(_flow(task.graph)),
        dtypes=tuple(argument.dtype for argument in tensors),
        shapes=tuple(tuple(argument.shape) for argument in tensors),
    )


def similarity(wanted: Described, kept: Described, same_target: bool) -> tuple[float, ...]:
    """How alike, as a tuple of which the first difference decides; () when they have nothing in common."""
    computed = (overlap(wanted.operators, kept.operators) + overlap(wanted.flow, kept.flow)) / 2
    if not computed:
        return ()
    near = -abs(math.log(_elements(wanted.shapes) + 1) - math.log(_elements(kept.shapes) + 1))
    family = wanted.family == kept.family
    return (family, round(computed * _STEPS), wanted.dtypes == kept.dtypes, same_target, near)


def structural_likeness(one: str, other: str) -> int:
    """How much of the structure of two sketches is the same, in steps; 0 where there is none."""
    return round(overlap(structure(one), structure(other)) * _STEPS)


def structure(sketch: str) -> tuple[str, ...]:
    """What a sketch does inside of which loops: "grid/tiles: load", in the text's order; () for what does not parse."""
    try:
        return tuple(_calls(module_of(sketch), ()))
    except SyntaxError:
        return ()


def overlap(one: Iterable[str], other: Iterable[str]) -> float:
    """How many words two texts share, of all that either has: 0 to 1."""
    a, b = Counter(one), Counter(other)
    return (a & b).total() / max(1, (a | b).total())


def _flow(graph: Graph) -> Iterator[str]:
    makers = {node.name: node.op for node in graph.nodes}
    for node in graph.nodes:
        for name in _references([*node.args, *node.kwargs.values()]):
            yield f"{makers.get(name, 'input')}>{node.op}"


def _references(value: Any) -> Iterator[str]:
    """The names of the graph's values in an operator's arguments."""
    if isinstance(value, str) and value.startswith("%"):
        yield value[1:].partition(":")[0]
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _references(each)


def _calls(node: ast.AST, loops: tuple[str, ...]) -> Iterator[str]:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        yield f"{'/'.join(loops)}: {node.func.id}"
    if isinstance(node, ast.For) and isinstance(node.iter, ast.Call) and isinstance(node.iter.func, ast.Name):
        yield from _calls(node.iter, loops)
        loops = (*loops, node.iter.func.id)
    for part in node.body if isinstance(node, ast.For) else ast.iter_child_nodes(node):
        yield from _calls(part, loops)


def _elements(shapes: Iterable[Iterable[int | str]]) -> float:
    """The elements of all tensors, counting sizes that have only a name as 1."""
    return float(sum(math.prod(size for size in shape if isinstance(size, int)) for shape in shapes))
