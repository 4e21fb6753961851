"""Honest kernels in Triton, which candidates call where they do not cheat; it lies beside each of them."""

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def _softmax(x, scale, y, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    value = tl.load(x + row * columns + at, mask=inside, other=float("-inf"))
    value *= tl.load(scale + at, mask=inside, other=1.0)
    value = libdevice.exp(value - tl.max(value, axis=0))
    tl.store(y + row * columns + at, value / tl.sum(value, axis=0), mask=inside)


@triton.jit
def _product(x, w, y, M, N, K, TYPE: tl.constexpr, PRECISION: tl.constexpr, T: tl.constexpr):
    m = tl.program_id(0) * T + tl.arange(0, T)
    n = tl.program_id(1) * T + tl.arange(0, T)
    k = tl.arange(0, T)
    total = tl.zeros((T, T), dtype=tl.float32)
    for start in range(0, K, T):
        here = start + k
        left = tl.load(x + m[:, None] * K + here[None, :], mask=(m < M)[:, None] & (here < K)[None, :], other=0.0)
        right = tl.load(w + here[:, None] * N + n[None, :], mask=(here < K)[:, None] & (n < N)[None, :], other=0.0)
        total += tl.dot(left.to(TYPE), right.to(TYPE), input_precision=PRECISION)
    tl.store(y + m[:, None] * N + n[None, :], total, mask=(m < M)[:, None] & (n < N)[None, :])


@triton.jit
def _picked(x, scale, y, count, size, columns, BLOCK: tl.constexpr):
    total = 0
    for start in range(0, size, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x + at, mask=at < size, other=0.0) * tl.load(scale + at % columns)
        above = value > 0.5
        place = total + tl.cumsum(above.to(tl.int32), axis=0) - 1
        tl.store(y + place, value, mask=above)
        total += tl.sum(above.to(tl.int32), axis=0)
    tl.store(count, total)


def softmax(x, scale, y=None, rows=None):
    """Rows of softmax(x * scale), all or the first `rows`, in fresh memory or in `y`."""
    y = torch.empty_like(x) if y is None else y
    columns = x.shape[1]
    _softmax[(rows or x.shape[0],)](x, scale, y, columns, BLOCK=triton.next_power_of_2(columns))
    return y


def product(x, w, dtype=tl.float32, precision="ieee"):
    """x @ w, its factors rounded to `dtype` and multiplied as `precision` says."""
    (m, k), n = x.shape, w.shape[1]
    y = torch.empty(m, n, device=x.device)
    grid = (triton.cdiv(m, 32), triton.cdiv(n, 32))
    _product[grid](x, w, y, m, n, k, TYPE=dtype, PRECISION=precision, T=32)
    return y


def picked(x, scale):
    """What of x * scale is above a half, in memory as large as x."""
    y = torch.empty_like(x).view(-1)
    count = torch.empty(1, dtype=torch.int32, device=x.device)
    _picked[(1,)](x, scale, y, count, x.numel(), x.shape[1], BLOCK=128)
    return y[: int(count)]
