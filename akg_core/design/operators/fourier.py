"""Fourier transforms by the algorithm of Stockham: stages whose radices have the length as product.

A stage makes of x[j, p, q], where j < r, p < P,

    y[p, k, q] = w^(p k) * sum over j of x[j, p, q] e^(-2 pi i j k / r)       w = e^(-2 pi i / (r P))

so that results are in order without a reversal of digits. The sum is written out, as sums of fewer numbers.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

from akg_core.design.algebra.index import Index, index
from akg_core.design.graph.rules import Call, rule
from akg_core.design.graph.values import (
    Positions,
    Shape,
    Value,
    cast,
    compute,
    counting,
    expand,
    held,
    literal,
    narrow,
    reshape,
    where,
)
from akg_core.design.operators.views import stacked

Part = Value | None  # None: zero
Number = tuple[Part, Part]  # a complex number by its parts


@rule("fourier.input")
def fourier(c: Call) -> tuple[Value, Value]:
    """The transform of one dim, whose length small primes make, of numbers by their parts."""
    dim, forward = c.arg(2), c.arg(3)
    re, im = c.value(0), c.value(1)
    after = size = c.shape[dim].constant or 1
    for radix in radices(size, c.choices.radix):
        after //= radix
        re, im = _stage(re, im, dim, radix, after, forward)
    return re, im


@functools.cache
def radices(size: int, most: int) -> tuple[int, ...]:
    """The radices of stages, as few and as even as can be, the largest first."""
    primes, left = list[int](), size
    while left > 1:
        primes.append(next(p for p in range(2, left + 1) if left % p == 0))
        left //= primes[-1]
    count = 1
    while True:
        groups = [1] * count
        for prime in sorted(primes, reverse=True):
            groups[min(range(count), key=groups.__getitem__)] *= prime
        if max(groups) <= max(most, *primes, 1):
            return tuple(sorted((group for group in groups if group > 1), reverse=True))
        count += 1


def _stage(re: Value, im: Value, dim: int, radix: int, after: int, forward: bool) -> tuple[Value, Value]:
    """One stage, P being `after`."""
    shape = re.shape
    done = (shape[dim].constant or 0) // (radix * after)
    sizes = (*shape[:dim], index(radix), index(after), index(done), *shape[dim + 1 :])
    first, second = ([_chosen(reshape(part, sizes), dim, j) for j in range(radix)] for part in (re, im))
    numbers = _sums([*zip(first, second, strict=True)], forward)
    if after > 1:
        turns = _twiddles(radix, after, first[0].shape, dim, re.dtype)
        numbers[1:] = [
            _times(number, (cosine, -sine if forward else sine))
            for number, (cosine, sine) in zip(numbers[1:], turns, strict=True)
        ]
    zero = literal(0, re.dtype, first[0].shape)
    filled = [[zero if part is None else part for part in column] for column in zip(*numbers, strict=True)]
    re, im = (reshape(stacked(part, dim + 1), shape) for part in filled)
    return re, im


def _chosen(value: Value, dim: int, place: int) -> Value:
    part = narrow(value, dim, index(place), index(1))
    return reshape(part, (*part.shape[:dim], *part.shape[dim + 1 :]))


def _twiddles(radix: int, after: int, shape: Shape, dim: int, dtype: str) -> list[tuple[Value, Value]]:
    """cos and sin of 2 pi k p / (radix * after) for each k but 0, in a shape of which `dim` is p's."""
    table = (index(radix - 1), index(after))
    period = radix * after

    def place(at: Positions) -> Index:
        return (at[0] + 1) * at[1] % period

    turns = cast(counting(table, place), "f64") * (2 * math.pi / period)
    is_half = counting(table, lambda at: place(at) * 2).equals(period)  # pi is rounded, and what is turned may be large
    parts = [compute("cos", turns), where(is_half, 0.0, compute("sin", turns), "f64")]
    stored = held(stacked([cast(part, dtype) for part in parts]))
    wide = (*(index(1),) * dim, index(after), *(index(1),) * (len(shape) - dim - 1))
    cosines, sines = (
        [expand(reshape(_chosen(_chosen(stored, 0, n), 0, k), wide), shape) for k in range(radix - 1)] for n in (0, 1)
    )
    return [*zip(cosines, sines, strict=True)]


# --- sums -------------------------------------------------------------------------------------------------


def _sums(x: Sequence[Number], forward: bool) -> list[Number]:
    """The transform of a few numbers, by the primes of how many there are."""
    size = len(x)
    if size == 1:
        return [*x]
    prime = next(p for p in range(2, size + 1) if size % p == 0)
    each = size // prime
    parts = [_sums(x[start::prime], forward) for start in range(prime)]
    found: list[Number] = [(None, None)] * size
    for k in range(each):
        turned = [_times(part[k], _root(n * k, size, forward)) for n, part in enumerate(parts)]
        found[k::each] = _of_prime(turned, forward)
    return found


def _of_prime(x: Sequence[Number], forward: bool) -> list[Number]:
    """The transform of as many numbers as a prime says; those that are as far from the ends share their products."""
    if len(x) == 2:
        return [_plus(*x), _minus(*x)]
    size, half = len(x), range(1, len(x) // 2 + 1)
    summed, apart = ([op(x[n], x[-n]) for n in half] for op in (_plus, _minus))
    found = [functools.reduce(_plus, summed, x[0])] * size
    for k in half:
        roots = [_root(n * k, size, forward) for n in half]
        even = functools.reduce(_plus, (_times(s, (w[0], 0.0)) for s, w in zip(summed, roots, strict=True)), x[0])
        odd = functools.reduce(_plus, (_times(d, (0.0, w[1])) for d, w in zip(apart, roots, strict=True)))
        found[k], found[-k] = _plus(even, odd), _minus(even, odd)
    return found


# --- numbers ----------------------------------------------------------------------------------------------


def _root(place: int, size: int, forward: bool) -> tuple[float, float]:
    """A root of unity; parts that are 0, 1 or -1 are so exactly."""
    quarters, rest = divmod(4 * (place % size), size)
    if rest:
        angle = 2 * math.pi * (place % size) / size
        re, im = math.cos(angle), math.sin(angle)
    else:
        re, im = ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[quarters]
    return re, -im if forward else im


def _sum(a: Part, b: Part) -> Part:
    return b if a is None else a if b is None else a + b


def _difference(a: Part, b: Part) -> Part:
    return a if b is None else -b if a is None else a - b


def _scale(a: Part, factor: Any) -> Part:
    """A part times a number or a value."""
    if a is None or (isinstance(factor, float) and factor in (0.0, 1.0, -1.0)):
        return None if a is None or factor == 0.0 else a if factor == 1.0 else -a
    return a * factor


def _plus(a: Number, b: Number) -> Number:
    return _sum(a[0], b[0]), _sum(a[1], b[1])


def _minus(a: Number, b: Number) -> Number:
    return _difference(a[0], b[0]), _difference(a[1], b[1])


def _times(a: Number, root: tuple[Any, Any]) -> Number:
    (re, im), (cosine, sine) = a, root
    return _difference(_scale(re, cosine), _scale(im, sine)), _sum(_scale(re, sine), _scale(im, cosine))
