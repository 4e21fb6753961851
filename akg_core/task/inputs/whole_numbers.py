"""Whole numbers beyond those that a file draws: which arguments may be so large, and draws of them.

A file's own whole numbers are small, so that a kernel which computes with 32 of 64 bits is right on them. Where an
argument goes into nothing but arithmetic on whole numbers, any number may stand in it. An index, a length, a label and
what becomes a real number are left as the file draws them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import torch

from akg_core.records import Node, Task
from akg_core.task import arguments, layout
from akg_core.task.graph import GraphIndex, reference, references, size

_WIDTHS = {"i64": 64, "i32": 32, "i16": 16, "i8": 8, "u8": 8}
_LEAST = {"i64": 31.0, "i32": 14.0, "i16": 6.0, "i8": 3.0, "u8": 3.0}
"""By dtype, the power of two from which on a number shows that half of the bits do not do, or nearly half."""
_PROMOTED = 31  # bits, below which languages compute in 32, so that what leaves the dtype is defined
# fmt: off
_SUMS = frozenset(("add", "sub", "rsub"))
_REDUCTIONS = frozenset(("sum", "cumsum"))
_PRODUCTS = frozenset(("mul", "mm", "bmm", "mv", "dot", "addmm", "baddbmm", "prod", "cumprod"))
_ORDERING = frozenset((
    "abs", "sign", "maximum", "minimum", "max", "min", "amax", "amin", "clamp", "clamp_min", "clamp_max", "eq", "ne",
    "lt", "le", "gt", "ge", "sort", "topk", "argmax", "argmin", "cummax", "cummin", "remainder", "fmod", "div",
    "floor_divide", "__rshift__", "any", "all", "logical_not", "logical_and", "logical_or",
))
_MOVING = frozenset((
    "neg", "where", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "cat", "clone", "copy", "view",
    "_unsafe_view", "reshape", "permute", "t", "transpose", "unsqueeze", "squeeze", "expand", "slice", "select",
    "alias", "flip", "constant_pad_nd", "repeat", "masked_fill", "_to_copy", "split", "split_with_sizes", "unbind",
))
# fmt: on
_PLACES = frozenset(("argmax", "argmin"))  # which give an index alone
_AND_PLACES = frozenset(("max", "min", "sort", "topk", "cummax", "cummin"))  # and what gives one beside a value
_EXACT_AT_ANY_SIZE = _SUMS | _REDUCTIONS | _PRODUCTS | _MOVING
"""Operators that give the same bits in any order, whether or not a sum or a product leaves the dtype."""


def free(task: Task) -> dict[str, float]:
    """The arguments of whole numbers in which any number may stand, and below which power of two it is to be.

    Below that, no sum and no product of two leaves the dtype, unless nothing but the same bits come of it anyway.
    """
    index = GraphIndex(task.graph, task.interface)
    found = {}
    for name, origin in task.graph.values.items():
        dtype = index.dtype(name)
        if origin.startswith("argument:") and dtype in _WIDTHS:
            most = _most(task, index, name, dtype)
            if most > _LEAST[dtype]:
                found[origin.removeprefix("argument:")] = most
    return found


def enlarged(task: Task, values: Sequence[Any], seed: int) -> list[Any]:
    """Arguments of `forward` in which every second number that may be large is so, of either sign where that has one.

    Flags, numbers of which none is above 1, stay.
    """
    most = free(task)
    leaves = arguments.flat(task.interface.arguments, values)
    for place, argument in enumerate(task.interface.arguments):
        if argument.name in most and isinstance(value := leaves[place], torch.Tensor):
            draw = torch.Generator(value.device).manual_seed(seed * len(leaves) + place + 104_729)
            band = (_LEAST[argument.dtype], most[argument.name])
            leaves[place] = layout.replaced(value, functools.partial(_large, band=band, draw=draw))
    return arguments.rebuilt(values, leaves)


def _large(value: torch.Tensor, band: tuple[float, float], draw: torch.Generator) -> torch.Tensor:
    if value.numel() == 0 or int(value.abs().max()) <= 1:
        return value

    def uniform() -> torch.Tensor:
        return torch.rand(value.shape, generator=draw, device=value.device, dtype=torch.float64)

    low, high = band
    new = (2.0 ** (low + (high - low) * uniform().sqrt())).to(torch.int64)
    new ^= (uniform() * 2 ** min(20.0, low - 1)).to(torch.int64)  # the last bits, which a real number of 64 has not
    if value.dtype.is_signed:  # few where the file has none, so that sums are large all the same
        new = torch.where(uniform() < (0.5 if int(value.min()) < 0 else 0.2), -new, new)
    return torch.where(uniform() < 0.5, value, new.to(value.dtype))


def _most(task: Task, index: GraphIndex, name: str, dtype: str) -> float:
    """Below which power of two numbers of a value are to be; 0 where it is used for more than arithmetic."""
    large, positions = {reference(name)}, set[str]()
    sums, longest, factor = 1, 1.0, 0.0
    multiplies, is_exact = False, True
    for node in task.graph.nodes:
        kind, given = node.op.split(".")[1], {_normal(text) for text in references(node)}
        results = [reference(node.name, number) for number in range(len(node.dtypes))]
        if kind == "arange" or given & positions:
            positions.update(results)
        if not given & large:
            continue
        if given & positions or not _is_arithmetic(index, node, kind, large):
            return 0.0
        is_exact = is_exact and kind in _EXACT_AT_ANY_SIZE
        sums += kind in _SUMS
        if kind in _REDUCTIONS and _WIDTHS.get(node.dtypes[0]) == _WIDTHS[dtype]:
            longest *= _elements(index, node, task)
        if kind in _PRODUCTS:
            numbers = [arg for arg in node.args if isinstance(arg, (int, float)) and kind == "mul"]
            factor += sum(math.log2(max(1.0, abs(number))) for number in numbers)
            multiplies = multiplies or not numbers
            longest *= 1 if kind == "mul" else _elements(index, node, task)
        values = [] if kind in _PLACES else results[:1] if kind in _AND_PLACES else results
        large.update(text for text in values if index.dtype(text) in _WIDTHS)
    bits = _WIDTHS[dtype] - 1
    if bits < _PROMOTED and is_exact:
        return float(bits)
    if multiplies:
        return bits / 2 - 0.1 if is_exact or longest == 1 else 0.0
    return bits - 1 - factor - math.ceil(math.log2(1 + sums)) - math.ceil(math.log2(longest))


def _is_arithmetic(index: GraphIndex, node: Node, kind: str, large: set[str]) -> bool:
    """Whether a node makes whole numbers or bools of what may be large, none narrower than that is."""
    if kind not in _EXACT_AT_ANY_SIZE | _ORDERING or (kind == "__rshift__" and isinstance(node.args[1], str)):
        return False
    width = max(_WIDTHS[index.dtype(text)] for text in map(_normal, references(node)) if text in large)
    return all(dtype in ("bool", "") or _WIDTHS.get(dtype, 0) >= width for dtype in node.dtypes)


def _elements(index: GraphIndex, node: Node, task: Task) -> float:
    """How many numbers there are of what a node reads, of which one sum or product has no more."""
    shapes = (index.shape(text) for text in references(node))
    return float(max(math.prod(size(dim, task.symbols) for dim in shape) for shape in shapes))


def _normal(text: str) -> str:
    name, _, result = text.removeprefix("%").partition(":")
    return reference(name, int(result or 0))
