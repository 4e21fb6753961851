"""Rules of elementwise operators: arithmetic, comparisons, mathematics, activations, casts."""

from __future__ import annotations

from akg_core.design.graph.rules import Call, formula, rule, rules
from akg_core.design.graph.values import (
    Literal,
    Number,
    Pointwise,
    Value,
    arithmetic,
    cast,
    comparison,
    compute,
    expand,
    literal,
    predicate,
    where,
)
from akg_core.design.operators.attention import narrowed
from akg_core.dtypes import is_float

_SAME_NAME = (
    "exp exp2 expm1 log log2 log10 log1p sqrt rsqrt sin cos tan asin acos atan sinh cosh asinh acosh atanh "
    "sigmoid erf erfc reciprocal silu abs floor ceil trunc relu neg"
)
_SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^", "__lshift__": "<<",
    "bitwise_left_shift": "<<", "__rshift__": ">>", "bitwise_right_shift": ">>", "maximum": "maximum",
    "minimum": "minimum", "fmod": "fmod", "remainder": "remainder", "atan2": "atan2", "floor_divide": "//",
}  # fmt: skip
_LINEAR = 20  # from where on log(1 + exp(x)) is x, as PyTorch has it
_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_LOGIC = {"logical_and": "&", "logical_or": "|", "logical_xor": "^"}

rules(
    {
        _SAME_NAME: lambda c: compute(c.name, c.computed(0)),
        "_neg_view": lambda c: compute("neg", c.computed(0)),
        "round.default": lambda c: compute("round", c.computed(0)),
        "sign sgn": lambda c: c.value(0) if c.dtype == "bool" else compute("sign", c.computed(0)),
        "isnan isinf isfinite": lambda c: predicate(c.name, c.value(0)),
        "logical_and logical_or logical_xor": lambda c: arithmetic(
            _LOGIC[c.name], c.operand(0), c.operand(1), dtype="bool"
        ),
        "logical_not": lambda c: ~cast(c.value(0), "bool"),
        "bitwise_not": lambda c: ~c.computed(0),
        "where": lambda c: where(c.value(0), c.operand(1), c.operand(2), c.wide),
        "masked_fill": lambda c: where(c.value(1), c.operand(2), c.value(0), c.wide),
        "clone contiguous": lambda c: copied(c.raw(0)),
        "copy": lambda c: copied(cast(expand(c.value(1), c.shape), c.wide)),
    }
)


@rule(*_SYMBOLS)
def binary(c: Call) -> Value:
    op, left, right = _SYMBOLS[c.name], c.operand(0), c.operand(1)
    alpha = c.option("alpha", c.arg(2, 1)) if op in "+-" else 1
    if alpha != 1:
        right = arithmetic("*", right, alpha, dtype=c.wide)
    if c.dtype == "bool" and op in "+*":
        return arithmetic("|" if op == "+" else "&", left, right, dtype="bool")
    return arithmetic(op, left, right, dtype=c.wide)


@rule(*_COMPARISONS)
def compared(c: Call) -> Value:
    left, right = c.value(0), c.operand(1)
    if isinstance(right, Value):
        dtype = c.common(left, right)
        left, right = cast(left, dtype), cast(right, dtype)
    return comparison(_COMPARISONS[c.name], left, right)


@formula("rsub")
def rsub(x: Value, y: Value | Number, alpha: float = 1) -> Value:
    return y - _scaled(x, alpha)


@rule("copysign")
def copysign(c: Call) -> Value:
    size, signed = compute("abs", c.computed(0)), c.operand(1)
    other = signed if isinstance(signed, Value) else literal(signed, c.wide)
    negative = other < 0
    if is_float(other.dtype):  # a zero has a sign, too, which its reciprocal shows
        negative = negative | (compute("reciprocal", other) < 0)
    return where(negative, -size, size)


@formula("hypot")
def hypot(x: Value, y: Value) -> Value:
    """Scaled by the larger one, whose square may be too large or too small to hold."""
    sides = [compute("abs", side) for side in (x, y)]
    large, small = compute("maximum", *sides), compute("minimum", *sides)
    share = small / large
    root = compute("sqrt", share * share + 1)
    return where(large.equals(0) | predicate("isinf", large), large, large * root)


@rule("div", "true_divide")
def div(c: Call) -> Value:
    left, right, mode = c.operand(0), c.operand(1), c.option("rounding_mode")
    if mode is None:
        return arithmetic("/", left, right, dtype=c.wide)
    floored = arithmetic("//", left, right, dtype=c.wide)
    if mode == "floor":
        return floored
    if is_float(c.wide):
        return compute("trunc", arithmetic("/", left, right, dtype=c.wide))
    rest = arithmetic("%", left, right, dtype=c.wide)
    return where(rest.differs(0) & (floored < 0), floored + 1, floored)


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
        return literal(1, dtype, x.shape)
    if exponent == 1:
        return x
    if exponent in (2, 3, 4):
        square = x * x
        return square if exponent == 2 else square * (x if exponent == 3 else square)
    if exponent in roots and is_float(dtype):
        return compute(roots[exponent], x)
    if exponent == -2 and is_float(dtype):
        return compute("reciprocal", x * x)
    return x**exponent


@rule("clamp", "clip", "clamp_min", "clamp_max", "hardtanh")
def clamp(c: Call) -> Value:
    low, high = (None, 1) if c.name == "clamp_max" else (1, 2)
    result = c.computed(0)
    for position, op in ((low, "maximum"), (high, "minimum")):
        if position is not None and c.arg(position) is not None:
            result = arithmetic(op, result, c.operand(position), dtype=c.wide)
    return result


@rule("gelu")
def gelu(c: Call) -> Value:
    tanh = (c.option("approximate") or c.arg(1)) == "tanh"
    return compute("gelu_tanh" if tanh else "gelu", c.computed(0))


@formula("leaky_relu")
def leaky_relu(x: Value, slope: float = 0.01) -> Value:
    return where(x > 0, x, x * slope)


@formula("elu")
def elu(x: Value, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Value:
    low = _scaled(compute("expm1", _scaled(x, input_scale)), alpha * scale)
    return where(x <= 0, low, _scaled(x, scale))


def _scaled(x: Value, factor: float) -> Value:
    return x if factor == 1 else x * factor


@formula("softplus")
def softplus(x: Value, beta: float = 1, threshold: float = 20) -> Value:
    scaled = _scaled(x, beta)
    return where(scaled > float(threshold), x, _scaled(compute("softplus", scaled), 1 / beta))


@rule("tanh")
def tanh(c: Call) -> Value:
    """Of log(1 + e) with e = exp(x), as in mish, by that exponential alone: n / (n + 2) with n = e (e + 2)."""
    x = _softened(c.value(0))
    if x is None:
        return compute("tanh", c.computed(0))
    e = compute("exp", compute("minimum", x, _LINEAR))
    n = e * (e + 2)
    return n / (n + 2)


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
    x = c.computed(0)
    gate = compute("clamp", x + 3, 0, 6)
    return (gate if c.name == "hardsigmoid" else x * gate) / 6


@rule("_to_copy", "to")
def to_copy(c: Call) -> Value:
    # A cast to a narrow float rounds even though what follows is computed wide.
    dtype = c.option("dtype") or c.dtype
    return copied(cast(narrowed(c.value(0), dtype), dtype))


def copied(value: Value) -> Value:
    """`value` in memory of its own."""
    return compute("copy", value)
