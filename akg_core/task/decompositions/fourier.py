"""Fourier transforms in real arithmetic, of one dim after the other.

A length that small primes make is one operator, whose rule says how: akg_core.design.operators.fourier. A large prime P
in it, or a length that is a symbol, asks for a product with the matrix of the roots of unity: of x[j, p], where j < P,

    y[k] = transform over p of w^(p k) * sum over j of x[j, p] e^(-2 pi i j k / P)       w = e^(-2 pi i / length)

gives the results k, k + P, ... of the whole. Of a real tensor of even length, the results come of half as many complex
numbers. Worker side only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from akg_core.task.decompositions.complex_functions import Pair

_NORMS = (0.0, 0.5, 1.0)  # how often the length of a transform divides it, by PyTorch's number for that
_PRIMES = (2, 3, 5, 7, 11, 13)  # whose transforms are written out


def real_to_complex(x: Tensor, dims: Sequence[int], norm: int, onesided: bool) -> Pair:
    *others, last = dims
    found = _of_real(x, last % x.dim(), onesided)
    for dim in others:
        found = _transformed(found, dim, True)
    return _scaled(found, [x.shape[d] for d in dims], norm)


def complex_to_complex(z: Pair, dims: Sequence[int], norm: int, forward: bool) -> Pair:
    sizes = [z.re.shape[d] for d in dims]
    for dim in dims:
        z = _transformed(z, dim, forward)
    return _scaled(z, sizes, norm)


def complex_to_real(z: Pair, dims: Sequence[int], norm: int, size: int) -> Tensor:
    """The inverse of a transform of which half is known; the other half is its conjugate."""
    *others, last = dims
    for dim in others:
        z = _transformed(z, dim, False)
    half = size // 2 + 1
    z = Pair(z.re.narrow(last, 0, half), z.im.narrow(last, 0, half))
    found = _from_halves(z, last, size) if _is_even(size) else _by_product_from_half(z, last, size)
    sizes = [*(z.re.shape[d] for d in others), size]
    return _scaled(Pair(found, found), sizes, norm).re


def _scaled(z: Pair, sizes: Sequence[int], norm: int) -> Pair:
    if not norm:
        return z
    factor = math.prod(sizes) ** -_NORMS[norm]
    return Pair(z.re * factor, z.im * factor)


def _places(count: int, dim: int, like: Tensor) -> Tensor:
    """The numbers from 0 to before `count` along a dim of `like`."""
    return torch.arange(count, device=like.device).view(-1, *(1,) * (like.dim() - 1 - dim % like.dim()))


# --- real tensors -----------------------------------------------------------------------------------------


def _is_even(size: Any) -> bool:
    return isinstance(size, int) and size % 2 == 0


def _of_real(x: Tensor, dim: int, onesided: bool) -> Pair:
    size = x.shape[dim]
    half = size // 2 + 1
    if _is_even(size):
        found = _of_halves(x, dim)
        if onesided:
            return found
        rest = [part.narrow(dim, 1, half - 2).flip(dim) for part in (found.re, found.im)]
        return Pair(torch.cat((found.re, rest[0]), dim), torch.cat((found.im, -rest[1]), dim))
    count = half if onesided else size
    found = _transformed(Pair(x, 0.0 * x, True), dim, True)
    ends = _places(count, dim, x) * 2 % size == 0
    return Pair(found.re.narrow(dim, 0, count), torch.where(ends, 0.0, found.im.narrow(dim, 0, count)))


def _of_halves(x: Tensor, dim: int) -> Pair:
    """The first half of the results: even elements are taken for real parts, and odd ones for imaginary ones."""
    size = x.shape[dim]
    half = size // 2
    even, odd = x.unflatten(dim, (half, 2)).unbind(dim + 1)
    z = _transformed(Pair(even, odd), dim, True)
    back = Pair(_backward(z.re, dim), _backward(z.im, dim))
    cosines, sines = _table(half, size, dim, x)
    summed, apart = Pair(z.re + back.re, z.im - back.im), Pair(z.re - back.re, z.im + back.im)
    re = (summed.re + (apart.im * cosines - apart.re * sines)) * 0.5
    im = (summed.im - (apart.re * cosines + apart.im * sines)) * 0.5
    first_re, first_im = z.re.narrow(dim, 0, 1), z.im.narrow(dim, 0, 1)
    im = torch.where(_places(half, dim, x) == 0, 0.0, im)
    last = first_re - first_im
    return Pair(torch.cat((re, last), dim), torch.cat((im, torch.zeros_like(last)), dim))


def _from_halves(z: Pair, dim: int, size: int) -> Tensor:
    dim, half = dim % z.re.dim(), size // 2
    is_end = _places(half, dim, z.re) == 0  # PyTorch takes the first and the last for real
    ahead, back = (
        Pair(re, torch.where(is_end, 0.0, im))
        for re, im in (
            (z.re.narrow(dim, 0, half), z.im.narrow(dim, 0, half)),
            (z.re.narrow(dim, 1, half).flip(dim), z.im.narrow(dim, 1, half).flip(dim)),
        )
    )
    cosines, sines = _table(half, size, dim, z.re)
    summed, apart = Pair(ahead.re + back.re, ahead.im - back.im), Pair(ahead.re - back.re, ahead.im + back.im)
    turned = Pair(apart.re * cosines - apart.im * sines, apart.re * sines + apart.im * cosines)
    found = _transformed(Pair(summed.re - turned.im, summed.im + turned.re), dim, False)
    return torch.stack((found.re, found.im), dim + 1).flatten(dim, dim + 1)


def _backward(x: Tensor, dim: int) -> Tensor:
    """The element of 0 first, and then the others from the last on."""
    place = torch.arange(x.shape[dim], device=x.device)
    return x.index_select(dim, torch.where(place == 0, 0, x.shape[dim] - place))


# --- complex numbers --------------------------------------------------------------------------------------


def _transformed(z: Pair, dim: int, forward: bool) -> Pair:
    """The transform of a dim. Of a NaN in it all results are NaN, in both parts, whichever roots are 1 or 0."""
    dim, size = dim % z.re.dim(), z.re.shape[dim]
    z = Pair(z.re + 0.0 * z.im, z.im + 0.0 * z.re, z.real)
    large = _without_small_primes(size) if isinstance(size, int) else size
    if not isinstance(large, int) or large == size != 1:
        return _by_product(z, dim, forward)
    return _written(z, dim, forward) if large == 1 else _in_two(z, dim, large, forward)


def _without_small_primes(size: int) -> int:
    for prime in _PRIMES:
        while size % prime == 0:
            size //= prime
    return size


def _written(z: Pair, dim: int, forward: bool) -> Pair:
    re, im = torch.ops.akg_core.fourier(z.re, z.im, dim, forward)
    return Pair(re, im)


def _like(re: Tensor, im: Tensor, dim: int, forward: bool) -> tuple[Tensor, Tensor]:
    return re.new_empty(re.shape), re.new_empty(re.shape)


_LIBRARY = torch.library.Library("akg_core", "FRAGMENT")
_LIBRARY.define("fourier(Tensor re, Tensor im, int dim, bool forward) -> (Tensor, Tensor)")
torch.library.register_fake("akg_core::fourier", _like, lib=_LIBRARY)


def _in_two(z: Pair, dim: int, large: int, forward: bool) -> Pair:
    """First the transforms of every so manieth number, `large` of them, and then of what these give."""
    rest = z.re.shape[dim] // large
    z = _by_product(Pair(z.re.unflatten(dim, (large, rest)), z.im.unflatten(dim, (large, rest))), dim, forward)
    k, p = (torch.arange(size, device=z.re.device) for size in (large, rest))
    wide = (large, rest, *(1,) * (z.re.dim() - dim - 2))
    cosines, sines = (part.view(wide) for part in _cosines_and_sines(k[:, None] * p, large * rest, z.re))
    sines = -sines if forward else sines
    turned = Pair(z.re * cosines - z.im * sines, z.re * sines + z.im * cosines)
    found = _written(turned, dim + 1, forward)
    re, im = (part.transpose(dim, dim + 1).flatten(dim, dim + 1) for part in (found.re, found.im))
    return Pair(re, im)


# --- roots of unity ---------------------------------------------------------------------------------------


def _cosines_and_sines(place: Tensor, period: Any, like: Tensor) -> Tensor:
    """Of 2 pi place / period, one after the other in a tensor, which is read rather than computed again."""
    place = place % period
    turns = place.to(torch.float64) * (2 * math.pi / period)
    sines = torch.where(place * 2 == period, 0.0, torch.sin(turns))  # pi is rounded, and rows may be large
    return torch.stack((torch.cos(turns).to(like.dtype), sines.to(like.dtype)))


def _table(count: int, period: int, dim: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """cos and sin of 2 pi k / period for k to before `count`, along a dim of `like`."""
    table = _cosines_and_sines(torch.arange(count, device=like.device), period, like)
    cosines, sines = table.view(2, -1, *(1,) * (like.dim() - 1 - dim)).unbind()
    return cosines, sines


# --- products ---------------------------------------------------------------------------------------------


def _by_product(z: Pair, dim: int, forward: bool) -> Pair:
    """The transform of a dim by the matrix of its roots of unity."""
    size = z.re.shape[dim]
    cosines, sines = _roots(z.re, size, size)
    sines = -sines if forward else sines
    re, im = _along(z.re, cosines, dim), _along(z.re, sines, dim)
    return Pair(re, im) if z.real else Pair(re - _along(z.im, sines, dim), im + _along(z.im, cosines, dim))


def _by_product_from_half(z: Pair, dim: int, size: int) -> Tensor:
    half = z.re.shape[dim]
    cosines, sines = _roots(z.re, half, size, size)
    place = torch.arange(half, device=z.re.device)
    single = (place == 0) | (place * 2 == size)
    weight = torch.where(single, 1.0, 2.0).to(z.re.dtype)[:, None]
    return _along(z.re, cosines * weight, dim) - _along(z.im, sines * weight, dim)


def _roots(like: Tensor, rows: int, columns: int, period: int = 0) -> tuple[Tensor, Tensor]:
    """cos and sin of 2 pi n k / N for n in `rows` and k in `columns`, where N is the `period`, or the rows."""
    n, k = (torch.arange(size, device=like.device) for size in (rows, columns))
    cosines, sines = _cosines_and_sines(n[:, None] * k, period or rows, like).unbind()
    return cosines, sines


def _along(x: Tensor, matrix: Tensor, dim: int) -> Tensor:
    return torch.matmul(x.movedim(dim, -1), matrix).movedim(-1, dim)
