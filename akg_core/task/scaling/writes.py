"""What operators write to has to be there: PyTorch itself looks in a call alone, or not at all. Worker side only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import TorchDispatchMode


class Required(TorchDispatchMode):
    """Refuses operators that would write beyond what they write to."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        require(func, args)
        return func(*args, **(kwargs or {}))


def require(func: Any, args: Sequence[Any]) -> None:
    """Raises RuntimeError or IndexError for what an operator cannot write; of fake tensors shapes are known alone."""
    check = _CHECKS.get(str(func.overloadpacket))
    if check:
        check(*args)


def _put(base: Tensor, places: Sequence[Tensor | None], values: Tensor, *_: Any) -> None:
    """Values have the shape of their places; a mask has as many of these as truths, which nobody knows here."""
    if not any(each is not None and each.dtype in (torch.bool, torch.uint8) for each in places):
        values.expand(torch.ops.aten.index(base, places).shape)


def _embedding(grad: Tensor, indices: Tensor, rows: int, *_: Any) -> None:
    """Each index has a gradient, and a row."""
    if grad.shape[:-1] != indices.shape:
        raise RuntimeError(f"gradients {[*grad.shape]} are not those of indices {[*indices.shape]}")
    known = not isinstance(indices, FakeTensor) and indices.numel() > 0
    if known and not 0 <= int(indices.min()) <= int(indices.max()) < rows:
        raise IndexError(f"index {int(indices.max())} is out of range of {rows} rows")


_CHECKS: dict[str, Callable[..., None]] = {
    **dict.fromkeys(("aten.index_put", "aten.index_put_", "aten._index_put_impl_"), _put),
    "aten.embedding_dense_backward": _embedding,
}
