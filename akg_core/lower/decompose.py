"""Operations that a language lacks, in terms of those that it has."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from typing import Any

from akg_core.dtypes import is_float
from akg_core.lower.ir import Body
from akg_core.sketch.ast import Call, Expr, rewrite

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
        op.rewrite(change)


def _of(op: str, x: Expr, *more: Expr | float) -> Expr:
    return x.combined(op, x, *more)


def _sigmoid(x: Expr) -> Expr:
    return 1.0 / (1.0 + _of("exp", -x))


def _gelu_tanh(x: Expr) -> Expr:
    cubic = x + _TANH_CUBIC * (x * x * x)
    return x * 0.5 * (1.0 + _of("tanh", _TANH_SCALE * cubic))


def _compared(op: str, x: Expr) -> Expr:
    """The size of `x` beside infinity; a whole number is never infinite."""
    if not is_float(x.dtype):
        return x.differs(x) if op == "==" else x.equals(x)
    return _of(op, _of("abs", x), math.inf)


_ROUNDINGS = ("floor", "ceil", "round", "trunc")
_FORMS: dict[str, Callable[..., Expr]] = {
    "sigmoid": _sigmoid,
    "silu": lambda x: x * _sigmoid(x),
    "gelu": lambda x: x * 0.5 * (1.0 + _of("erf", x * _SQRT_HALF)),
    "gelu_tanh": _gelu_tanh,
    "softplus": lambda x: _of("log1p", _of("exp", -_of("abs", x))) + _of("maximum", x, 0.0),
    "reciprocal": lambda x: 1.0 / x,
    "rsqrt": lambda x: 1.0 / _of("sqrt", x),
    "relu": lambda x: _of("maximum", x, 0),
    "clamp": lambda x, low, high: _of("minimum", _of("maximum", x, low), high),
    "erfc": lambda x: 1.0 - _of("erf", x),
    "isnan": lambda x: x.differs(x),
    "isinf": lambda x: _compared("==", x),
    "isfinite": lambda x: _compared("<", x),
}
