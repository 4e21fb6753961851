"""The numbers that a reference compares with, at which who takes "above" for "at least" is wrong.

A number that stands beside a tensor is compared with as the tensor's dtype holds it: of `x > 0.3` in f32 the border is
0.300000012.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from akg_core.records import Task
from akg_core.task.graph import GraphIndex, is_reference

DTYPES = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
_COMPARING = frozenset(("eq", "ge", "gt", "le", "lt", "ne", "bucketize", "searchsorted"))
# fmt: off
_SAME = frozenset((
    "abs", "clone", "view", "_unsafe_view", "reshape", "permute", "t", "transpose", "unsqueeze", "squeeze", "expand",
    "slice", "select",
))
# fmt: on
"""Operators that give numbers which they are given, those above zero at least."""


@dataclass(frozen=True)
class Borders:
    """`numbers`: what stands in an argument where a comparison is even, before arithmetic with numbers. `tables`: the
    parameters and buffers that are compared with. `dtypes`: by number the floating dtype in which it is compared with,
    but those of 16 bits, of which kernels compare as 32 bits hold them."""

    numbers: tuple[float, ...]
    tables: tuple[str, ...]
    dtypes: dict[float, torch.dtype]


def borders(task: Task) -> Borders:
    """What a task's graph compares floating values with."""
    index = GraphIndex(task.graph, task.interface)
    numbers, tables, dtypes = set[float | None](), set[str](), dict[float, set[str]]()
    for node in task.graph.nodes:
        match node.op.split(".")[1], node.args:
            case "histc", [str(counted), _, *ends] if index.dtype(counted) in DTYPES:
                numbers.update(_before(index, counted, float(end)) for end in ends)
        if node.op.split(".")[1] not in _COMPARING:
            continue
        for one, other in (node.args[:2], node.args[1::-1]):
            if not is_reference(one) or index.dtype(one) not in DTYPES:
                continue
            numbers.update(_before(index, one, number) for number in _numbers(index, other))
            tables.update(_tables(index, other))
            if isinstance(other, (int, float)):
                dtypes.setdefault(float(other), set()).add(index.dtype(one))
    found = tuple(sorted(number for number in numbers if number is not None and math.isfinite(number)))
    alone = {number: DTYPES[min(held)] for number, held in dtypes.items() if held <= {"f32"} or held <= {"f64"}}
    return Borders(found, tuple(sorted(tables)), alone)


def _numbers(index: GraphIndex, other: Any) -> Iterator[float]:
    """The numbers that a value is, where the graph has them."""
    if isinstance(other, (int, float)):
        yield float(other)
    elif isinstance(other, (list, tuple)):
        for part in other:
            yield from _numbers(index, part)
    elif is_reference(other) and (node := index.producer(other)):
        if node.op in ("akg.tensor", "aten.scalar_tensor.default"):
            yield from _numbers(index, node.args[0])
        elif node.op == "aten.full.default":
            yield from _numbers(index, node.args[1])
        elif node.op.split(".")[1] in _SAME:
            yield from _numbers(index, node.args[0])


def _tables(index: GraphIndex, other: Any) -> Iterator[str]:
    """The parameter or buffer that a value is, in another shape maybe."""
    while is_reference(other) and (node := index.producer(other)) and node.op.split(".")[1] in _SAME:
        other = node.args[0]
    if is_reference(other) and (origin := index.origin(other)).startswith("parameter:"):
        yield origin.removeprefix("parameter:")


def _before(index: GraphIndex, text: str, number: float) -> float | None:
    """What an argument holds where a value that is made of it by arithmetic with numbers is `number`, as its dtype
    holds that; None where any of this is rounded, so that kernels may differ."""
    dtype = DTYPES[index.dtype(text)]
    value = due = _rounded(number, dtype)
    forward: list[tuple[str, float]] = []
    while node := index.producer(text):
        match node.op.split(".")[1], node.args:
            case ("add" | "sub" | "rsub" | "mul" | "div") as name, [str(text), int() | float() as by, *rest]:
                forward.append((name, by))
                if rest not in ([], [1]) or node.kwargs.get("alpha", 1) != 1 or not by:
                    return None
                value = _UNDONE[name](value, by)
            case "neg", [str(text)]:
                forward.append(("rsub", 0.0))
                value = -value
            case name, [str(text), *_] if name in _SAME:
                pass
            case _:
                break
    reached = value
    for name, by in reversed(forward):
        if _rounded(reached, dtype) != reached or _rounded(by, dtype) != by:
            return None
        reached = _DONE[name](reached, by)
    return value if reached == due else None


def _rounded(number: float, dtype: torch.dtype) -> float:
    return torch.tensor(number, dtype=torch.float64).to(dtype).double().item()


_DONE: dict[str, Callable[[float, float], float]] = {
    "add": operator.add,
    "sub": operator.sub,
    "rsub": lambda value, by: by - value,
    "mul": operator.mul,
    "div": operator.truediv,
}
_UNDONE = _DONE | {"add": operator.sub, "sub": operator.add, "mul": operator.truediv, "div": operator.mul}
