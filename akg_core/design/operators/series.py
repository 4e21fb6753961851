"""Rules of Bessel functions, of the scaled error function, and of the normal distribution's quantiles, in f64."""

from __future__ import annotations

import math

from akg_core.design.graph.rules import Call, rule
from akg_core.design.graph.values import Value, cast, compute, where
from akg_core.design.operators.special import polynomial, series

_NEAR = 20.0  # up to which power series of Bessel functions are summed
_POWERS, _INVERSE_POWERS = 46, 22  # terms on either side of it, for 14 digits
_FAR = 10.0  # from where on erfcx is a series of inverse powers
_ERFCX_TERMS = 11
_GUESS = ((2.515517, 0.802853, 0.010328), (1.0, 1.432788, 0.189269, 0.001308))
"""Abramowitz and Stegun, 26.2.23: what is taken off t in a quantile of the normal distribution, to three digits."""
_NEWTON = 4  # steps, each of which doubles how many digits are right


@rule("i0", "special_i0", "special_i0e", "special_i1", "special_i1e")
def bessel(c: Call) -> Value:
    """By the power series near 0 (DLMF 10.25.2), by inverse powers far from it (DLMF 10.40.1)."""
    order, scaled = int("1" in c.name), c.name.endswith("e")
    x = cast(c.value(0), "f64")
    size = compute("abs", x)
    factors = [0.25**k / (math.factorial(k) * math.factorial(k + order) * 2**order) for k in range(_POWERS)]
    capped, large = compute("minimum", size, _NEAR), compute("maximum", size, _NEAR)
    near = polynomial(capped * capped, factors)
    far = polynomial(compute("reciprocal", large), _inverse(order)) / compute("sqrt", large * (2 * math.pi))
    near = near * size if order else near
    if scaled:
        near = near * compute("exp", -size)
    else:
        half = compute("exp", size * 0.5)  # twice, since exp(x) overflows before the result does
        far = far * half * half
    found = where(size < _NEAR, near, far)
    found = where(x < 0.0, -found, found) if order else found
    return cast(where(x.differs(x), math.nan, found), c.wide)


def _inverse(order: int) -> list[float]:
    factors = [1.0]
    for k in range(1, _INVERSE_POWERS):
        factors.append(-factors[-1] * (4 * order**2 - (2 * k - 1) ** 2) / (8 * k))
    return factors


@series("special_erfcx")
def erfcx(x: Value) -> Value:
    """exp(x * x) erfc(x), and far from 0 the series of inverse powers of it (DLMF 7.12.1)."""
    near = compute("exp", x * x) * compute("erfc", x)
    factors = [1.0]
    for k in range(1, _ERFCX_TERMS):
        factors.append(-factors[-1] * (2 * k - 1) / 2)
    inverse = compute("reciprocal", compute("maximum", x, _FAR))
    far = polynomial(inverse * inverse, factors) * (inverse * (1 / math.sqrt(math.pi)))
    return where(x > _FAR, far, near)


@series("special_ndtri")
def quantile(p: Value) -> Value:
    """Of the smaller tail, from a rational guess by Newton's steps; the other one by symmetry."""
    upper = p > 0.5
    tail = where(upper, 1.0 - p, p)
    t = compute("sqrt", compute("log", tail) * -2.0)
    top, bottom = (polynomial(t, factors) for factors in _GUESS)
    z = t - top / bottom
    for _ in range(_NEWTON):
        beyond = compute("erfc", z * math.sqrt(0.5)) * 0.5
        slope = compute("exp", z * z * -0.5) * (1 / math.sqrt(2 * math.pi))
        z = z + (beyond - tail) / slope
    z = where(tail.equals(0.0), math.inf, z)
    return where(upper, z, -z)
