"""Whether f64 elements, which these chips lack, are equal or true: a question of their bits."""

from __future__ import annotations

import math
import struct
from typing import Any

from akg_core.plugin.sketch import Call, Expr, Number, Unary, ast

_NEGATIVE_ZERO = -(2**63)
_INFINITY = 0x7FF << 52


def on_bits(tree: ast.SketchFile) -> ast.SketchFile:
    """The checked tree where loads of f64 that are compared for equality, with numbers or each other, or taken for
    truths, give bits; as it is where anything else is done with an f64.
    """
    changed = ast.rewrite(tree, _rewritten)
    nodes = list(ast.walk(changed.kernels))
    read = {id(node.args[0]) for node in nodes if isinstance(node, Call) and node.op == "bits"}
    return tree if any(_is_f64(node) and id(node) not in read for node in nodes) else changed


def _rewritten(node: Any) -> Any:
    match node:
        case Call(op="cast", args=(load, *_)) if node.dtype == "bool" and _is_load(load):
            return Unary("not", _is_zero(_bits(load)))
        case ast.Binary(op="==" | "!=", left=left, right=right) if _is_load(left) or _is_load(right):
            load, other = (left, right) if _is_load(left) else (right, left)
            if (equal := _equal(load, other)) is not None:
                return equal if node.op == "==" else Unary("not", equal)
    return node


def _is_f64(node: Any) -> bool:
    typed = isinstance(node, Expr) and not isinstance(node, ast.Element) and node.type is not None
    return typed and node.dtype == "f64" and not node.type.weak


def _is_load(node: Any) -> bool:
    return _is_f64(node) and isinstance(node, Call) and node.op == "load"


def _equal(load: Expr, other: Expr) -> Expr | None:
    """Whether an element equals another, or a number; None for what is neither."""
    if _is_load(other):
        return _equal_elements(_bits(load), _bits(other))
    value = _value(other)
    if value is None:
        return None
    return _bits(load).equals(*struct.unpack("<q", struct.pack("<d", value))) if value else _is_zero(_bits(load))


def _equal_elements(one: Expr, other: Expr) -> Expr:
    """Of two floats' bits: NaN equals none, and there are two zeros."""
    is_number = (one <= _INFINITY) & ((one >= 0) | (one <= _NEGATIVE_ZERO + _INFINITY))
    return (one.equals(other) & is_number) | (_is_zero(one) & _is_zero(other))


def _is_zero(bits: Expr) -> Expr:
    return bits.equals(0) | bits.equals(_NEGATIVE_ZERO)


def _bits(load: Expr) -> Expr:
    return Call("bits", (load,))


def _value(node: Expr) -> float | None:
    """The number that an expression is; None for NaN, which equals none, and for what is no number."""
    if isinstance(node, Unary) and node.op == "-":
        value = _value(node.operand)
        return None if value is None else -value
    return float(node.value) if isinstance(node, Number) and not math.isnan(node.value) else None
