"""How the elements of outputs lie in memory, as far as the strides of eager PyTorch say."""

from __future__ import annotations

from akg_core.design.algebra.expression import parse_size
from akg_core.design.algebra.index import Axis, index, position
from akg_core.design.graph.values import Value, View
from akg_core.design.trace import Origin


def memory_order(value: Value, origin: Origin, symbols: dict[str, int]) -> tuple[int, ...] | None:
    """Dims from outermost to innermost in the memory of eager's result; None when it is unknown or not dense."""
    dims = range(len(value.shape))
    if len(origin.strides) != len(dims):
        return None
    strides = [parse_size(s, symbols).example for s in origin.strides]
    sizes = [s.example for s in value.shape]
    if 0 in sizes:
        return tuple(dims)
    order = tuple(sorted(dims, key=lambda d: (-strides[d], d)))
    expected = 1
    for d in reversed(order):
        if sizes[d] != 1 and strides[d] != expected:
            return None
        expected *= sizes[d]
    return order


def agree(view: View, above: Origin, below: Origin, symbols: dict[str, int]) -> bool:
    """Whether the strides of a view and of what it is of go together, as far as these are known.

    Outputs have the strides of eager PyTorch, what leads to them those of its decompositions.
    """
    if len(above.strides) != len(view.shape) or len(below.strides) != len(view.arg.shape):
        return True
    at = tuple(index(0) if s == 1 else position(Axis(f"d{d}", s)) for d, s in enumerate(view.shape))
    offset = index(0)
    for origin, places, sign in ((above, at, 1), (below, view.rule(at), -1)):
        for place, stride in zip(places, origin.strides, strict=True):
            offset = offset + place * parse_size(stride, symbols) * sign
    return not offset.axes()
