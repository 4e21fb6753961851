"""How f64 elements, which these chips lack, compare and whether they are true: a question of their bits."""

from __future__ import annotations

import math
import operator
import struct
from functools import reduce
from typing import Any

from akg_core.plugin.sketch import Call, Expr, Number, Unary, ast

_NEGATIVE_ZERO = -(2**63)
_INFINITY = 0x7FF << 52


def on_bits(tree: ast.SketchFile) -> ast.SketchFile:
    """The checked tree where loads of f64 that are compared with numbers or each other, or taken for truths, give bits;
    what else is done with them stays.
    """
    return ast.rewrite(tree, _rewritten)


def _rewritten(node: Any) -> Any:
    match node:
        case Call(op="cast", args=(load, *_)) if node.dtype == "bool" and _is_load(load):
            return Unary("not", _is_zero(_bits(load)))
        case ast.Binary(op="==" | "!=", left=left, right=right) if _is_load(left) or _is_load(right):
            load, other = (left, right) if _is_load(left) else (right, left)
            if (equal := _equal(load, other)) is not None:
                return equal if node.op == "==" else Unary("not", equal)
        case ast.Binary(op="<" | "<=" | ">" | ">=", left=left, right=right) if _is_load(left) or _is_load(right):
            sides = [side for each in (left, right) if (side := _in_order(each)) is not None]
            if len(sides) == 2:
                numbers = [_is_number(_bits(load)) for load in (left, right) if _is_load(load)]
                return reduce(operator.and_, numbers, ast.Binary(node.op, *sides))
    return node


def is_f64(node: Any) -> bool:
    """Whether an expression of a checked tree is of f64, and no number."""
    typed = isinstance(node, Expr) and not isinstance(node, ast.Element) and node.type is not None
    return typed and node.dtype == "f64" and not node.type.weak


def _is_load(node: Any) -> bool:
    return is_f64(node) and isinstance(node, Call) and node.op == "load"


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
    return (one.equals(other) & _is_number(one)) | (_is_zero(one) & _is_zero(other))


def _in_order(node: Expr) -> Expr | None:
    """A whole number that is larger where a float is: of an element, or of a number; None for what is none."""
    if _is_load(node):
        bits = _bits(node)
        return Call("where", (bits >= 0, bits, ast.Binary("-", Number(_NEGATIVE_ZERO), bits)))
    value = _value(node)
    if value is None:
        return None
    (bits_of,) = struct.unpack("<q", struct.pack("<d", value))
    return Number(bits_of if bits_of >= 0 else _NEGATIVE_ZERO - bits_of)


def _is_number(bits: Expr) -> Expr:
    """Whether it is any but NaN."""
    return (bits <= _INFINITY) & ((bits >= 0) | (bits <= _NEGATIVE_ZERO + _INFINITY))


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
