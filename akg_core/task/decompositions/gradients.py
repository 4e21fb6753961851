"""Gradients that PyTorch has kernels for and no formulas, made of what its operators do forwards. Worker side only."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

_UPSAMPLES = (
    *("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d", "upsample_bicubic2d"),
    *(f"{kind}{rank}d" for kind in ("upsample_nearest", "_upsample_nearest_exact") for rank in (1, 2, 3)),
)


def decompositions() -> dict[Any, Callable[..., Any]]:
    """The formulas, for a table of decompositions."""
    aten = torch.ops.aten
    found: dict[Any, Callable[..., Any]] = {
        aten.convolution_backward.default: _convolution,
        aten.avg_pool2d_backward.default: functools.partial(_average, aten.avg_pool2d),
        aten.avg_pool3d_backward.default: functools.partial(_average, aten.avg_pool3d),
        aten._adaptive_avg_pool2d_backward.default: functools.partial(_adaptive_average, 2),
        aten._adaptive_avg_pool3d_backward.default: functools.partial(_adaptive_average, 3),
    }
    found |= {getattr(aten, f"replication_pad{n}d_backward").default: _replicated for n in (1, 2, 3)}
    found[aten._cdist_backward.default] = _distances
    found[aten._scaled_dot_product_flash_attention_for_cpu_backward.default] = _attention
    for name in ("adaptive_max_pool", "fractional_max_pool"):
        found |= {getattr(aten, f"{name}{n}d_backward").default: functools.partial(_maximum, n) for n in (2, 3)}
    found[aten.max_pool3d_with_indices_backward.default] = functools.partial(_maximum, 3)
    for name in _UPSAMPLES:
        backward = getattr(aten, f"{name}_backward").default
        found[backward] = functools.partial(_upsampled, getattr(aten, name).default)
    return found


def _convolution(
    grad: Tensor,
    x: Tensor,
    weight: Tensor,
    bias_sizes: Sequence[int] | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, ...]:
    """With respect to x [N, C, *sizes], weight and bias, each where `output_mask` asks for it.

    That of x is a convolution of the other kind. That of the weight is one, too, whose window is the smaller of x and
    `grad`: images take the place of channels, and strides that of dilations.
    """
    rank = x.dim() - 2
    steps, sides, gaps = (list(each) * (rank if len(each) == 1 else 1) for each in (stride, padding, dilation))
    convolve = torch.ops.aten.convolution.default
    of_x = of_weight = of_bias = None
    if output_mask[0]:
        reach = [(n - 1) * s - 2 * p + d * (k - 1) + 1 for n, s, p, d, k in zip(
            grad.shape[2:], steps, sides, gaps, weight.shape[2:], strict=True
        )]  # fmt: skip
        rest = [0] * rank if transposed else [n - m for n, m in zip(x.shape[2:], reach, strict=True)]
        of_x = convolve(grad, weight, None, steps, sides, gaps, not transposed, rest, groups)
        of_x = of_x[tuple(map(slice, x.shape))]
    if output_mask[1]:
        large, small = (grad, x) if transposed else (x, grad)
        large = large.unflatten(1, (groups, -1)).transpose(0, 2).flatten(1, 2)
        of_weight = convolve(
            large, small.transpose(0, 1), None, gaps, sides, steps, False, [0] * rank, groups
        ).transpose(0, 1)
        of_weight = of_weight[tuple(map(slice, weight.shape))]
    if output_mask[2]:
        of_bias = grad.sum([0, *range(2, grad.dim())])
    return of_x, of_weight, of_bias


def _average(
    pool: Any,
    grad: Tensor,
    x: Tensor,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Tensor:
    """Each element of `grad` over how many it is the mean of, added to all of these."""
    rank = len(kernel)
    sizes, steps = x.shape[-rank:], list(stride) or list(kernel)
    count: Any = divisor_override
    if count is None:
        ones, around = x.new_ones(1, 1, *sizes), list(padding)
        if count_include_pad:
            ones, around = F.pad(ones, [p for p in reversed(padding) for _ in range(2)], value=1.0), [0] * rank
        count = pool(ones, kernel, steps, around, ceil_mode, True, 1)[0, 0]
        count = count[tuple(map(slice, grad.shape[-rank:]))]
    shares = (grad / count).reshape(-1, 1, *grad.shape[-rank:])
    ones = x.new_ones(1, 1, *kernel)
    spread = torch.ops.aten.convolution.default(shares, ones, None, steps, [0] * rank, [1] * rank, True, [0] * rank, 1)
    ends = zip(sizes, padding, spread.shape[2:], strict=True)
    cut = [each for n, p, m in reversed(list(ends)) for each in (-p, n + p - m)]
    return F.pad(spread, cut).reshape(x.shape)


def _adaptive_average(rank: int, grad: Tensor, x: Tensor) -> Tensor:
    shares = []
    for inputs, outputs in zip(x.shape[-rank:], grad.shape[-rank:], strict=True):
        place, n = torch.arange(inputs, device=x.device)[:, None], torch.arange(outputs, device=x.device)
        start, stop = n * inputs // outputs, ((n + 1) * inputs + outputs - 1) // outputs
        shares.append(((place >= start) & (place < stop)).to(x.dtype) / (stop - start))
    return _applied(grad, shares)


def _upsampled(forward: Any, grad: Tensor, output_size: Sequence[int], input_size: Sequence[int], *how: Any) -> Tensor:
    """By what `forward` makes, along each dim, of ones at each place: [inputs, outputs]."""
    rank = len(output_size)
    options = [each for each in how if isinstance(each, bool)]  # align_corners, where an operator has it
    scales = [*how[len(options) :], *[None] * rank][:rank]
    shares = []
    for d, (inputs, outputs) in enumerate(zip(input_size[2:], output_size, strict=True)):
        one = [1] * rank
        shape, to = ([*one[:d], n, *one[d + 1 :]] for n in (inputs, outputs))
        scale = [scale if n == d else None for n, scale in enumerate(scales)]
        unit = torch.eye(inputs, dtype=grad.dtype, device=grad.device).reshape(1, inputs, *shape)
        shares.append(forward(unit, to, *options, *scale).reshape(inputs, outputs))
    return _applied(grad, shares)


def _applied(grad: Tensor, shares: Sequence[Tensor]) -> Tensor:
    """Along each of the last dims, what the places of `grad` hand to those before them: shares [inputs, outputs]."""
    for d, share in enumerate(shares, -len(shares)):
        grad = (grad.movedim(d, -1) @ share.mT).movedim(-1, d)
    return grad


def _maximum(rank: int, grad: Tensor, x: Tensor, *how: Any) -> Tensor:
    """At the places of the maxima in their planes, which come last of the arguments, the sums of `grad`."""
    planes = torch.zeros_like(x).flatten(-rank)
    return planes.scatter_add(-1, how[-1].flatten(-rank), grad.flatten(-rank)).reshape(x.shape)


def _replicated(grad: Tensor, x: Tensor, padding: Sequence[int]) -> Tensor:
    """What the edges are repeated to is added to them; `padding`: at the front and at the end, the last dim first."""
    for dim, before in zip(range(-1, -x.dim() - 1, -1), padding[::2], strict=False):
        place = (torch.arange(grad.shape[dim], device=x.device) - before).clamp(0, x.shape[dim] - 1)
        shape = [*grad.shape[:dim], x.shape[dim], *grad.shape[x.dim() + dim + 1 :]]
        grad = grad.new_zeros(shape).index_add(dim, place, grad)
    return grad


def _distances(grad: Tensor, x: Tensor, other: Tensor, p: float, distance: Tensor) -> Tensor:
    """Of the p-norms of x[..., i, :] - other[..., j, :], [..., i, j], with respect to x."""
    gap, whole = x.unsqueeze(-2) - other.unsqueeze(-3), distance.unsqueeze(-1)
    part = (gap.abs() == whole).to(x.dtype) if p == math.inf else (gap.abs() / whole) ** (p - 1)
    return (grad.unsqueeze(-1) * torch.where((gap == 0) | (p == 0), 0.0, gap.sign() * part)).sum(-2)


def _attention(
    grad: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    out: Tensor,
    logsumexp: Tensor,
    dropout_p: float,
    is_causal: bool,
    *,
    attn_mask: Tensor | None = None,
    scale: float | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """With respect to query [N, H, L, E], key and value [N, H, S, E], with the weights of values made again."""
    wide = torch.promote_types(query.dtype, torch.float32)
    grad, q, k, v = (each.to(wide) for each in (grad, query, key, value))
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = q @ k.mT * scale
    if is_causal:
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
        scores = scores.masked_fill(~seen, -math.inf)
    if attn_mask is not None:
        scores = scores + attn_mask
    weights = torch.ops.aten._safe_softmax(scores, -1)
    of_scores = weights * (grad @ v.mT - (grad * out).sum(-1, keepdim=True)) * scale
    found = of_scores @ k, of_scores.mT @ q, weights.mT @ grad
    return found[0].to(query.dtype), found[1].to(query.dtype), found[2].to(query.dtype)
