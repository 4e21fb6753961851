"""Rules of elementwise operators: arithmetic, comparisons, mathematics, activations, casts."""

from __future__ import annotations

from akg_core.design.graph.rules import Call, Rule, rule
from akg_core.design.graph.values import (
    Literal,
    Pointwise,
    Value,
    arithmetic,
    cast,
    comparison,
    expand,
    literal,
    map_of,
    where,
)
from akg_core.design.operators.attention import narrowed
from akg_core.sketch.dtypes import is_float

_SAME_NAME = (
    "exp exp2 expm1 log log2 log10 log1p sqrt rsqrt sin cos tan asin acos atan sinh cosh asinh acosh atanh "
    "sigmoid erf erfc reciprocal silu abs floor ceil trunc relu"
)
_SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^", "__lshift__": "<<",
    "bitwise_left_shift": "<<", "__rshift__": ">>", "bitwise_right_shift": ">>", "maximum": "maximum",
    "minimum": "minimum", "fmod": "fmod", "remainder": "remainder", "atan2": "atan2",
}  # fmt: skip
_LINEAR = 20  # from where on log(1 + exp(x)) is x, as PyTorch has it
_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def _unary(name: str) -> Rule:
    return lambda c: arithmetic(name, c.value(0), dtype=c.wide)


def _binary(op: str) -> Rule:
    def apply(c: Call) -> Value:
        left, right = c.operand(0), c.operand(1)
        alpha = c.option("alpha") if "alpha" in c.node.kwargs else c.arg(2, 1)
        if op in "+-" and alpha != 1:
            right = arithmetic("*", right, alpha, dtype=c.wide)
        if c.dtype == "bool" and op in "+*":
            return arithmetic("|" if op == "+" else "&", left, right, dtype="bool")
        return arithmetic(op, left, right, dtype=c.wide)

    return apply


def _comparison(op: str) -> Rule:
    def apply(c: Call) -> Value:
        left, right = c.value(0), c.operand(1)
        if isinstance(right, Value):
            dtype = c.common(left, right)
            left, right = cast(left, dtype), cast(right, dtype)
        return comparison(op, left, right)

    return apply


for _name in _SAME_NAME.split():
    rule(_name)(_unary(_name))
for _name, _op in _SYMBOLS.items():
    rule(_name)(_binary(_op))
for _name, _op in _COMPARISONS.items():
    rule(_name)(_comparison(_op))


@rule("neg")
def neg(c: Call) -> Value:
    return arithmetic("neg", c.value(0), dtype=c.wide)


@rule("rsub")
def rsub(c: Call) -> Value:
    subtrahend = arithmetic("*", c.value(0), c.arg(2, 1), dtype=c.wide) if c.arg(2, 1) != 1 else c.value(0)
    return arithmetic("-", c.operand(1), subtrahend, dtype=c.wide)


@rule("sign", "sgn")
def sign(c: Call) -> Value:
    return c.value(0) if c.dtype == "bool" else arithmetic("sign", c.value(0), dtype=c.wide)


@rule("round.default")
def round_half_even(c: Call) -> Value:
    return arithmetic("round", c.value(0), dtype=c.wide)


@rule("copysign")
def copysign(c: Call) -> Value:
    size, signed = arithmetic("abs", c.value(0), dtype=c.wide), c.operand(1)
    other = signed if isinstance(signed, Value) else literal(signed, c.wide)
    negative = comparison("<", other, 0)
    if is_float(other.dtype):  # a zero has a sign, too, which its reciprocal shows
        below = comparison("<", arithmetic("reciprocal", other, dtype=other.dtype), 0)
        negative = map_of("|", negative, below, dtype="bool")
    return where(negative, arithmetic("neg", size, dtype=c.wide), size, c.wide)


@rule("hypot")
def hypot(c: Call) -> Value:
    """Scaled by the larger one, whose square may be too large or too small to hold."""
    sides = [arithmetic("abs", c.operand(i), dtype=c.wide) for i in range(2)]
    large, small = (arithmetic(op, *sides, dtype=c.wide) for op in ("maximum", "minimum"))
    share = arithmetic("/", small, large, dtype=c.wide)
    root = arithmetic(
        "sqrt", arithmetic("+", arithmetic("*", share, share, dtype=c.wide), 1, dtype=c.wide), dtype=c.wide
    )
    plain = map_of("|", comparison("==", large, 0), map_of("isinf", large, dtype="bool"), dtype="bool")
    return where(plain, large, arithmetic("*", large, root, dtype=c.wide), c.wide)


@rule("isnan", "isinf", "isfinite")
def classify(c: Call) -> Value:
    return map_of(c.name, c.value(0), dtype="bool")


@rule("logical_and", "logical_or", "logical_xor")
def logical(c: Call) -> Value:
    op = {"logical_and": "&", "logical_or": "|", "logical_xor": "^"}[c.name]
    return arithmetic(op, c.operand(0), c.operand(1), dtype="bool")


@rule("logical_not")
def logical_not(c: Call) -> Value:
    return arithmetic("not", c.value(0), dtype="bool")


@rule("bitwise_not")
def bitwise_not(c: Call) -> Value:
    return arithmetic("not" if c.dtype == "bool" else "~", c.value(0), dtype=c.wide)


@rule("div", "true_divide")
def div(c: Call) -> Value:
    left, right, mode = c.operand(0), c.operand(1), c.option("rounding_mode")
    if mode is None:
        return arithmetic("/", left, right, dtype=c.wide)
    if mode == "floor":
        return arithmetic("//", left, right, dtype=c.wide)
    if is_float(c.wide):
        return arithmetic("trunc", arithmetic("/", left, right, dtype=c.wide), dtype=c.wide)
    floored, rest = (arithmetic(op, left, right, dtype=c.wide) for op in ("//", "%"))
    inexact = map_of("&", comparison("!=", rest, 0), comparison("<", floored, 0), dtype="bool")
    return where(inexact, arithmetic("+", floored, 1, dtype=c.wide), floored, c.wide)


@rule("floor_divide")
def floor_divide(c: Call) -> Value:
    return arithmetic("//", c.operand(0), c.operand(1), dtype=c.wide)


@rule("pow")
def power(c: Call) -> Value:
    base, exponent = c.operand(0), c.operand(1)
    if isinstance(exponent, Value) or not isinstance(base, Value):
        return arithmetic("**", base, exponent, dtype=c.wide)
    return powered(base, exponent, c.wide)


def powered(x: Value, exponent: int | float, dtype: str) -> Value:
    """x ** exponent by multiplications and roots where these are as exact."""
    x = cast(x, dtype)
    roots = {0.5: "sqrt", -0.5: "rsqrt", -1: "reciprocal"}
    if exponent == 0:
        return Literal(literal(1, dtype).number, shape=x.shape, dtype=dtype)
    if exponent == 1:
        return x
    if exponent in (2, 3, 4):
        square = arithmetic("*", x, x, dtype=dtype)
        return square if exponent == 2 else arithmetic("*", square, x if exponent == 3 else square, dtype=dtype)
    if exponent in roots and is_float(dtype):
        return arithmetic(roots[exponent], x, dtype=dtype)
    if exponent == -2 and is_float(dtype):
        return arithmetic("reciprocal", arithmetic("*", x, x, dtype=dtype), dtype=dtype)
    return arithmetic("**", x, exponent, dtype=dtype)


@rule("clamp", "clip", "clamp_min", "clamp_max", "hardtanh")
def clamp(c: Call) -> Value:
    low, high = (None, 1) if c.name == "clamp_max" else (1, 2)
    result = cast(c.value(0), c.wide)
    for position, op in ((low, "maximum"), (high, "minimum")):
        if position is not None and c.arg(position) is not None:
            result = arithmetic(op, result, c.operand(position), dtype=c.wide)
    return result


@rule("where")
def select(c: Call) -> Value:
    return where(c.value(0), c.operand(1), c.operand(2), c.wide)


@rule("masked_fill")
def masked_fill(c: Call) -> Value:
    return where(c.value(1), c.operand(2), c.value(0), c.wide)


@rule("gelu")
def gelu(c: Call) -> Value:
    tanh = (c.option("approximate") or c.arg(1)) == "tanh"
    return arithmetic("gelu_tanh" if tanh else "gelu", c.value(0), dtype=c.wide)


@rule("leaky_relu")
def leaky_relu(c: Call) -> Value:
    x = c.value(0)
    return where(comparison(">", x, 0), x, arithmetic("*", x, c.arg(1, 0.01), dtype=c.wide), c.wide)


@rule("elu")
def elu(c: Call) -> Value:
    x, alpha, scale, input_scale = c.value(0), c.arg(1, 1.0), c.arg(2, 1.0), c.arg(3, 1.0)
    low = _scaled(arithmetic("expm1", _scaled(x, input_scale), dtype=c.wide), alpha * scale)
    return where(comparison("<=", x, 0), low, _scaled(x, scale), c.wide)


def _scaled(x: Value, factor: float) -> Value:
    return x if factor == 1 else arithmetic("*", x, factor, dtype=x.dtype)


@rule("softplus")
def softplus(c: Call) -> Value:
    x, beta, threshold = c.value(0), c.arg(1, 1), c.arg(2, 20)
    scaled = _scaled(x, beta)
    soft = _scaled(arithmetic("softplus", scaled, dtype=c.wide), 1 / beta)
    return where(comparison(">", scaled, float(threshold)), x, soft, c.wide)


@rule("tanh")
def tanh(c: Call) -> Value:
    """Of log(1 + e) with e = exp(x), as in mish, by that exponential alone: n / (n + 2) with n = e (e + 2)."""
    x = _softened(c.value(0))
    if x is None:
        return arithmetic("tanh", c.value(0), dtype=c.wide)
    e = arithmetic("exp", arithmetic("minimum", x, _LINEAR, dtype=c.wide), dtype=c.wide)
    n = arithmetic("*", e, arithmetic("+", e, 2, dtype=c.wide), dtype=c.wide)
    return arithmetic("/", n, arithmetic("+", n, 2, dtype=c.wide), dtype=c.wide)


def _softened(value: Value) -> Value | None:
    """The x of log(1 + exp(x)), where what is large is itself; None of anything else."""
    match value:
        case Pointwise(
            op="where",
            args=(
                Pointwise(op=">", args=(x, Literal(number=n))),
                large,
                Pointwise(op="log1p", args=(Pointwise() as e,)),
            ),
        ):
            return x if n == _LINEAR and large is x and e.op == "exp" and e.args == (x,) else None
    return None


@rule("hardsigmoid", "hardswish")
def hard(c: Call) -> Value:
    x = c.value(0)
    gate = arithmetic("clamp", arithmetic("+", x, 3, dtype=c.wide), 0, 6, dtype=c.wide)
    gate = gate if c.name == "hardsigmoid" else arithmetic("*", x, gate, dtype=c.wide)
    return arithmetic("/", gate, 6, dtype=c.wide)


@rule("_to_copy", "to")
def to_copy(c: Call) -> Value:
    # A cast to a narrow float rounds even though what follows is computed wide.
    dtype = c.option("dtype") or c.dtype
    return copied(cast(narrowed(c.value(0), dtype), dtype))


@rule("clone", "contiguous")
def clone(c: Call) -> Value:
    return copied(c.raw(0))


@rule("copy")
def copy(c: Call) -> Value:
    return copied(cast(expand(c.value(1), c.shape), c.wide))


def copied(value: Value) -> Value:
    """`value` in memory of its own."""
    return Pointwise("copy", (value,), shape=value.shape, dtype=value.dtype)
