"""PyTorch's functions that look at values or memory to compute, without that look: a trace has none to look at.

So are functions that PyTorch traces wrongly. Nothing else about them changes. What they refuse by its values, eager
PyTorch still refuses.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch
import torch._numpy
from torch import Tensor

from akg_core.task.sparse import sparse_coo_tensor
from akg_core.task.tracing.arrays import by_function, by_operator, dtype, from_numpy
from akg_core.task.tracing.bincount import bincount
from akg_core.task.tracing.ctc import ctc_loss
from akg_core.task.tracing.istft import istft
from akg_core.task.tracing.layers import FUNCTIONS as OF_LAYERS
from akg_core.task.tracing.layouts import FUNCTIONS as LAID_OUT
from akg_core.task.tracing.packed import FUNCTIONS as OF_PACKED_SEQUENCES
from akg_core.task.tracing.quantiles import FUNCTIONS as QUANTILES


@contextlib.contextmanager
def unchecked() -> Iterator[None]:
    """Inside, these functions are replaced in `torch`."""
    with contextlib.ExitStack() as replaced:
        for owner, name, function in _FUNCTIONS:
            replaced.enter_context(mock.patch.object(owner, name, function, create=owner is _ARRAY))
        yield


def _gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    spread = var if isinstance(var, Tensor) else torch.full_like(input, var)
    if spread.shape != input.shape and input.shape[:-1] == spread.shape:
        spread = spread.unsqueeze(-1)
    spread = spread.clamp(min=eps)
    loss = 0.5 * (torch.log(spread) + (input - target) ** 2 / spread)
    loss = loss + 0.5 * math.log(2 * math.pi) if full else loss
    return loss.mean() if reduction == "mean" else loss.sum() if reduction == "sum" else loss


def _cov(input: Tensor, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Tensor:
    rows = input.reshape(1, -1) if input.dim() < 2 else input
    given = [weights for weights in (fweights, aweights) if weights is not None]
    if not given:
        apart = rows - rows.mean(1, keepdim=True)
        return (apart @ apart.t() / max(rows.shape[1] - correction, 0)).squeeze()
    weights = math.prod(given[1:], start=given[0])
    total = weights.sum()
    apart = rows - (rows * weights).sum(1, keepdim=True) / total
    lost = correction if aweights is None else correction * (weights * aweights).sum() / total
    return (apart @ (apart * weights).t() / (total - lost).clamp(min=0)).squeeze()


def _corrcoef(input: Tensor) -> Tensor:
    found = _cov(input)
    if found.dim() == 0:
        return found / found
    deviation = found.diagonal().sqrt()
    return (found / deviation[:, None] / deviation[None, :]).clamp(-1, 1)


def _fill_diagonal(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    if wrap and self.dim() == 2 and self.shape[0] > self.shape[1]:
        return _FILL_DIAGONAL(self, fill_value, wrap)
    places = self.diagonal()
    while places.dim() > 1:
        places = places.diagonal()
    places.fill_(fill_value)
    return self


def _multi_margin_loss(
    x: Tensor, target: Tensor, p: int = 1, margin: float = 1, weight: Tensor | None = None, reduction: int = 1
) -> Tensor:
    """Of x [N, C], or [C]: what is not above 0, as NaN is not, costs nothing; PyTorch's trace has NaN there."""
    rows, labels = torch.atleast_2d(x), torch.atleast_1d(target).unsqueeze(1)
    apart = margin - rows.gather(1, labels) + rows
    cost = apart if p == 1 else apart * apart
    cost = cost if weight is None else cost * weight[labels]
    other = torch.arange(rows.shape[1], device=x.device) != labels
    loss = torch.where(other & (apart > 0), cost, 0).mean(1)
    return (loss.reshape(x.shape[:-1]), loss.mean(), loss.sum())[reduction]


def _multilabel_margin_loss(x: Tensor, target: Tensor, reduction: int = 1) -> Tensor:
    """Of x [N, C], or [C], with labels up to the first below 0; PyTorch's trace counts those after it, too."""
    rows, labels = torch.atleast_2d(x), torch.atleast_2d(target)
    valid = (labels < 0).cumsum(1) == 0
    is_target = (valid[..., None] & (labels[..., None] == torch.arange(x.shape[-1], device=x.device))).any(1)
    due = rows.gather(1, torch.where(valid, labels, 0))
    apart = 1 - due[:, :, None] + rows[:, None]
    loss = torch.where(valid[:, :, None] & ~is_target[:, None] & (apart > 0), apart, 0).sum((1, 2)) / x.shape[-1]
    return (loss.reshape(x.shape[:-1]), loss.mean(), loss.sum())[reduction]


def _grouped_mm(
    mat_a: Tensor, mat_b: Tensor, *, offs: Tensor | None = None, bias: Any = None, out_dtype: Any = None
) -> Tensor:
    """Of matrices [groups, m, k], or of rows [m, k] whose groups end at `offs`, by matrices [groups, k, n], of any
    float; PyTorch's trace takes bfloat16 alone. Of rows behind the last group eager PyTorch leaves what memory held."""
    if bias is not None or mat_b.dim() == 2:
        assert _GROUPED_MM
        return _GROUPED_MM(mat_a, mat_b, offs=offs, bias=bias, out_dtype=out_dtype)
    if offs is None:
        product = torch.bmm(mat_a, mat_b)
    else:
        row = torch.arange(mat_a.shape[0], device=mat_a.device)
        group = (offs <= row.unsqueeze(-1)).sum(-1).clamp(max=mat_b.shape[0] - 1)
        product = torch.bmm(mat_a.unsqueeze(1), mat_b[group]).squeeze(1)
    return product if out_dtype is None else product.to(out_dtype)


def _combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    chosen = torch.tensor([*choose(range(input.shape[0]), r)], dtype=torch.long, device=input.device)
    return input[chosen.reshape(-1, r)]


def _angle(input: Tensor) -> Tensor:
    """As it is, of complex numbers in a tensor of its own; PyTorch's trace has it laid out as they are."""
    return _ANGLE(input.contiguous() if input.is_complex() else input)


def _of_truths(shift: Any) -> Any:
    """A shift of truth values by whole numbers, which PyTorch computes and does not trace."""

    def shifted(input: Tensor, other: Any, **out: Any) -> Tensor:
        is_truth = isinstance(input, Tensor) and input.dtype == torch.bool
        return shift(input.to(torch.result_type(input, other)) if is_truth else input, other, **out)

    return shifted


def _data(tensor: Tensor) -> Tensor:
    """The same memory: a trace does not see what is written to PyTorch's own view of it."""
    return tensor.detach()


def _set_data(tensor: Tensor, data: Tensor) -> None:
    """What a tensor holds from now on, where it is kept; of another shape it cannot be kept there."""
    if data.shape != tensor.shape or data.dtype != tensor.dtype:
        _DATA.__set__(tensor, data)
    else:
        tensor.detach().copy_(data)


def _is_said_to_be_causal(mask: Tensor | None, is_causal: bool | None = None, size: int | None = None) -> bool:
    """Whether a transformer is told that its mask is causal: one that nobody says it of is a mask like any other."""
    return bool(is_causal)


_DATA: Any = torch._C.TensorBase.data
_FILL_DIAGONAL, _ANGLE = torch.Tensor.fill_diagonal_, torch.angle
_GROUPED_MM = getattr(torch.nn.functional, "grouped_mm", None)  # of versions that have it
_ARRAY = torch._numpy.ndarray
_SHIFTS = ("__lshift__", "__rshift__", "bitwise_left_shift", "bitwise_right_shift")
_METHODS = {"bincount": bincount, "istft": istft, "cov": _cov, "corrcoef": _corrcoef, "angle": _angle}
_FUNCTIONS: tuple[tuple[Any, str, Any], ...] = (
    *OF_PACKED_SEQUENCES,
    *OF_LAYERS,
    *LAID_OUT,
    *QUANTILES,
    (torch.nn.functional, "gaussian_nll_loss", _gaussian_nll_loss),
    (torch.nn.functional, "ctc_loss", ctc_loss),
    *([(torch.nn.functional, "grouped_mm", _grouped_mm)] if _GROUPED_MM else []),
    (torch.nn.modules.transformer, "_detect_is_causal_mask", _is_said_to_be_causal),
    (torch, "combinations", _combinations),
    (torch, "ctc_loss", ctc_loss),
    (torch, "from_numpy", from_numpy),
    (torch, "sparse_coo_tensor", sparse_coo_tensor),
    (torch._C._nn, "multi_margin_loss", _multi_margin_loss),
    (torch._C._nn, "multilabel_margin_loss", _multilabel_margin_loss),
    (torch.Tensor, "fill_diagonal_", _fill_diagonal),
    (torch.Tensor, "data", property(_data, _set_data)),
    (torch._numpy._dtypes, "dtype", dtype),
    (_ARRAY, "__array_function__", by_function),
    (_ARRAY, "__array_ufunc__", by_operator),
    *((owner, name, function) for name, function in _METHODS.items() for owner in (torch, torch.Tensor)),
    *((torch.Tensor, name, _of_truths(getattr(torch.Tensor, name))) for name in _SHIFTS),
    *((torch, name, _of_truths(getattr(torch, name))) for name in _SHIFTS if hasattr(torch, name)),
)
