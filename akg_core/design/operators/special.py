"""Rules of special functions: the gamma and error functions and what is made of them, and rarer elementwise ones.

Series are summed in f64, so that what is left of their errors is far below f32's rounding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import SimpleNamespace

from akg_core.design.algebra.index import index
from akg_core.design.graph.rules import Call, rule
from akg_core.design.graph.values import Value, arithmetic, cast, comparison, expand, map_of, where
from akg_core.design.operators.turns import ended, looped
from akg_core.sketch.dtypes import DTYPES, is_float

_SHIFT = 8  # arguments below are moved up by so much, to where the series are exact
_LOG_GAMMA = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)
"""Of 1 / w, 1 / w**3, … in Stirling's series (DLMF 5.11.1)."""
_DIGAMMA = (-1 / 12, 1 / 120, -1 / 252, 1 / 240, -1 / 132, 691 / 32760)
"""Of 1 / w**2, 1 / w**4, … in the series of its derivative (DLMF 5.11.2)."""
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
_NEWTON = 2  # steps, each of which doubles how many digits are right


def _f64(op: str, *operands: Value | float) -> Value:
    return arithmetic(op, *operands, dtype="f64")


def _series(x: Value, factors: Sequence[float]) -> Value:
    """The polynomial with these factors of 1, x, x ** 2, …"""
    total = _f64("*", x, factors[-1])
    for factor in reversed(factors[1:-1]):
        total = _f64("*", x, _f64("+", total, factor))
    return _f64("+", total, factors[0])


@rule("fmax", "fmin")
def extreme(c: Call) -> Value:
    left, right = (cast(c.value(side), c.wide) for side in range(2))
    found = arithmetic("maximum" if c.name == "fmax" else "minimum", left, right, dtype=c.wide)
    if not is_float(c.wide):
        return found
    absent = [map_of("isnan", side, dtype="bool") for side in (left, right)]
    return where(absent[0], right, where(absent[1], left, found, c.wide), c.wide)


@rule("signbit")
def signbit(c: Call) -> Value:
    x = c.value(0)
    return _is_negative(x) if is_float(x.dtype) else comparison("<", x, 0)


@rule("round.decimals")
def round_decimals(c: Call) -> Value:
    x, decimals = c.value(0), c.option("decimals")
    if not is_float(c.wide):
        return x
    tens = 10.0 ** abs(decimals)
    to, back = ("*", "/") if decimals > 0 else ("/", "*")
    whole = arithmetic("round", arithmetic(to, x, tens, dtype=c.wide), dtype=c.wide)
    return arithmetic(back, whole, tens, dtype=c.wide)


@rule("lgamma")
def lgamma(c: Call) -> Value:
    """By Stirling's series, and below a half by reflection: log(pi / |sin(pi x)|) - lgamma(1 - x)."""
    x = cast(c.value(0), "f64")
    low, z, w = _moved_up(x)
    small = comparison("<", z, _SHIFT)
    product = z
    for step in range(1, _SHIFT):
        product = _f64("*", product, _f64("+", z, step))
    inverse = _f64("reciprocal", w)
    rest = _f64("*", inverse, _series(_f64("*", inverse, inverse), _LOG_GAMMA))
    main = _f64("-", _f64("*", _f64("-", w, 0.5), _f64("log", w)), w)
    value = _f64("+", _f64("+", main, 0.5 * math.log(2 * math.pi)), rest)
    value = _f64("-", value, where(small, _f64("log", product), 0.0, "f64"))
    sine = _f64("abs", _f64("sin", _f64("*", _fraction(x), math.pi)))
    reflected = _f64("-", _f64("-", math.log(math.pi), _f64("log", sine)), value)
    found = where(low, reflected, value, "f64")
    return cast(where(map_of("isinf", x, dtype="bool"), math.inf, found, "f64"), c.wide)


@rule("digamma")
def digamma(c: Call) -> Value:
    """By the series of lgamma's derivative, and below a half by reflection: digamma(1 - x) - pi / tan(pi x)."""
    x = cast(c.value(0), "f64")
    low, z, w = _moved_up(x)
    inverse = _f64("reciprocal", w)
    square = _f64("*", inverse, inverse)
    value = _f64("-", _f64("log", w), _f64("*", inverse, 0.5))
    value = _f64("+", value, _f64("*", square, _series(square, _DIGAMMA)))
    below = _f64("reciprocal", z)
    for step in range(1, _SHIFT):
        below = _f64("+", below, _f64("reciprocal", _f64("+", z, step)))
    value = _f64("-", value, where(comparison("<", z, _SHIFT), below, 0.0, "f64"))
    fraction = _fraction(x)
    reflected = _f64("-", value, _f64("/", math.pi, _f64("tan", _f64("*", fraction, math.pi))))
    pole = map_of("&", comparison("==", fraction, 0.0), comparison("<", x, 0.0), dtype="bool")
    found = where(low, where(pole, math.nan, reflected, "f64"), value, "f64")
    at_zero = where(_is_negative(x), math.inf, -math.inf, "f64")
    return cast(where(comparison("==", x, 0.0), at_zero, found, "f64"), c.wide)


def _is_negative(x: Value) -> Value:
    """Whether the sign bit of a float is set."""
    wide, whole = ("f64", "i64") if x.dtype == "f64" else ("f32", "i32")
    return comparison("<", map_of("bits", cast(x, wide), dtype=whole), 0)


def _moved_up(x: Value) -> tuple[Value, Value, Value]:
    """Whether x < 1 / 2; x or 1 - x, which is not; and that where series hold."""
    low = comparison("<", x, 0.5)
    z = where(low, _f64("-", 1.0, x), x, "f64")
    return low, z, where(comparison("<", z, _SHIFT), _f64("+", z, _SHIFT), z, "f64")


def _fraction(x: Value) -> Value:
    """How far x lies from the nearest whole number."""
    return _f64("-", x, _f64("round", x))


@rule("erfinv", "special_erfinv")
def erfinv(c: Call) -> Value:
    """By polynomials for seven digits, then by Newton's steps."""
    x = cast(c.value(0), "f64")
    w = _f64("neg", _f64("log", _f64("*", _f64("-", 1.0, x), _f64("+", 1.0, x))))
    centre = _series(_f64("-", w, 2.5), _CENTRE)
    tail = _series(_f64("-", _f64("sqrt", w), 3.0), _TAIL)
    y = _f64("*", x, where(comparison("<", w, 5.0), centre, tail, "f64"))
    for _ in range(_NEWTON):
        slope = _f64("*", _f64("exp", _f64("neg", _f64("*", y, y))), 2 / math.sqrt(math.pi))
        y = _f64("-", y, _f64("/", _f64("-", _f64("erf", y), x), slope))
    end = comparison("==", _f64("abs", x), 1.0)
    return cast(where(end, _f64("*", x, math.inf), y, "f64"), c.wide)


@rule("gcd", "lcm")
def divisors(c: Call) -> Value:
    """By Euclid's algorithm, in as many turns as the dtype's numbers may take: those of Fibonacci take most."""
    left, right = (arithmetic("abs", expand(c.value(side), c.shape), dtype=c.dtype) for side in range(2))

    def turn(t: SimpleNamespace) -> dict[str, Value]:
        done = comparison("==", t.small, 0)
        rest = arithmetic("%", t.large, where(done, 1, t.small, c.dtype), dtype=c.dtype)
        return {"large": where(done, t.large, t.small, c.dtype), "small": where(done, 0, rest, c.dtype)}

    turns = index(_EUCLID[DTYPES[c.dtype].size])
    common = ended(looped(turns, turn, {"large": left, "small": right})["large"])
    if c.name == "gcd":
        return common
    share = arithmetic("//", left, arithmetic("maximum", common, 1, dtype=c.dtype), dtype=c.dtype)
    return arithmetic("*", share, right, dtype=c.dtype)


@rule("softshrink_backward", "hardshrink_backward")
def shrink_backward(c: Call) -> Value:
    gradient, x, limit = c.value(0), c.value(1), c.arg(2)
    inside = map_of("&", comparison(">=", x, -limit), comparison("<=", x, limit), dtype="bool")
    return where(inside, 0, gradient, c.wide)


@rule("mish_backward")
def mish_backward(c: Call) -> Value:
    """The gradient of x * tanh(log(1 + exp(x)))."""
    gradient, x = c.value(0), c.value(1)
    bent = arithmetic("tanh", arithmetic("softplus", x, dtype=c.wide), dtype=c.wide)
    slope = arithmetic("-", 1, arithmetic("*", bent, bent, dtype=c.wide), dtype=c.wide)
    turn = arithmetic("*", x, arithmetic("sigmoid", x, dtype=c.wide), dtype=c.wide)
    whole = arithmetic("+", bent, arithmetic("*", turn, slope, dtype=c.wide), dtype=c.wide)
    return arithmetic("*", gradient, whole, dtype=c.wide)
