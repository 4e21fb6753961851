"""What PyTorch refuses on the host, and not before it is too late on a device: indices beyond a dim, bags that end
before they begin, probabilities beyond 1, whole numbers divided by zero.

On a device the last give any number, and the others end the process's work there, if not its neighbours' memory.
Worker side.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from akg_core.records import HOST

Asked = tuple[Tensor, int, int, str]
"""Indices, the least that is right, the first that is too large, and of what."""


def checked(device: str) -> AbstractContextManager[Any]:
    """Inside, operators raise on a device what they raise on the host: IndexError, ZeroDivisionError, RuntimeError."""
    return _Checking() if device != HOST else nullcontext()


def _plain(name: str) -> str:
    return name.removeprefix("_").removesuffix("_").removeprefix("unsafe_").removesuffix("_impl")


class _Checking(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = func._schema.name.partition("::")[2]
        if asked := _CHECKED.get(name) or _CHECKED.get(_plain(name)):
            results = {argument.name for argument in func._schema.arguments if argument.is_out}
            given = {key: value for key, value in kwargs.items() if key not in results}
            for indices, least, end, of in asked(*args, **given):
                _require(indices, least, end, of)
        return func(*args, **kwargs)


def _require(indices: Tensor, least: int, end: int, of: str) -> None:
    if indices.numel():
        low, high = (int(each) for each in indices.aminmax())
        if low < least or high >= end:
            raise IndexError(f"index {low if low < least else high} is out of bounds for {of} with size {end}")


def _require_all(good: Tensor, otherwise: str) -> None:
    if not bool(good.all()):
        raise RuntimeError(otherwise)


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


def _bags(table: Tensor, indices: Tensor, offsets: Tensor, *_: Any, **__: Any) -> Iterator[Asked]:
    yield indices, 0, table.shape[0], "a table"
    if offsets.numel():
        inner = torch.cat([offsets, offsets.new_tensor([indices.numel()])])
        _require_all(inner.diff() >= 0, "a bag ends before it begins, or beyond the indices")
        _require_all(offsets[:1] == 0, "the first offset of bags is not 0")


def _gradients(_: Tensor, indices: Tensor, count: int, *__: Any, **___: Any) -> Iterator[Asked]:
    yield indices, 0, count, "a table"


def _classes(x: Tensor, target: Tensor, weight: Any, reduction: int, ignored: int, *_: Any) -> Iterator[Asked]:
    yield target[target != ignored], 0, x.shape[min(1, x.dim() - 1)], "classes"


def _labels(x: Tensor, target: Tensor, *_: Any, least: int = 0) -> Iterator[Asked]:
    yield target, least, x.shape[-1], "classes"


def _unpooled(x: Tensor, indices: Tensor, size: Sequence[int], *_: Any) -> Iterator[Asked]:
    yield indices, 0, math.prod(size), "what is unpooled"


def _masked(x: Tensor, mask: Tensor, source: Tensor) -> Iterator[Asked]:
    count = mask.expand(torch.broadcast_shapes(x.shape, mask.shape)).count_nonzero()
    _require_all(count <= source.numel(), "a mask picks more elements than there are")
    yield from ()


def _probability(x: Any, *_: Any, **__: Any) -> Iterator[Asked]:
    if isinstance(x, Tensor):
        _require_all((x >= 0) & (x <= 1), "a probability is not in [0, 1]")
    yield from ()


def _drawn_in_place(x: Tensor, probability: Any = 0.5, **__: Any) -> Iterator[Asked]:
    yield from _probability(probability)


def _drawn(x: Tensor, probability: Any = None, **__: Any) -> Iterator[Asked]:
    yield from _probability(x if probability is None else probability)


def _weighed(x: Tensor, *_: Any, **__: Any) -> Iterator[Asked]:
    _require_all((x >= 0) & x.isfinite(), "a weight is negative or not finite")
    _require_all(x.sum(-1) > 0, "all weights are 0")
    yield from ()


def _repeated(repeats: Tensor, *_: Any, **__: Any) -> Iterator[Asked]:
    _require_all(repeats >= 0, "a number of repeats is negative")
    yield from ()


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
    "embedding": _rows,
    **dict.fromkeys(["embedding_bag", "embedding_bag_forward_only"], _bags),
    "embedding_dense_backward": _gradients,
    **dict.fromkeys(["nll_loss_forward", "nll_loss2d_forward"], _classes),
    "multi_margin_loss": _labels,
    "multilabel_margin_loss_forward": partial(_labels, least=-1),
    **dict.fromkeys(["max_unpool2d", "max_unpool3d"], _unpooled),
    "masked_scatter": _masked,
    "binary_cross_entropy": _probability,
    "bernoulli": _drawn,
    "bernoulli_": _drawn_in_place,
    "multinomial": _weighed,
    "repeat_interleave": _repeated,
    **dict.fromkeys(["floor_divide", "remainder", "fmod"], _division),
    "div": partial(_division, rounding_mode=None),
}
