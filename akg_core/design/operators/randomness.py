"""Rules of operators that draw random numbers: dropout in training, uniform and normal numbers, whole ones.

A draw is a function of the call's seed, of which of the operators that draw it is, and of the element's place, so that
kernels may compute it again wherever it is read. In torch the same functions are in
`akg_core.task.randomness`.
"""

from __future__ import annotations

import math

from akg_core.design.algebra.index import flatten, index
from akg_core.design.graph.rules import Call, rule, rules
from akg_core.design.graph.values import (
    Shape,
    Value,
    arithmetic,
    cast,
    compute,
    counting,
    expand,
    held,
    literal,
    map_of,
    narrow,
    reshape,
    where,
)
from akg_core.design.operators.gathers import searched
from akg_core.design.operators.pointwise import copied
from akg_core.design.operators.scans import scanned
from akg_core.design.operators.sorting import leading, ordered
from akg_core.task.graph import draws

_BITS = {"f16": 11, "bf16": 8}  # of uniform numbers in 16 bits, below 1 all of them
_WORD = 24  # bits of a draw
_LEAST = 2.0**-25  # of exponential numbers, which are never 0


def _uniform(c: Call, which: int = 0, shape: Shape | None = None) -> Value:
    """Numbers from 0 to below 1 in f32, one for each element; an operator may draw two for each."""
    assert c.stream is not None
    shape = c.shape if shape is None else shape
    key = map_of("^", c.stream.seed, literal(2 * c.stream.number + which, "i64"), dtype="i64")
    return map_of("rand", key, counting(shape, lambda at: flatten(at, shape)), dtype="f32")


def _between(c: Call, low: float, high: float) -> Value:
    drawn = _uniform(c)
    if bits := _BITS.get(c.dtype):
        drawn = compute("floor", drawn * 2.0**bits)
        drawn = drawn * 2.0 ** (-bits)
    drawn = cast(drawn, c.wide)
    if (low, high) == (0, 1):
        return drawn
    return drawn * (high - low) + low


def _normal(c: Call) -> Value:
    # Box and Muller's transform of two uniform numbers, of which the first is never 0.
    first, second = (cast(_uniform(c, which), c.wide) for which in range(2))
    radius = compute("sqrt", compute("log", 1.0 - first) * -2.0)
    return radius * compute("cos", second * (2 * math.pi))


rules(
    {
        "rand rand_like": lambda c: _between(c, 0, 1),
        "uniform": lambda c: _between(c, c.arg(1, 0.0), c.arg(2, 1.0)),
        "randn randn_like": _normal,
        "exponential": lambda c: _waited(cast(_uniform(c), c.wide)) / c.arg(1, 1.0),
    }
)


@rule("native_dropout", "dropout")
def dropout(c: Call) -> tuple[Value, ...]:
    p, training = c.arg(1), c.arg(2)
    if not draws(c.node):
        keep = not (training and p == 1)
        value = copied(c.value(0)) if keep else c.computed(0) * 0.0
        return value, literal(keep, "bool", c.shape)
    kept = _uniform(c) < 1.0 - p
    factor = where(kept, 1.0 / (1.0 - p), 0.0, c.wide)
    return c.computed(0) * factor, kept


@rule("bernoulli")
def bernoulli(c: Call) -> Value:
    p = c.operand(1) if c.arg(1) is not None else c.value(0)
    drawn = _uniform(c)
    return cast(drawn < (cast(p, "f32") if isinstance(p, Value) else float(p)), c.dtype)


@rule("normal", "normal_functional")
def normal(c: Call) -> Value:
    """Of a mean and a deviation, each a number or a tensor."""
    first = 1 if c.name == "normal_functional" else 0
    mean, deviation = (c.operand(n) if c.arg(n) is not None else d for n, d in ((first, 0.0), (first + 1, 1.0)))
    return arithmetic("+", arithmetic("*", _normal(c), deviation, dtype=c.wide), mean, dtype=c.wide)


def _waited(drawn: Value) -> Value:
    """Exponential numbers of the rate 1, made of uniform ones."""
    return compute("maximum", -compute("log", 1.0 - drawn), _LEAST)


@rule("multinomial")
def multinomial(c: Call) -> Value:
    """With replacement, how many sums of the first shares are not above a part of all that is drawn for each pick;
    else the places whose shares are largest beside exponential numbers."""
    shares, count, dim = c.value(0), int(c.arg(1)), len(c.shape) - 1
    if c.arg(2, False):
        sums = held(scanned("sum", cast(shares, "f64"), dim))
        total = narrow(sums, dim, sums.shape[dim] - 1, index(1))
        return searched(sums, cast(_uniform(c), "f64") * expand(total, c.shape), right=True)
    waited = _waited(cast(_uniform(c, shape=shares.shape), shares.dtype))
    return reshape(leading(shares / waited, index(count), c.choices, True), c.shape)


@rule("randperm")
def randperm(c: Call) -> Value:
    """The order of whole numbers of 48 bits."""
    high, low = (_bits(c, which) for which in range(2))
    return cast(ordered(high << _WORD | low, c.choices.longest_sorted), c.dtype)


def _bits(c: Call, which: int = 0) -> Value:
    """A draw as a whole number of 24 bits."""
    return cast(_uniform(c, which) * 2.0**_WORD, "i64")


@rule("rrelu_with_noise_functional")
def randomized_leaky_relu(c: Call) -> tuple[Value, ...]:
    """Its slopes below 0 are drawn in training; the noise that it gives then is nobody's to read."""
    x, lower, upper = c.computed(0), c.arg(2, 1 / 8), c.arg(3, 1 / 3)
    if not draws(c.node):
        return where(x > 0, x, x * ((lower + upper) / 2)), c.value(1)
    noise = where(x > 0, 1.0, _between(c, lower, upper))
    return x * noise, noise


@rule("randint", "randint_like")
def randint(c: Call) -> Value:
    """Whole numbers from `low` to below `high`: a draw's bits, scaled to how many there are."""
    first = 1 if c.name == "randint_like" else 0
    bounded = "low" in c.op.rpartition(".")[2]
    low, high = (c.arg(first), c.arg(first + 1)) if bounded else (0, c.arg(first))
    if isinstance(low, str) or isinstance(high, str) or high - low > 1 << _WORD:
        raise c.unsupported("of more than 2^24 numbers, or of as many as a size says", "Draw them in get_inputs.")
    return cast((_bits(c) * (high - low) >> _WORD) + low, c.dtype)
