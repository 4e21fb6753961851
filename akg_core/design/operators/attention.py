"""Attention is recognised: a matrix product whose left side is the softmax of what another product gave.

It becomes one value, so that one kernel can make it without ever storing the scores (Dao et al., 2022).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from akg_core.design.algebra.index import Axis, position
from akg_core.design.graph.anchors import operands
from akg_core.design.graph.casts import uncast
from akg_core.design.graph.values import (
    Attention,
    Gather,
    Literal,
    Pointwise,
    Positions,
    Product,
    Reduced,
    Scores,
    Value,
    View,
    cast,
)


def attention(left: Value, right: Value, dtype: str) -> Attention | None:
    """`left` [*batch, M, N] times `right` [*batch, N, F], when left is a softmax over N of scores that a product makes.

    The scores may be that product changed elementwise in any way: scaled, masked, biased.
    """
    weights, views = _below_views(left)
    found = softmax_of(weights)
    if found is None:
        return None
    scores, zeroed = found
    for look in reversed(views):
        scores = replace(look, arg=scores, move=None, dtype=scores.dtype)
    axes = [Axis(f"p{d}", size) for d, size in enumerate(left.shape)]
    at = tuple(map(position, axes))
    rows = _places(weights, views, at)
    if rows[-1] != at[-1] or any(axes[-1] in p.axes() for p in rows[:-1]):
        return None
    reads: dict[Product, set[Positions]] = {}
    if not _products(scores, at, reads) or len(reads) != 1:
        return None
    ((product, places),) = reads.items()
    if places != {at} or product.shape != left.shape:
        return None
    inner = Scores(shape=product.shape, dtype=product.dtype)
    scores = cast(_replaced(scores, product, inner, {}), dtype)
    shape = (*left.shape[:-1], right.shape[-1])
    return Attention(product.left, product.right, inner, scores, right, zeroed, shape=shape, dtype=dtype)


def narrowed(value: Value, dtype: str) -> Value:
    """An attention whose results are rounded to `dtype`, below views: its values as they were in that dtype.

    Its weights are then rounded, too, by less than the results are.
    """
    match value:
        case View(arg=arg) | Pointwise(op="copy", args=(arg,)):
            inner = narrowed(arg, dtype)
            if inner is arg:
                return value
            return replace(value, arg=inner) if isinstance(value, View) else inner
        case Attention(right=right) if (inner := uncast(right)).dtype == dtype:
            return replace(value, right=inner)
    return value


def weights_needed(values: Iterable[Value]) -> bool:
    """Whether the scores of some attention are needed outside of it, so that they are stored anyway."""
    seen: dict[Value, None] = {}
    stack = list(values)
    while stack:
        value = stack.pop()
        if value not in seen:
            seen[value] = None
            stack += operands(value)
    inner = {(v.query, v.key) for v in seen if isinstance(v, Attention)}
    return any((v.left, v.right) in inner for v in seen if isinstance(v, Product))


def _below_views(value: Value) -> tuple[Value, list[View]]:
    """What is left of `value` below views, copies and casts, and the views from the outermost in."""
    views: list[View] = []
    while True:
        if isinstance(value, View):
            views.append(value)
            value = value.arg
        elif isinstance(value, Pointwise) and value.op in ("copy", "cast"):
            (value,) = value.args
        else:
            return value, views


def _bare(value: Value) -> Value:
    return _below_views(value)[0]


def softmax_of(value: Value) -> tuple[Value, bool] | None:
    """The scores that `value` is the softmax of, along the last dim, and whether rows of -inf alone give 0, not NaN."""
    match value:
        case Pointwise(op="where", args=(condition, zero, softmax)) if _is_number(zero, 0):
            found = softmax_of(softmax)
            return (found[0], True) if found and _all_infinite(condition, found[0]) else None
        case Pointwise(op="*", args=(Pointwise(op="exp", args=(Pointwise(op="-", args=(scores, peak)),)), share)):
            share = _bare(share)
            top = _bare(peak)
            if not isinstance(share, Pointwise) or share.op != "reciprocal":
                return None
            total = _bare(share.args[0])
            if (
                isinstance(top, Reduced)
                and isinstance(total, Reduced)
                and top.reduction is total.reduction
                and top.reduction.kind == "online_softmax"
                and (top.part, total.part) == (0, 1)
                and top.reduction.arg is scores
                and top.reduction.dims == (len(scores.shape) - 1,)
            ):
                return scores, False
    return None


def _all_infinite(condition: Value, scores: Value) -> bool:
    """Whether `condition` says that no score of a row differs from -inf."""
    negated = _bare(condition)
    if not isinstance(negated, Pointwise) or negated.op != "not":
        return False
    anywhere = _bare(negated.args[0])
    if not isinstance(anywhere, Reduced) or anywhere.reduction.kind != "any":
        return False
    match anywhere.reduction.arg:
        case Pointwise(op="not", args=(Pointwise(op="==", args=(compared, number)),)):
            return compared is scores and _is_number(number, -math.inf)
    return False


def _is_number(value: Value, number: float) -> bool:
    return isinstance(value, Literal) and value.number == number


def _places(value: Value, views: list[View], at: Positions) -> Positions:
    for look in views:
        at = look.rule(at)
    return at


def _products(value: Value, at: Positions, found: dict[Product, set[Positions]]) -> bool:
    """Collect the products that `value` is made of elementwise and where; False when one is needed elsewhere."""
    match value:
        case Product():
            found.setdefault(value, set()).add(at)
        case View(arg=arg, rule=rule):
            return _products(arg, rule(at), found)
        case Pointwise(args=args):
            return all(_products(a, at, found) for a in args)
        case Gather(arg=arg, places=places):
            inside: dict[Product, set[Positions]] = {}
            return all(_products(v, at, inside) for v in (arg, *places)) and not inside
    return True


def _replaced(value: Value, old: Value, new: Value, memo: dict[Value, Value]) -> Value:
    """`value` with `old` exchanged for `new` below maps and views."""
    if value is old:
        return new
    if value not in memo:
        memo[value] = value
        if isinstance(value, View):
            arg = _replaced(value.arg, old, new, memo)
            memo[value] = value if arg is value.arg else replace(value, arg=arg, move=None)
        elif isinstance(value, Pointwise):
            args = tuple(_replaced(a, old, new, memo) for a in value.args)
            changed = any(a is not b for a, b in zip(args, value.args, strict=True))
            memo[value] = replace(value, args=args) if changed else value
    return memo[value]
