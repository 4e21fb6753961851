"""Running a reference in float64: without rounding noise to speak of, or with just the noise of a narrower type.

The mode rewrites every dtype that the code itself asks for, so that `x.float()` or `zeros(3, dtype=torch.float32)`
inside a forward stays precise, reads narrower tensors that are no part of the module in float64, too, and computes by
another formula where PyTorch's cancels even in float64.

With noise, every operator's result (and every input and parameter) is moved by a random relative amount, of at most a
unit roundoff or a few: Monte Carlo arithmetic (Parker, 1997). In every second run, what is smaller than float32's
normal numbers, or may be so after rounding, becomes zero, as chips' fast functions have it (exp of -88, which a factor
of 88 brings back into sight). In the others it has as few digits as there: where all are so small, zeros would show no
rounding, which a batch norm makes 316 times as large each time. In the first, factors of matrix products that are not
much larger have eight digits: where chips split factors into parts of so many, the other parts are too small for any.
Operators made of several are taken apart, so that what
they hold in between is moved too. How far the outputs then scatter is what honest rounding can do to each of them.
"""

from __future__ import annotations

import copy
import functools
import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from akg_core.errors import is_of_memory
from akg_core.judge.reference import transforms
from akg_core.judge.reference.reordered import products
from akg_core.judge.reference.steps import Decided, Held, Taker, as_held, name_of
from akg_core.task.decompositions import antialias, formulas
from akg_core.task.source.load import ReferenceModule, line_of
from akg_core.task.sparse import sparse_coo_tensor
from akg_core.worker.tensors import transform

_SMALLEST = 2 * torch.finfo(torch.float32).smallest_normal  # twice: exp(-87.3) moves by 87 roundings of its argument
_SPLIT = 2.0**16 * torch.finfo(torch.float32).smallest_normal  # of smaller factors three parts of bf16 do not hold all
_LARGEST = torch.finfo(torch.float64).max
_AT_ONCE = 1 << 27  # elements that noise is drawn for
_OF_PLACES = 2.0**-20  # noise of the places in an image, which are found in float32 also for images of 16 bits
_OF_DOUBLE = 1e-12  # noise that is larger is a narrower type's
_NARROW = (torch.float32, torch.float16, torch.bfloat16)
_WHOLE = frozenset(("floor", "ceil", "round", "trunc"))  # which round nothing else, and are made indices of
_MATRIX_PRODUCTS = frozenset(("mm", "bmm", "baddbmm", "addbmm", "mv", "dot", "convolution"))
_WIDE = dict.fromkeys(_NARROW, torch.float64) | {torch.complex64: torch.complex128}
_OF_DTYPES = re.compile(
    r"\bdtype|scalar type|\b(float(16|32|64)?|bfloat16|half|double|int(8|16|32|64))\b(?!\([\"'])", re.IGNORECASE
)  # float("-inf") is a number
_COMPOSED = (
    "native_batch_norm",
    "_native_batch_norm_legit",
    "_native_batch_norm_legit_no_training",
    "native_layer_norm",
    "native_group_norm",
    "gelu",
    "silu",
    "mish",
    "softplus",
    "elu",
    "glu",
    "log_sigmoid_forward",
    "hardswish",
    "hardsigmoid",
    "_softmax",
    "_safe_softmax",
    "_log_softmax",
    "logsumexp",
    "logaddexp",
    "mse_loss",
    "huber_loss",
    "smooth_l1_loss",
    "soft_margin_loss",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "addmm",
    "addmv",
    "addcmul",
    "addcdiv",
    "lerp",
    "linalg_vector_norm",
    "upsample_linear1d",
    "upsample_bilinear2d",
    "upsample_bicubic2d",
    "upsample_trilinear3d",
)
"""Operators of PyTorch that round more than once, where its decompositions are the textbook's formulas."""


def doubled(value: Any) -> Any:
    """A copy of the tree with floating tensors in float64."""
    return transform(value, lambda t: t.to(torch.float64, copy=True) if t.is_floating_point() else t.clone())


def double_model(model: nn.Module) -> nn.Module:
    """A copy of a module with float64 parameters and buffers."""
    return copy.deepcopy(model).double()


@contextmanager
def in_double(
    roundoff: float = 0.0, seed: int = 0, *, held: Held | None = None, decided: Decided = ()
) -> Iterator[None]:
    """Compute in float64 inside; with `roundoff`, every result (so every copy) carries noise of that relative size.

    By even seeds, what is below the normal numbers of float32 is zero; by odd ones it has their digits. `held`: dtypes
    in which numbers are compared with. Steps of the run are taken as they are `decided`.

    cuDNN is left out: for float64 PyTorch's own products of unfolded windows are up to ten times as fast.
    """
    default, cudnn = torch.get_default_dtype(), torch.backends.cudnn.enabled
    torch.set_default_dtype(torch.float64)
    torch.backends.cudnn.enabled = False
    try:
        dense = mock.patch.object(torch, "sparse_coo_tensor", sparse_coo_tensor)  # modes do not see what is sparse
        with torch.no_grad(), dense, _Double(roundoff, seed, held or {}, decided):
            yield
    finally:
        torch.set_default_dtype(default)
        torch.backends.cudnn.enabled = cudnn


def is_of_dtypes(error: Exception, reference: ReferenceModule) -> bool:
    """Whether an error that eager PyTorch does not meet speaks of dtypes, or comes from a line that does."""
    line = line_of(error, reference.name)
    text = "".join(reference.source.splitlines()[line - 1 : line]) if line else ""
    return not is_of_memory(error) and any(map(_OF_DTYPES.search, (str(error), text)))


class _Double(TorchDispatchMode):
    def __init__(self, roundoff: float, seed: int, held: Held, decided: Decided) -> None:
        super().__init__()
        self._roundoff, self._held, self._taken, self._is_apart = roundoff, held, Taker(decided), False
        narrow = roundoff > _OF_DOUBLE
        self._flushed = _SMALLEST if narrow and seed % 2 == 0 else 0.0
        self._spaced = _SMALLEST / 2 if narrow and seed % 2 else 0.0  # up to where numbers are as far apart
        self._most = 127 if narrow else 1023  # exponents of float32, in which what is narrower is multiplied, too
        self._seed = seed
        self._draws: dict[torch.device, torch.Generator] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if kwargs.get("dtype") in _WIDE:
            kwargs["dtype"] = _WIDE[kwargs["dtype"]]
        args = tuple(_WIDE.get(a, a) if isinstance(a, torch.dtype) else a for a in args)
        args, kwargs = self._widened(func, as_held(func, args, self._held), kwargs)
        if not self._roundoff:
            return _ACCURATE.get(func, func)(*args, **kwargs)
        if func in _decompositions() and not (self._is_apart and func in transforms.decompositions()):
            most = _OF_PLACES if "upsample" in name_of(func) else math.inf
            made = self._apart(_decompositions()[func], args, kwargs, most)
            if made is not NotImplemented:
                return made
        if self._flushed and name_of(func) in _MATRIX_PRODUCTS:
            args = transform(args, _in_parts)
        result = func(*args, **kwargs)
        if (otherwise := products(func)) and result.dtype == torch.float64:
            kwargs.pop("dtype", None)
            result = otherwise(result, *args, **kwargs, latest=self._seed % 2 == 0, most=self._most)
        if func.is_view or name_of(func) in _WHOLE:
            pass
        elif func._schema.is_mutable:
            transform(result, lambda t: t.copy_(self._noisy(t)) if t.dtype == torch.float64 else t)
        else:
            result = transform(result, self._noisy)
        return result if self._is_apart else self._taken(func, result)

    def _apart(self, operator: Callable[..., Any], args: Any, kwargs: Any, most: float) -> Any:
        """What an operator gives that is made of several; its steps are none of the reference's.

        Each has noise, of relative size `most` at the most, and what is given has all of it.
        """
        before = self._is_apart, self._roundoff
        self._is_apart, self._roundoff = True, min(self._roundoff, most)
        try:
            with self:
                made = operator(*args, **kwargs)
        finally:
            self._is_apart, self._roundoff = before
        return made if self._roundoff <= most else transform(made, self._noisy)

    def _widened(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Arguments in float64 that an operator reads beside others in float64.

        A closure, say, holds parameters as they were. What is written, or gives views of itself, stays as it is.
        """
        dtypes = {tensor.dtype for tensor in tree_leaves((args, kwargs)) if isinstance(tensor, torch.Tensor)}
        if torch.float64 not in dtypes or dtypes.isdisjoint(_NARROW):
            return args, kwargs

        def wide(tensor: torch.Tensor) -> torch.Tensor:
            return self._noisy(tensor.double()) if tensor.dtype in _NARROW else tensor

        known = {argument.name: argument for argument in func._schema.arguments}
        named = zip(known, args, strict=False)
        positional = tuple(a if known[name].alias_info else transform(a, wide) for name, a in named)
        return positional, {name: a if known[name].alias_info else transform(a, wide) for name, a in kwargs.items()}

    def _noisy(self, tensor: torch.Tensor) -> torch.Tensor:
        if tensor.dtype == torch.complex128:
            return torch.view_as_complex(self._noisy(torch.view_as_real(tensor.resolve_conj()).contiguous()))
        if tensor.dtype != torch.float64 or not self._roundoff:
            return tensor
        device = tensor.device
        if device not in self._draws:
            self._draws[device] = torch.Generator(device).manual_seed(self._seed)
        if tensor.numel() <= _AT_ONCE or not tensor.is_contiguous():
            return self._moved(tensor)
        for piece in tensor.view(-1).split(_AT_ONCE):  # beside a large one there may be no memory for as much again
            piece.copy_(self._moved(piece))
        return tensor

    def _moved(self, tensor: torch.Tensor) -> torch.Tensor:
        draws = self._draws[tensor.device]
        noise = torch.rand(tensor.shape, dtype=torch.float64, generator=draws, device=tensor.device)
        noise = noise.mul_(2).sub_(1)
        if self._spaced:
            step = tensor.abs().clamp_(self._spaced, _LARGEST).mul_(self._roundoff).mul_(tensor != 0)
            return noise.mul_(step).add_(tensor)
        return torch.nn.functional.hardshrink(noise.mul_(self._roundoff).add_(1).mul_(tensor), self._flushed)


def _in_parts(factor: torch.Tensor) -> torch.Tensor:
    """A factor of a product as the first of its parts in bf16 holds it, where it is too small for the others."""
    if factor.dtype != torch.float64 or not bool((small := (factor.abs() < _SPLIT).logical_and_(factor != 0)).any()):
        return factor
    return torch.where(small, factor.to(torch.bfloat16).double(), factor)


@functools.cache
def _decompositions() -> dict[Any, Callable[..., Any]]:
    from torch._decomp import get_decompositions

    known = [getattr(torch.ops.aten, name) for name in _COMPOSED if hasattr(torch.ops.aten, name)]
    own = antialias.decompositions(antialias.tap_by_tap) | transforms.decompositions()
    return dict(get_decompositions(known)) | own | formulas.quantising()


def _gelu(x: torch.Tensor, *, approximate: str = "none") -> torch.Tensor:
    """Without the sum of one and nearly -one that PyTorch's formulas have for negative x; holds one more tensor."""
    if approximate == "tanh":
        y = (x * x).mul_(0.044715).add_(1).mul_(x).mul_(2 * math.sqrt(2 / math.pi))
        return y.sigmoid_().mul_(x)
    y = x * -math.sqrt(0.5)
    return torch.special.erfc(y, out=y).mul_(x).mul_(0.5)


_ACCURATE = {torch.ops.aten.gelu.default: _gelu, **formulas.quantising()}  # scales of which PyTorch takes in f32 alone
