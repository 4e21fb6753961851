"""Indices of an extreme, where several values are the same: any of their places is right."""

from __future__ import annotations

from typing import Any

import torch

from akg_core.records import Task
from akg_core.task.graph import GraphIndex

_REDUCTIONS = ("aten.argmax.default", "aten.argmin.default", "aten.max.dim", "aten.min.dim")

Tie = tuple[torch.Tensor, int | None]
"""The values that indices point into, and the dimension searched (None: all)."""


def ties(task: Task, result: dict[str, Any], inputs: list[Any]) -> dict[str, Tie]:
    """For outputs that are indices of an extreme in an argument, what they point into."""
    index = GraphIndex(task.graph, task.interface)
    places = {f"argument:{argument.name}": place for place, argument in enumerate(task.interface.arguments)}
    found: dict[str, Tie] = {}
    for path, output in zip(result, task.graph.outputs, strict=False):
        node = index.producer(output) if output else None
        if node is not None and node.op in _REDUCTIONS and not result[path].is_floating_point():
            place = places.get(index.origin(node.args[0]))
            if place is not None:
                found[path] = (inputs[place], node.args[1])
    return found


def tied(mine: torch.Tensor, due: torch.Tensor, values: torch.Tensor, dim: int | None) -> torch.Tensor:
    """Where two indices point at equal values; indices out of range point nowhere."""
    size = values.numel() if dim is None else values.shape[dim]
    valid = (mine >= 0) & (mine < size)
    safe = mine.clamp(0, size - 1)
    if dim is None:
        flat = values.reshape(-1)
        return valid & (flat[safe] == flat[due])
    dim %= values.dim()
    if mine.dim() < values.dim():
        safe, due = safe.unsqueeze(dim), due.unsqueeze(dim)
    equal = values.gather(dim, safe) == values.gather(dim, due)
    return valid & equal.reshape(mine.shape)
