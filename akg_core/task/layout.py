"""How tensors lie in memory: other values in the same layout, another size in the same order of dimensions.

Worker side. A dimension of stride 0 is an expanded one: all of its elements are one.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from akg_core.worker.tensors import memory


def storage_of(tensor: torch.Tensor) -> int:
    """What is the same of tensors that lie in the same memory."""
    return tensor.untyped_storage()._cdata


def replaced(value: torch.Tensor, change: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    """What `change` makes of a tensor, at the strides of the tensor; expanded dimensions stay so.

    `change` gets a tensor whose elements are all apart and keeps its shape: the tensor with size 1 where it is
    expanded, or, where windows of a tensor overlap, the memory that they lie in as one dimension.
    """
    base = _unexpanded(value)
    if not _apart(base):
        return change(memory(value)).as_strided(value.shape, value.stride())
    new = change(base)
    is_own = storage_of(new) != storage_of(base)
    if not is_own or (new.dtype, new.shape, new.stride()) != (value.dtype, base.shape, base.stride()):
        new = torch.empty_strided(base.shape, base.stride(), dtype=value.dtype, device=value.device).copy_(new)
    return new.expand(value.shape).as_strided(value.shape, value.stride())


def memory_order(tensor: torch.Tensor) -> tuple[int, ...]:
    """Its dims from outermost to innermost in memory; () where they are in order there, or it is not dense."""
    strides = tensor.stride()
    order = sorted(range(tensor.dim()), key=lambda d: (-strides[d], d))
    is_plain = tensor.layout is torch.strided and not tensor.is_contiguous()
    return tuple(order) if is_plain and tensor.permute(order).is_contiguous() else ()


def ordered_like(new: torch.Tensor, old: torch.Tensor) -> torch.Tensor:
    """`new`, of other sizes than `old`, dense in memory with its dimensions in the order that `old` has them there."""
    base = new
    for d in range(old.dim()):
        if old.shape[d] > 1 and old.stride(d) == 0:
            base = base.narrow(d, 0, min(1, base.shape[d]))
    strides = old.stride()
    order = sorted(range(old.dim()), key=lambda d: (-strides[d], d))
    back = sorted(range(old.dim()), key=order.__getitem__)
    return base.permute(order).contiguous().permute(back).expand(new.shape)


def _unexpanded(value: torch.Tensor) -> torch.Tensor:
    for d in range(value.dim()):
        if value.shape[d] > 1 and value.stride(d) == 0:
            value = value.narrow(d, 0, 1)
    return value


def _apart(value: torch.Tensor) -> bool:
    """Whether no two elements share memory."""
    reach = 0
    for stride, size in sorted((s, n) for n, s in zip(value.shape, value.stride(), strict=True) if n > 1):
        if stride <= reach:
            return False
        reach += (size - 1) * stride
    return True
