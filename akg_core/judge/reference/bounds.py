"""What PyTorch refuses on the host and leaves open on a device: indices beyond a dim, whole numbers divided by zero.

On a device the former end the process's work there, if not its neighbours' memory, and the latter give any number.
Worker side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from akg_core.records import HOST, Task

_WHOLE = ("i8", "i16", "i32", "i64", "u8")

Asked = tuple[Tensor, int, int, str]
"""Indices, the least that is right, the first that is too large, and of what."""


def checked(task: Task, device: str) -> AbstractContextManager[Any]:
    """Inside, operators of such a task raise on a device what they raise on the host: IndexError, and
    ZeroDivisionError."""
    names = {_plain(node.op.split(".")[1]) for node in task.graph.nodes if node.op.startswith("aten.")}
    whole = any(argument.kind == "tensor" and argument.dtype in _WHOLE for argument in task.interface.arguments)
    return _Checking() if device != HOST and (whole or names & _CHECKED.keys()) else nullcontext()


def _plain(name: str) -> str:
    return name.removeprefix("_").removesuffix("_").removeprefix("unsafe_").removesuffix("_impl")


class _Checking(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if asked := _CHECKED.get(_plain(func._schema.name.partition("::")[2])):
            for indices, least, end, of in asked(*args, **kwargs):
                _require(indices, least, end, of)
        return func(*args, **kwargs)


def _require(indices: Tensor, least: int, end: int, of: str) -> None:
    if indices.numel():
        low, high = (int(each) for each in indices.aminmax())
        if low < least or high >= end:
            raise IndexError(f"index {low if low < least else high} is out of bounds for {of} with size {end}")


def _along(x: Tensor, dim: int, index: Tensor, *_: Any, **__: Any) -> Iterator[Asked]:
    if x.dim():
        yield index, 0, x.shape[dim], f"dimension {dim}"


def _from_the_end(x: Tensor, dim: int, index: Tensor, *_: Any, **__: Any) -> Iterator[Asked]:
    if x.dim():
        yield index, -x.shape[dim], x.shape[dim], f"dimension {dim}"


def _places(x: Tensor, indices: Sequence[Tensor | None], *_: Any, **__: Any) -> Iterator[Asked]:
    dim = 0
    for index in indices:
        if index is None or index.dtype not in (torch.bool, torch.uint8):
            if index is not None:
                yield index, -x.shape[dim], x.shape[dim], f"dimension {dim}"
            dim += 1
        else:
            dim += index.dim()


def _anywhere(x: Tensor, index: Tensor, *_: Any, **__: Any) -> Iterator[Asked]:
    yield index, -x.numel(), x.numel(), "a tensor"


def _rows(table: Tensor, indices: Tensor, *_: Any, **__: Any) -> Iterator[Asked]:
    yield indices, 0, table.shape[0], "a table"


def _gradients(_: Tensor, indices: Tensor, count: int, *__: Any, **___: Any) -> Iterator[Asked]:
    yield indices, 0, count, "a table"


def _classes(x: Tensor, target: Tensor, weight: Any, reduction: int, ignored: int, *_: Any) -> Iterator[Asked]:
    yield target[target != ignored], 0, x.shape[min(1, x.dim() - 1)], "classes"


def _division(x: Any, divisor: Any, *_: Any, rounding_mode: str | None = "floor") -> Iterator[Asked]:
    dtype = torch.result_type(x, divisor)
    whole = not (dtype.is_floating_point or dtype.is_complex)
    if whole and rounding_mode and isinstance(divisor, Tensor) and bool((divisor == 0).any()):
        raise ZeroDivisionError("a whole number is divided by zero")
    yield from ()


_CHECKED: dict[str, Callable[..., Iterator[Asked]]] = {
    **dict.fromkeys(["index", "index_put"], _places),
    **dict.fromkeys(["gather", "scatter", "scatter_add", "scatter_reduce"], _along),
    **dict.fromkeys(["index_select", "index_add", "index_copy", "index_reduce"], _along),
    "index_fill": _from_the_end,
    **dict.fromkeys(["take", "put"], _anywhere),
    **dict.fromkeys(["embedding", "embedding_bag", "embedding_bag_forward_only"], _rows),
    "embedding_dense_backward": _gradients,
    **dict.fromkeys(["nll_loss_forward", "nll_loss2d_forward"], _classes),
    **dict.fromkeys(["floor_divide", "remainder", "fmod"], _division),
    "div": partial(_division, rounding_mode=None),
}
