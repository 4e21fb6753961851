"""What of a reference's answers depends on which of equal values comes first, where PyTorch leaves that open.

Worker side, in the reference process. `topk`, `sort` and `argsort` that are not stable, `kthvalue`, `median` and `mode`
give any of the places that equal values have. The reference runs with the first of them and with the last: what then
differs by more than rounding is nobody's to judge.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from akg_core.records import Graph

_ORDERS = frozenset({"topk", "sort", "argsort"})
_PICKS = frozenset({"kthvalue", "median", "nanmedian", "mode"})
_ROUNDINGS = 1e3  # of the largest element of a row, by which a sum in another order may differ
_NARROW_ROUNDINGS = 8.0  # the same in formats of 16 bits, which are summed in a wider one and rounded now and then


def leaves_open(graph: Graph) -> bool:
    """Whether an operator of the graph may give any of the places of equal values."""
    names = {node.op.split(".")[1] for node in graph.nodes if not node.op.endswith(".stable")}
    return bool(names & (_ORDERS | _PICKS))


class TieOrder(TorchDispatchMode):
    """Has equal values come in the order of their places, or with `last` in the other one."""

    def __init__(self, last: bool) -> None:
        super().__init__()
        self._last = last

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func._schema.name.partition("::")[2]
        if name not in _ORDERS | _PICKS:
            return func(*args, **(kwargs or {}))
        given = {a.name: a.default_value for a in func._schema.arguments if a.has_default_value()}
        given |= {a.name: value for a, value in zip(func._schema.arguments, args, strict=False)} | (kwargs or {})
        x, dim = given["self"], given.get("dim")
        returned = len(func._schema.returns)
        if not x.dim() or given.get("stable") or "out" in func._overloadname or (name in _PICKS and returned == 1):
            return func(*args, **(kwargs or {}))
        searched = x.flip(dim) if self._last else x
        if name in _ORDERS:
            largest = given.get("largest", given.get("descending", False))
            values, places = searched.sort(dim=dim, descending=largest, stable=True)
            if name == "topk":
                values, places = (each.narrow(dim, 0, given["k"]).contiguous() for each in (values, places))
        else:
            values, places = func(*(searched if each is x else each for each in args), **(kwargs or {}))
        places = x.shape[dim] - 1 - places if self._last else places
        return places if name == "argsort" else (values, places)


def open_to_ties(answers: list[dict[str, Any]], closed: Collection[str]) -> dict[str, torch.Tensor]:
    """By leaf, where answers to the same inputs differ by more than rounding; leaves that are `closed` left out."""
    found: dict[str, torch.Tensor] = {}
    first = answers[0]
    for name, one in first.items():
        others = [answer.get(name) for answer in answers[1:]]
        if name in closed or not isinstance(one, torch.Tensor) or not one.numel():
            continue
        differs = torch.zeros_like(one, dtype=torch.bool)
        for other in others:
            if isinstance(other, torch.Tensor) and other.shape == one.shape:
                differs |= _unlike(one, other)
        if bool(differs.any()):
            found[name] = differs
    return found


def _unlike(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Where two tensors differ, floats by more than sums of a row in another order do."""
    if not one.is_floating_point():
        return one != other
    size = one.abs().nan_to_num(0.0, 0.0, 0.0)
    size = size.amax(dim=-1, keepdim=True) if size.dim() else size
    gap = (one.double() - other.double()).abs()
    roundings = _NARROW_ROUNDINGS if one.dtype.itemsize < 4 else _ROUNDINGS
    alike = (one == other) | (one.isnan() & other.isnan()) | (gap <= roundings * torch.finfo(one.dtype).eps * size)
    return ~alike


def runs(answer: Callable[[], dict[str, Any]]) -> list[dict[str, Any]]:
    """What a reference gives in both orders of equal values."""
    found = []
    for last in (False, True):
        with TieOrder(last):
            found.append(answer())
    return found
