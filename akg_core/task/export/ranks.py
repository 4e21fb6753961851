"""Tensors of fewer dims than a graph was traced with, and empty ones, where forward works element by element.

Elementwise operators line dims up from the last, so that tensors without some leading dims are tensors with leading
dims of 1, and so is what comes out; of nothing they make nothing. That forward is the same operators there is found out
by tracing it there.
Worker side only.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch

from akg_core.records import Argument, Dim, Graph, Node
from akg_core.task.export.single import described
from akg_core.task.graph import reference, size

ABSENT = "absent"
"""Among sizes: how many leading dims the tensors of most dims lack."""

_ALSO = ("hardsigmoid_backward", "floor_divide", "_to_copy", "alias", "scalar_tensor")  # which PyTorch does not tag


def highest(arguments: Sequence[Argument]) -> int:
    """The most dims that a tensor has which forward takes."""
    return max((len(a.shape) for a in arguments if a.kind == "tensor"), default=0)


def lacking(arguments: Sequence[Argument], values: Sequence[Any]) -> int:
    """How many leading dims the tensors of most dims lack in these values of arguments; 0 where not all do alike."""
    rank = highest(arguments)
    pairs = zip(arguments, values, strict=False)
    found = {rank - v.dim() for a, v in pairs if isinstance(v, torch.Tensor) and len(a.shape) == rank}
    return max(0, *found) if len(found) == 1 else 0


def led(arguments: Sequence[Argument], values: Sequence[Any], absent: int) -> list[Any]:
    """The values, whose tensors of most dims get back their leading ones, of size 1."""
    rank = highest(arguments)

    def full(value: Any, shape: tuple[Dim, ...]) -> Any:
        return value[(None,) * absent] if isinstance(value, torch.Tensor) and len(shape) == rank else value

    known = [full(value, a.shape) for a, value in zip(arguments, values, strict=False)]
    return [*known, *values[len(known) :]]


def lowered(arguments: Sequence[Argument], values: list[Any], sizes: Mapping[str, int]) -> list[Any]:
    """The values without the leading dims, of size 1, that tensors lack at these sizes."""
    absent, rank = sizes.get(ABSENT, 0), highest(arguments)
    if not absent:
        return values
    full = [a.kind == "tensor" and len(a.shape) == rank for a in arguments[: len(values)]]
    return [v[(0,) * absent] if is_full else v for v, is_full in zip(values, full, strict=True)]


def without(arguments: Sequence[Argument], symbols: Mapping[str, int], absent: int) -> dict[str, int]:
    """The sizes that vary, where leading dims lack."""
    rank = highest(arguments)
    tensors = [a.shape for a in arguments if a.kind == "tensor" and len(a.shape) == rank]
    ones = {dim: 1 for shape in tensors for dim in shape[:absent] if isinstance(dim, str)}
    return {**symbols, **ones, ABSENT: absent}


Trace = Callable[[dict[str, tuple[int, ...]]], Graph]
"""The graph of forward where tensors, by name, have these shapes; it may raise."""


def may_lack(
    graph: Graph, arguments: Sequence[Argument], symbols: dict[str, int], asked: Iterable[int], trace: Trace
) -> tuple[int, ...]:
    """How many leading dims the tensors of most dims may lack, of the numbers that are `asked`."""
    rank = highest(arguments)

    def same(absent: int) -> bool:
        sizes = without(arguments, symbols, absent)
        full = _shapes(arguments, sizes)
        if any(size != 1 for shape in full.values() if len(shape) == rank for size in shape[:absent]):
            return False
        fewer = {name: shape[absent:] if len(shape) == rank else shape for name, shape in full.items()}
        return _same(graph, full, sizes, fewer, trace)

    wanted = sorted({*asked} - {0})
    return tuple(filter(same, wanted)) if wanted and _is_elementwise(graph, arguments, rank) else ()


def may_be_empty(graph: Graph, arguments: Sequence[Argument], symbols: dict[str, int], trace: Trace) -> bool:
    """Whether each of the sizes that vary may be 0: no result has an element then."""

    def same(name: str) -> bool:
        sizes = symbols | {name: 0}
        shapes = _shapes(arguments, sizes)
        return _same(graph, shapes, sizes, shapes, trace)

    return _is_elementwise(graph, arguments, highest(arguments)) and all(map(same, symbols))


def _shapes(arguments: Sequence[Argument], sizes: dict[str, int]) -> dict[str, tuple[int, ...]]:
    return {a.name: tuple(size(dim, sizes) for dim in a.shape) for a in arguments if a.kind == "tensor"}


def _same(
    graph: Graph,
    full: dict[str, tuple[int, ...]],
    sizes: dict[str, int],
    shapes: dict[str, tuple[int, ...]],
    trace: Trace,
) -> bool:
    """Whether forward is the same operators at these shapes of arguments."""
    with contextlib.suppress(Exception):
        return _operators(graph, full, sizes) == _operators(trace(shapes), shapes, {})
    return False


def _operators(graph: Graph, given: Mapping[str, tuple[int, ...]], sizes: dict[str, int]) -> object:
    """A graph by its operators, whatever shapes these work on."""
    steps, outputs, _ = described(graph, {f"argument:{name}": shape for name, shape in given.items()}, sizes)
    return [step[:-1] for step in steps], outputs


def _is_elementwise(graph: Graph, arguments: Sequence[Argument], rank: int) -> bool:
    """Whether a graph is elementwise operators alone, updates nothing, and all of its results have so many dims."""
    results = [node.shapes[0] for node in graph.nodes if reference(node.name) in graph.outputs]
    plain = len(results) == len(graph.outputs) and all(len(shape) == rank for shape in results)
    return plain and not any(a.mutated for a in arguments) and all(map(_works_by_elements, graph.nodes))


def _works_by_elements(node: Node) -> bool:
    _, name, overload = node.op.split(".")
    operator = getattr(getattr(torch.ops.aten, name, None), overload, None)
    return name in _ALSO or (operator is not None and torch.Tag.pointwise in operator.tags)
