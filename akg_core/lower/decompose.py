"""Operations that a language lacks, in terms of those that it has."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

from akg_core.lower.ir import Body
from akg_core.sketch.ast import Binary, Call, Expr, Number, Type, Unary, rewrite
from akg_core.sketch.dtypes import is_float

_SQRT_HALF = math.sqrt(0.5)
_TANH_SCALE, _TANH_CUBIC = math.sqrt(2 / math.pi), 0.044715  # of gelu's tanh form: Hendrycks and Gimpel, 2016


def decompose(body: Body, known: Collection[str]) -> None:
    """Rewrite, in every op of an explicit body, each elementwise operation that is not `known`.

    Raises KeyError for one that has no other form.
    """

    def change(node: Any) -> Any:
        if isinstance(node, Call) and node.op in _ROUNDINGS and node.type and not is_float(node.type.dtype):
            return node.args[0]  # a whole number already
        if not isinstance(node, Call) or node.op in known or node.op not in _FORMS:
            return node
        return rewrite(_FORMS[node.op](*node.args), change)

    for op in body.ops():
        op.expr, op.other, op.element = (rewrite(part, change) for part in (op.expr, op.other, op.element))


def _typed(expr: Expr, like: Expr, dtype: str = "") -> Any:
    assert like.type is not None, "an explicit body has types"
    return replace(expr, place=like.place, type=Type(dtype=dtype or like.type.dtype))


def _call(op: str, x: Expr, *more: Expr) -> Expr:
    return _typed(Call(op, (x, *more)), x)


def _binary(op: str, a: Expr | float, b: Expr | float) -> Expr:
    like = a if isinstance(a, Expr) else b
    assert isinstance(like, Expr)
    sides = [e if isinstance(e, Expr) else _typed(Number(e), like) for e in (a, b)]
    return _typed(Binary(op, *sides), like, "bool" if op in ("==", "!=", "<", ">") else "")


def _sigmoid(x: Expr) -> Expr:
    return _binary("/", 1.0, _binary("+", 1.0, _call("exp", _typed(Unary("-", x), x))))


def _gelu(x: Expr) -> Expr:
    cumulative = _binary("+", 1.0, _call("erf", _binary("*", x, _SQRT_HALF)))
    return _binary("*", _binary("*", x, 0.5), cumulative)


def _gelu_tanh(x: Expr) -> Expr:
    cubic = _binary("+", x, _binary("*", _TANH_CUBIC, _binary("*", _binary("*", x, x), x)))
    return _binary("*", _binary("*", x, 0.5), _binary("+", 1.0, _call("tanh", _binary("*", _TANH_SCALE, cubic))))


def _softplus(x: Expr) -> Expr:
    small = _call("log1p", _call("exp", _typed(Unary("-", _call("abs", x)), x)))
    return _binary("+", small, _call("maximum", x, _typed(Number(0.0), x)))


def _compared(op: str, x: Expr) -> Expr:
    """The size of `x` beside infinity; a whole number is never infinite."""
    if x.type is not None and not is_float(x.type.dtype):
        return _binary("!=" if op == "==" else "==", x, x)
    return _binary(op, _call("abs", x), math.inf)


_ROUNDINGS = ("floor", "ceil", "round", "trunc")
_FORMS: dict[str, Callable[..., Expr]] = {
    "sigmoid": _sigmoid,
    "silu": lambda x: _binary("*", x, _sigmoid(x)),
    "gelu": _gelu,
    "gelu_tanh": _gelu_tanh,
    "softplus": _softplus,
    "reciprocal": lambda x: _binary("/", 1.0, x),
    "rsqrt": lambda x: _binary("/", 1.0, _call("sqrt", x)),
    "relu": lambda x: _call("maximum", x, _typed(Number(0), x)),
    "clamp": lambda x, low, high: _call("minimum", _call("maximum", x, low), high),
    "erfc": lambda x: _binary("-", 1.0, _call("erf", x)),
    "isnan": lambda x: _binary("!=", x, x),
    "isinf": lambda x: _compared("==", x),
    "isfinite": lambda x: _compared("<", x),
}
