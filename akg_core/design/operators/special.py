"""Rules of special functions: the gamma and error functions and what is made of them, and rarer elementwise ones.

Series are summed in f64, so that what is left of their errors is far below f32's rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps
from types import SimpleNamespace

from akg_core.design.algebra.index import index
from akg_core.design.graph.rules import Call, formula, rule
from akg_core.design.graph.values import Value, cast, compute, expand, map_of, predicate, where
from akg_core.design.operators.turns import ended, looped
from akg_core.dtypes import DTYPES, is_float

_SHIFT = 8  # arguments below are moved up by so much, to where the series are exact
_LOG_GAMMA = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)
"""Of 1 / w, 1 / w**3, … in Stirling's series (DLMF 5.11.1)."""
_DIGAMMA = (-1 / 12, 1 / 120, -1 / 252, 1 / 240, -1 / 132, 691 / 32760)
"""Of 1 / w**2, 1 / w**4, … in the series of its derivative (DLMF 5.11.2)."""
_TRIGAMMA = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730)
"""Likewise in the series of the derivative of that, over 1 / w (DLMF 5.15.8)."""
_CENTRE = (
    1.50140941, 0.246640727, -0.00417768164, -0.00125372503, 0.000218580870, -4.39150654e-06, -3.5233877e-06,
    3.43273939e-07, 2.81022636e-08,
)  # fmt: skip
_TAIL = (
    2.83297682, 1.00167406, 0.00943887047, -0.0076224613, 0.00573950773, -0.00367342844, 0.00134934322, 0.000100950558,
    -0.000200214257,
)  # fmt: skip
"""Of powers of w - 2.5 and sqrt(w) - 3, w = -log(1 - x * x): the inverse error function over x (Giles, 2010)."""
_EUCLID = {1: 13, 2: 24, 4: 47, 8: 93}
"""How many divisions the greatest common divisor of whole numbers of so many bytes takes at most."""
_LARGE = 40  # from where on exp(-x) beside 1 is less than f64 tells, while exp(2 x) is less than f32 holds
_NEWTON = 2  # steps, each of which doubles how many digits are right


def series(*names: str) -> Callable[[Callable[[Value], Value]], Callable[[Value], Value]]:
    """Register a function of a value in f64, the result of which is taken back to the operator's dtype."""

    def register(function: Callable[[Value], Value]) -> Callable[[Value], Value]:
        rule(*names)(wraps(function)(lambda c: cast(function(cast(c.value(0), "f64")), c.wide)))
        return function

    return register


def polynomial(x: Value, factors: Sequence[float]) -> Value:
    """With these factors of 1, x, x ** 2, …"""
    total = x * factors[-1]
    for factor in reversed(factors[1:-1]):
        total = x * (total + factor)
    return total + factors[0]


@rule("fmax", "fmin")
def extreme(c: Call) -> Value:
    left, right = c.computed(0), c.computed(1)
    found = compute("maximum" if c.name == "fmax" else "minimum", left, right)
    if not is_float(c.wide):
        return found
    return where(predicate("isnan", left), right, where(predicate("isnan", right), left, found))


@rule("signbit")
def signbit(c: Call) -> Value:
    x = c.value(0)
    return _is_negative(x) if is_float(x.dtype) else x < 0


@rule("round.decimals")
def round_decimals(c: Call) -> Value:
    x, decimals = c.value(0), c.option("decimals")
    if not is_float(c.wide):
        return x
    tens = 10.0 ** abs(decimals)
    return compute("round", x * tens) / tens if decimals > 0 else compute("round", x / tens) * tens


@series("lgamma")
def lgamma(x: Value) -> Value:
    """By Stirling's series, and below a half by reflection: log(pi / |sin(pi x)|) - lgamma(1 - x)."""
    low, z, w = _moved_up(x)
    product = z
    for step in range(1, _SHIFT):
        product = product * (z + step)
    inverse = compute("reciprocal", w)
    main = (w - 0.5) * compute("log", w) - w
    value = main + 0.5 * math.log(2 * math.pi) + inverse * polynomial(inverse * inverse, _LOG_GAMMA)
    value = value - where(z < _SHIFT, compute("log", product), 0.0)
    sine = compute("abs", compute("sin", _fraction(x) * math.pi))
    reflected = math.log(math.pi) - compute("log", sine) - value
    found = where(x.equals(1.0) | x.equals(2.0), 0.0, where(low, reflected, value))
    return where(predicate("isinf", x), math.inf, found)


@series("digamma")
def _digamma(x: Value) -> Value:
    """By the series of lgamma's derivative, and below a half by reflection: digamma(1 - x) - pi / tan(pi x)."""
    low, z, w = _moved_up(x)
    inverse = compute("reciprocal", w)
    square = inverse * inverse
    value = compute("log", w) - inverse * 0.5 + square * polynomial(square, _DIGAMMA)
    below = compute("reciprocal", z)
    for step in range(1, _SHIFT):
        below = below + compute("reciprocal", z + step)
    value = value - where(z < _SHIFT, below, 0.0)
    fraction = _fraction(x)
    reflected = value - math.pi / compute("tan", fraction * math.pi)
    pole = fraction.equals(0.0) & (x < 0.0)
    found = where(low, where(pole, math.nan, reflected), value)
    return where(x.equals(0.0), where(_is_negative(x), math.inf, -math.inf, "f64"), found)


@rule("polygamma")
def polygamma(c: Call) -> Value:
    """Of order 0, digamma, and of order 1."""
    order, x = c.arg(0), cast(c.value(1), "f64")
    if order > 1:
        raise c.unsupported(f"of order {order}", "Orders 0 and 1 have a rule.")
    return cast(_trigamma(x) if order else _digamma(x), c.wide)


def _trigamma(x: Value) -> Value:
    """By the series of digamma's derivative, below a half by reflection: (pi / sin(pi x)) ** 2 - trigamma(1 - x)."""
    low, z, w = _moved_up(x)
    inverse = compute("reciprocal", w)
    square = inverse * inverse
    value = inverse * (inverse * 0.5 + 1.0 + square * polynomial(square, _TRIGAMMA))
    below = compute("reciprocal", z * z)
    for step in range(1, _SHIFT):
        below = below + compute("reciprocal", (z + step) * (z + step))
    value = value + where(z < _SHIFT, below, 0.0)
    sine = compute("sin", x * math.pi)
    return where(low, math.pi**2 / (sine * sine) - value, value)


@rule("frexp")
def frexp(c: Call) -> tuple[Value, ...]:
    """A fraction from a half to below 1, and the exponent of 2, by the bits of x; 0 and what is not finite stay."""
    x = c.value(0)
    wide, whole, digits, bias = ("f64", "i64", 52, 1022) if x.dtype == "f64" else ("f32", "i32", 23, 126)
    x = cast(x, wide)
    tiny = compute("abs", x) < 2.0 ** (1 - bias)  # subnormal
    bits = map_of("bits", where(tiny, x * 2.0**digits, x), dtype=whole)
    exponents = (2 * bias + 3) << digits
    fraction = map_of("from_bits", bits & ~exponents | bias << digits, dtype=wide)
    power = (bits >> digits & 2 * bias + 3) - bias - where(tiny, digits, 0, whole)
    plain = x.equals(0.0) | ~predicate("isfinite", x)
    return where(plain, x, fraction), cast(where(plain, 0, power, whole), "i32")


@rule("nextafter")
def next_after(c: Call) -> Value:
    """The float beside x on the way to y: its bits, which rise with its size, are one more or one less."""
    x, y = c.computed(0), c.computed(1)
    if c.dtype not in ("f32", "f64"):
        raise c.unsupported(f"of {c.dtype}")
    whole = "i64" if c.dtype == "f64" else "i32"
    bits = map_of("bits", x, dtype=whole)
    outwards = cast((y > x).equals(x > 0.0), whole)
    beside = map_of("from_bits", bits + outwards * 2 - 1, dtype=c.dtype)
    least = 5e-324 if c.dtype == "f64" else 2.0**-149
    beside = where(x.equals(0.0), where(y > 0.0, least, -least, c.dtype), beside)
    found = where(x.equals(y), y, beside)
    return where(predicate("isnan", x) | predicate("isnan", y), math.nan, found)


def _is_negative(x: Value) -> Value:
    """Whether the sign bit of a float is set."""
    wide, whole = ("f64", "i64") if x.dtype == "f64" else ("f32", "i32")
    return map_of("bits", cast(x, wide), dtype=whole) < 0


def _moved_up(x: Value) -> tuple[Value, Value, Value]:
    """Whether x < 1 / 2; x or 1 - x, which is not; and that where series hold."""
    low = x < 0.5
    z = where(low, 1.0 - x, x)
    return low, z, where(z < _SHIFT, z + _SHIFT, z)


def _fraction(x: Value) -> Value:
    """How far x lies from the nearest whole number."""
    return x - compute("round", x)


@series("erfinv", "special_erfinv")
def erfinv(x: Value) -> Value:
    """By polynomials for seven digits, then by Newton's steps."""
    w = -compute("log", (1.0 - x) * (1.0 + x))
    tail = polynomial(compute("sqrt", w) - 3.0, _TAIL)
    y = x * where(w < 5.0, polynomial(w - 2.5, _CENTRE), tail)
    for _ in range(_NEWTON):
        slope = compute("exp", -(y * y)) * (2 / math.sqrt(math.pi))
        y = y - (compute("erf", y) - x) / slope
    return where(compute("abs", x).equals(1.0), x * math.inf, y)


@rule("gcd", "lcm")
def divisors(c: Call) -> Value:
    """By Euclid's algorithm, in as many turns as the dtype's numbers may take: those of Fibonacci take most."""
    left, right = (compute("abs", cast(expand(c.value(side), c.shape), c.dtype)) for side in range(2))

    def turn(t: SimpleNamespace) -> dict[str, Value]:
        done = t.small.equals(0)
        rest = t.large % where(done, 1, t.small)
        return {"large": where(done, t.large, t.small), "small": where(done, 0, rest)}

    turns = index(_EUCLID[DTYPES[c.dtype].size])
    common = ended(looped(turns, turn, {"large": left, "small": right})["large"])
    return common if c.name == "gcd" else left // compute("maximum", common, 1) * right


@formula("softshrink_backward", "hardshrink_backward")
def shrink_backward(gradient: Value, x: Value, limit: float) -> Value:
    return where((x >= -limit) & (x <= limit), 0, gradient)


@formula("mish_backward")
def mish_backward(gradient: Value, x: Value) -> Value:
    """The gradient of x * t with t = tanh(log(1 + e)) = n / (n + 2), e = exp(x) and n = e (e + 2), whose 1 - t * t is
    made so as not to cancel where t is near 1."""
    e = compute("exp", compute("minimum", x, _LARGE))
    n = e * (e + 2)
    slope = 4 * (n + 1) / ((n + 2) * (n + 2))
    return gradient * (n / (n + 2) + x * compute("sigmoid", x) * slope)
