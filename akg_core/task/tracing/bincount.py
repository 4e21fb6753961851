"""Counts of whole numbers as one operator while forward is traced, refused where a number may have no count.

PyTorch makes as many counts as the largest number asks for, and at least `minlength`. That it is these and no more has
to be shown: by where the numbers come from, places in a dim, remainders, what is clamped; or by what is done with them
or with the counts, where PyTorch would raise an error. Worker side only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from akg_core.errors import TaskError
from akg_core.records import Dim, Graph, Interface, Node
from akg_core.task.graph import GraphIndex, is_reference, reference, resolve
from akg_core.task.tracing.implied import end_of_places, is_known_size, made_of

_LIBRARY = torch.library.Library("akg_core", "FRAGMENT")
_BY_DTYPE = {"bool": 2, "u8": 256, "i8": 128}

# Results whose numbers are among those of the first argument; of some, result 1 is places in a dim of it.
_NAMES = """
    _unsafe_view alias as_strided clone cummax cummin diagonal expand flip gather index index_select kthvalue
    max median min mode permute repeat reshape roll select slice sort split split_with_sizes squeeze t topk transpose
    unfold unsqueeze view
    """
_AMONG = frozenset(_NAMES.split())
_PLACES = {"topk": 2, "sort": 1, "kthvalue": 2, "median": 1, "mode": 1, "max": 1, "min": 1, "cummax": 1, "cummin": 1}
"""Where in the arguments of an operator, whose result 1 is places in a dim, that dim is."""


def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """As `torch.bincount`, by `akg_core::bincount` where `minlength` says how many counts there are."""
    if isinstance(minlength, int) and not minlength:
        return _BINCOUNT(input, weights, minlength)
    found: Tensor = torch.ops.akg_core.bincount(input, weights, minlength)
    return found


_BINCOUNT = torch.bincount


def _counts(input: Tensor, weights: Tensor | None, minlength: int) -> Tensor:
    dtype = torch.int64 if weights is None else torch.float32 if weights.dtype == torch.float32 else torch.float64
    return input.new_empty(minlength, dtype=dtype)


_LIBRARY.define("bincount(Tensor input, Tensor? weights, SymInt minlength) -> Tensor")
torch.library.register_fake("akg_core::bincount", _counts, lib=_LIBRARY)


def require_bounded(graph: Graph, interface: Interface) -> None:
    """Raise TaskError for counts of numbers that may be as large as `minlength`, where PyTorch would count more."""
    index = GraphIndex(graph, interface)
    for node in graph.nodes:
        if node.op != "aten.bincount.input":
            continue
        end, wanted = _end(index, node.args[0]), node.args[2]
        bounded = end == wanted or (isinstance(end, int) and isinstance(wanted, int) and end <= wanted)
        if not bounded and not is_known_size(index, node) and not _takes_the_first(index, node):
            place = f"{node.where}: " if node.where else ""
            raise TaskError(
                f"{place}`{node.wrote}` counts more numbers than minlength says where one is as large, and nothing "
                "in forward says that none is.",
                "Say so: torch.bincount(x.clamp(max=n - 1), minlength=n), or torch.bincount(x, minlength=n)[:n].",
            )


def _takes_the_first(index: GraphIndex, node: Node) -> bool:
    """Whether forward takes only counts that there are in any case: by slices, or one by one.

    Slices of one are no proof: a loop over all counts has these, too.
    """
    value, (size,) = reference(node.name), node.shapes[0]
    users = index.users(value)
    returned = value in index.graph.outputs or value in index.graph.mutations.values()
    if not users or returned or not isinstance(size, int):
        return False
    casts = [user for user in users if user.op == "aten._to_copy.default"]
    return all(_is_within(user, size) or (user in casts and _takes_the_first(index, user)) for user in users)


def _is_within(user: Node, size: int) -> bool:
    name, args = user.op.split(".")[1], user.args
    if name == "select":
        return isinstance(args[2], int) and 0 <= args[2] < size
    if name != "slice":
        return False
    start, end = (*args[2:4], None, None)[:2]
    whole = isinstance(start or 0, int) and isinstance(end, int)
    return whole and (start or 0) >= 0 and end <= size and end - (start or 0) > 1


def _end(index: GraphIndex, value: Any) -> Dim | None:
    """What all numbers of a value lie below; None where that is not known. Those below 0 PyTorch itself refuses."""
    if not is_reference(value):
        return math.floor(value) + 1 if isinstance(value, (int, float)) and math.isfinite(value) else None
    node, result = index.producer(value), resolve(value)[1]
    known = _BY_DTYPE.get(index.dtype(value))
    ends = [known, end_of_places(index, value, _assumed(index))]
    ends.append(None if node is None else _end_of(index, node, result))
    return min((end for end in ends if isinstance(end, int)), default=next((end for end in ends if end), None))


def _assumed(index: GraphIndex) -> frozenset[str]:
    return made_of(index, [node for node in index.graph.nodes if node.op == "aten.bincount.input"])


def _end_of(index: GraphIndex, node: Node, result: int) -> Dim | None:
    name, args = node.op.split(".")[1], node.args
    if result and name in _PLACES:
        return _length(index, args[0], args[_PLACES[name]] if len(args) > _PLACES[name] else -1)
    if name in _AMONG:
        return _end(index, args[0])
    found = _ENDS.get(name)
    return found(index, node) if found else None


def _length(index: GraphIndex, value: str, dim: int | None) -> Dim | None:
    """How long a dim is; without one, how many elements there are."""
    shape = index.shape(value)
    if dim is not None:
        return shape[dim] if shape else 1
    sizes = [size for size in shape if isinstance(size, int)]
    return math.prod(sizes) if len(sizes) == len(shape) else None


def _whole(ends: Sequence[Dim | None]) -> list[int] | None:
    whole = [end for end in ends if isinstance(end, int)]
    return whole if len(whole) == len(ends) else None


def _least(index: GraphIndex, node: Node, *values: Any) -> Dim | None:
    ends = [end for value in values if (end := _end(index, value)) is not None]
    return min(ends) if _whole(ends) and ends else next(iter(ends), None)


def _greatest(index: GraphIndex, node: Node, *values: Any) -> Dim | None:
    whole = _whole([_end(index, value) for value in values if value is not None])
    return max(whole, default=None) if whole else None


def _clamped(index: GraphIndex, node: Node) -> Dim | None:
    x, low, high = (*node.args, None, None)[:3]
    ends = [_greatest(index, node, x, low), None if high is None else _end(index, high)]
    return min((end for end in ends if isinstance(end, int)), default=next((end for end in ends if end), None))


def _sum(index: GraphIndex, node: Node) -> Dim | None:
    ends = _whole([_end(index, value) for value in node.args[:2]])
    return sum(ends) - 1 if ends and _is_whole(node.dtypes[0]) and node.kwargs.get("alpha", 1) == 1 else None


def _multiple(index: GraphIndex, node: Node) -> Dim | None:
    end, factor = _end(index, node.args[0]), node.args[1]
    if isinstance(end, int) and isinstance(factor, int) and factor > 0 and _is_whole(node.dtypes[0]):
        return (end - 1) * factor + 1
    return None


def _remainder(index: GraphIndex, node: Node) -> Dim | None:
    divisor = node.args[1]
    if not _is_whole(node.dtypes[0]) or is_reference(divisor):  # that of floats is rounded, up to the divisor, too
        return None
    return divisor if isinstance(divisor, str) or divisor > 0 else None


def _copied(index: GraphIndex, node: Node) -> Dim | None:
    """In a dtype that holds what the other does; from others, numbers below 0 come back as any number."""
    return _end(index, node.args[0]) if node.dtypes[0] in ("i64", "i32", "f32", "f64") else None


def _masked(index: GraphIndex, node: Node) -> Dim | None:
    mask = node.args[1]
    return mask + 1 if isinstance(mask, int) and mask >= 0 else None


def _listed(index: GraphIndex, node: Node) -> Dim | None:
    numbers, nested = [], list(node.args[:1])
    while nested:
        item = nested.pop()
        nested += item if isinstance(item, list) else []
        numbers += [] if isinstance(item, list) else [item]
    return _greatest(index, node, *numbers)


def _bucket(index: GraphIndex, boundaries: str) -> Dim | None:
    size = _length(index, boundaries, -1)
    return size + 1 if isinstance(size, int) else None


def _is_whole(dtype: str) -> bool:
    return dtype[0] in "iu"


def _drawn(index: GraphIndex, node: Node) -> Dim | None:
    end = node.args[1 if node.op.endswith("low") else 0]
    return end if isinstance(end, (int, str)) else None


_ENDS: dict[str, Callable[[GraphIndex, Node], Dim | None]] = {
    "argmax": lambda index, node: _length(index, node.args[0], node.args[1]),
    "argmin": lambda index, node: _length(index, node.args[0], node.args[1]),
    "argsort": lambda index, node: _length(index, node.args[0], -1),
    "multinomial": lambda index, node: _length(index, node.args[0], -1),
    "clamp": _clamped,
    "clamp_max": lambda index, node: _least(index, node, *node.args[:2]),
    "clamp_min": lambda index, node: _greatest(index, node, *node.args[:2]),
    "minimum": lambda index, node: _least(index, node, *node.args[:2]),
    "maximum": lambda index, node: _greatest(index, node, *node.args[:2]),
    "where": lambda index, node: _greatest(index, node, *node.args[1:3]),
    "cat": lambda index, node: _greatest(index, node, *node.args[0]),
    "stack": lambda index, node: _greatest(index, node, *node.args[0]),
    "add": _sum,
    "mul": _multiple,
    "remainder": _remainder,
    "bitwise_and": _masked,
    "bucketize": lambda index, node: _bucket(index, node.args[1]),
    "searchsorted": lambda index, node: _bucket(index, node.args[0]),
    "_to_copy": _copied,
    "scalar_tensor": lambda index, node: _end(index, node.args[0]),
    "full": lambda index, node: _end(index, node.args[1]),
    "full_like": lambda index, node: _end(index, node.args[1]),
    "arange": lambda index, node: node.args[1] if len(node.args) > 1 and isinstance(node.args[1], (int, str)) else None,
    "tensor": _listed,
    "randint": _drawn,
}
