"""Whether a graph traced with sizes of 2 and more is what forward does at size 1, too, found out by tracing it there.

Tracing takes it for granted that no size that varies is 1: nothing is squeezed or broadcast along it, no branch asks.
Worker side only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from akg_core.records import Dim, Graph, Node
from akg_core.task.graph import evaluate, holds, is_reference, reference, resolve, size

_COPIES = ("aten.clone.", "aten.view.", "aten._unsafe_view.", "aten.expand.", "aten.slice.")
_LAYOUT = ("memory_format", "implicit")


def from_two(
    graph: Graph,
    shapes: Mapping[str, tuple[Dim, ...]],
    guards: tuple[str, ...],
    symbols: Mapping[str, int],
    trace: Callable[[dict[str, int]], Graph],
) -> tuple[str, ...]:
    """The names of the sizes that must be 2 or more: with one of them at 1, or all, forward is another graph, or none.

    `shapes`: those of arguments, by name. `trace` gives the graph of forward at sizes that are fixed; it may raise.
    """

    def same(sizes: dict[str, int]) -> bool:
        try:
            given = {f"argument:{name}": tuple(size(dim, sizes) for dim in shape) for name, shape in shapes.items()}
            return bool(described(graph, given, sizes) == described(trace(sizes), given, {}))
        except Exception:
            return False

    asked = [name for name in symbols if holds(guards, {**symbols, name: 1})]  # others are said to be more already
    one = [name for name in asked if same({**symbols, name: 1})]
    together = {**symbols, **dict.fromkeys(one, 1)}
    if len(one) > 1 and holds(guards, together) and not same(together):
        one = []
    return tuple(name for name in asked if name not in one)


def described(graph: Graph, given: Mapping[str, tuple[int, ...]], sizes: dict[str, int]) -> Any:
    """A graph at given sizes by what it computes: without names, and without copies, which are a matter of layout."""
    known: dict[str, Any] = {reference(name): origin for name, origin in graph.values.items()}
    shapes: dict[str, Any] = {text: given.get(origin) for text, origin in known.items()}
    steps: list[Any] = []

    def meant(value: Any) -> Any:
        if is_reference(value):
            return known.get(value, value)
        if isinstance(value, (list, tuple)):
            return tuple(map(meant, value))
        return _number(value, sizes)

    for node in graph.nodes:
        results = [reference(node.name, i) for i in range(len(node.shapes))]
        shapes |= {r: meant(shape) for r, shape in zip(results, node.shapes, strict=True)}
        if _is_copy(node, shapes):
            known[results[0]] = meant(node.args[0])
            continue
        kwargs = tuple((k, meant(v)) for k, v in sorted(node.kwargs.items()) if k not in _LAYOUT)
        op = "aten.view" if node.op.startswith(_COPIES[1:3]) else node.op
        args = meant(node.args)
        if op.startswith("aten.slice.") and args[2:3] == (None,):  # of a part that begins where the whole does
            args = (*args[:2], 0, *args[3:])
        steps.append((op, args, kwargs, node.dtypes, tuple(shapes[r] for r in results)))
        known |= {r: (len(steps), i) for i, r in enumerate(results)}
    left = {name: meant(value) for name, value in graph.mutations.items()}
    return steps, meant(graph.outputs), left


def _is_copy(node: Node, shapes: Mapping[str, Any]) -> bool:
    """Whether a node gives the elements of its argument in the same shape."""
    if not node.op.startswith(_COPIES) or not node.args or not is_reference(node.args[0]):
        return False
    name = reference(*resolve(node.args[0]))
    return node.op.startswith(_COPIES[0]) or shapes.get(name) == shapes[reference(node.name)]


def _number(value: Any, sizes: dict[str, int]) -> Any:
    """A number in the form of an expression over sizes as the number that it is there; anything else as it is."""
    try:
        return evaluate(value, sizes) if isinstance(value, str) else value
    except (KeyError, ValueError, SyntaxError):
        return value
