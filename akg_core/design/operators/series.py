"""Rules of Bessel functions, of the scaled error function, and of the normal distribution's quantiles, in f64."""

from __future__ import annotations

import math
from collections.abc import Sequence

from akg_core.design.graph.rules import Call, rule
from akg_core.design.graph.values import Value, arithmetic, cast, comparison, where

_NEAR = 20.0  # up to which power series of Bessel functions are summed
_POWERS, _INVERSE_POWERS = 46, 22  # terms on either side of it, for 14 digits
_FAR = 10.0  # from where on erfcx is a series of inverse powers
_ERFCX_TERMS = 11
_GUESS = ((2.515517, 0.802853, 0.010328), (1.0, 1.432788, 0.189269, 0.001308))
"""Abramowitz and Stegun, 26.2.23: what is taken off t in a quantile of the normal distribution, to three digits."""
_NEWTON = 4  # steps, each of which doubles how many digits are right


def _f64(op: str, *operands: Value | float) -> Value:
    return arithmetic(op, *operands, dtype="f64")


def _polynomial(x: Value, factors: Sequence[float]) -> Value:
    """With these factors of 1, x, x ** 2, …"""
    total = _f64("*", x, factors[-1])
    for factor in reversed(factors[1:-1]):
        total = _f64("*", x, _f64("+", total, factor))
    return _f64("+", total, factors[0])


@rule("i0", "special_i0", "special_i0e", "special_i1", "special_i1e")
def bessel(c: Call) -> Value:
    """By the power series near 0 (DLMF 10.25.2), by inverse powers far from it (DLMF 10.40.1)."""
    order, scaled = int("1" in c.name), c.name.endswith("e")
    x = cast(c.value(0), "f64")
    size = _f64("abs", x)
    factors = [0.25**k / (math.factorial(k) * math.factorial(k + order) * 2**order) for k in range(_POWERS)]
    capped = _f64("minimum", size, _NEAR)
    near = _polynomial(_f64("*", capped, capped), factors)
    far = _f64("/", _polynomial(_f64("reciprocal", _f64("maximum", size, _NEAR)), _inverse(order)), _root(size))
    near = _f64("*", near, size) if order else near
    if scaled:
        near = _f64("*", near, _f64("exp", _f64("neg", size)))
    else:
        half = _f64("exp", _f64("*", size, 0.5))  # twice, since exp(x) overflows before the result does
        far = _f64("*", _f64("*", far, half), half)
    found = where(comparison("<", size, _NEAR), near, far, "f64")
    found = where(comparison("<", x, 0.0), _f64("neg", found), found, "f64") if order else found
    return cast(where(comparison("!=", x, x), math.nan, found, "f64"), c.wide)


def _inverse(order: int) -> list[float]:
    factors = [1.0]
    for k in range(1, _INVERSE_POWERS):
        factors.append(-factors[-1] * (4 * order**2 - (2 * k - 1) ** 2) / (8 * k))
    return factors


def _root(size: Value) -> Value:
    return _f64("sqrt", _f64("*", _f64("maximum", size, _NEAR), 2 * math.pi))


@rule("special_erfcx")
def erfcx(c: Call) -> Value:
    """exp(x * x) erfc(x), and far from 0 the series of inverse powers of it (DLMF 7.12.1)."""
    x = cast(c.value(0), "f64")
    near = _f64("*", _f64("exp", _f64("*", x, x)), _f64("erfc", x))
    factors = [1.0]
    for k in range(1, _ERFCX_TERMS):
        factors.append(-factors[-1] * (2 * k - 1) / 2)
    inverse = _f64("reciprocal", _f64("maximum", x, _FAR))
    far = _f64("*", _polynomial(_f64("*", inverse, inverse), factors), _f64("*", inverse, 1 / math.sqrt(math.pi)))
    return cast(where(comparison(">", x, _FAR), far, near, "f64"), c.wide)


@rule("special_ndtri")
def quantile(c: Call) -> Value:
    """Of the smaller tail, from a rational guess by Newton's steps; the other one by symmetry."""
    p = cast(c.value(0), "f64")
    upper = comparison(">", p, 0.5)
    tail = where(upper, _f64("-", 1.0, p), p, "f64")
    t = _f64("sqrt", _f64("*", _f64("log", tail), -2.0))
    z = _f64("-", t, _f64("/", *(_polynomial(t, factors) for factors in _GUESS)))
    for _ in range(_NEWTON):
        beyond = _f64("*", _f64("erfc", _f64("*", z, math.sqrt(0.5))), 0.5)
        slope = _f64("*", _f64("exp", _f64("*", _f64("*", z, z), -0.5)), 1 / math.sqrt(2 * math.pi))
        z = _f64("+", z, _f64("/", _f64("-", beyond, tail), slope))
    z = where(comparison("==", tail, 0.0), math.inf, z, "f64")
    return cast(where(upper, z, _f64("neg", z), "f64"), c.wide)
