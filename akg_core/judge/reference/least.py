"""What inputs ask of any implementation at least, by which a time is refused as impossible. Worker side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from akg_core.judge.reference.lower_bound import bytes_written, operations, read_whole
from akg_core.records import Task
from akg_core.task.arguments import flat


def least(task: Task, inputs: Sequence[Any], state: Mapping[str, Any]) -> tuple[int, float]:
    """Bytes to move and operations to do at least. Zeros in what is given need neither: they may be meant."""
    arguments = task.interface.arguments
    values = {f"argument:{a.name}": value for a, value in zip(arguments, flat(arguments, inputs), strict=True)}
    values |= {f"parameter:{name}": value for name, value in state.items()}
    tensors = {name: value for name, value in values.items() if isinstance(value, torch.Tensor)}
    filled = {name: int(value.count_nonzero()) for name, value in tensors.items()}
    read = sum(filled[name] * tensors[name].element_size() for name in read_whole(task) if name in tensors)
    dense = all(filled[name] > 0.99 * tensors[name].numel() for name in tensors if tensors[name].dim() > 1)
    return read + bytes_written(task), operations(task) if dense else 0.0
