"""What a mask by positions hides of a tile of scores: tiles that are hidden are left out, others need no mask.

A comparison of positions that holds wherever scores are not -inf, such as `n - m <= 0` of causal attention or those of
a sliding window, bounds the keys that any query of a tile sees, and those that all of its queries see.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from akg_core.design.algebra.index import Axis, Index, position
from akg_core.design.kernels.builder import KernelBuilder
from akg_core.design.kernels.contraction import extreme, shifted
from akg_core.design.nest.terms import Constant, Place, Term, TermTable
from akg_core.sketch.ast import Binary, Expr, Number, call

Comparison = tuple[Index, str]  # `difference op 0`

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}


@dataclass(frozen=True, slots=True)
class Bound:
    """Where keys begin or end to be seen: for `some` query of a tile, and for `each` of them; `by` which comparison."""

    some: Expr
    each: Expr | None
    by: Comparison


def bounds(e: KernelBuilder, m: Axis, n: Axis, scores: Term) -> tuple[Bound | None, Bound | None]:
    """The first key that queries at hand see, and one past the last; None when no mask says."""
    first = last = None
    for by in _visible(scores):
        distance, op = by
        factor = distance.coefficient(n)
        rest = None if factor is None else position(n) - distance if factor == 1 else position(n) + distance
        if rest is None or factor is None or factor.constant not in (1, -1) or rest.axes() - {m}:
            continue
        op = op if factor == 1 else _MIRRORED[op]
        below = op in ("<", "<=")
        some, each = (extreme(e, rest, high=high == below) for high in (True, False))
        if some is None:
            continue
        shift = 1 if op in ("<=", ">") else 0
        some, each = _shifted(some, shift), None if each is None else _shifted(each, shift)
        limits = rest.bounds()
        if limits is None or not (limits[0] + shift).nonnegative:
            each = None if each is None else call("maximum", each, Number(0))
        if below and last is None:
            last = Bound(some, each, by)
        elif not below and first is None:
            first = Bound(call("maximum", some, Number(0)), each, by)
    return first, last


def _shifted(value: Expr, by: int) -> Expr:
    if isinstance(value, Binary) and value.op in ("+", "-") and isinstance(value.right, Number):
        by += int(value.right.value) * (1 if value.op == "+" else -1)
        value = value.left
    return shifted(value, by)


def _visible(scores: Term) -> Iterator[Comparison]:
    """Comparisons that hold wherever scores are not -inf."""
    match scores.op, scores.args:
        case "cast", (inner,):
            yield from _visible(inner)
        case "+", (left, right):
            yield from _visible(left)
            yield from _visible(right)
        case "where", (condition, yes, no):
            if _infinite(no):
                yield from _holding(condition, True)
                yield from _visible(yes)
            elif _infinite(yes):
                yield from _holding(condition, False)
                yield from _visible(no)


def _infinite(term: Term) -> bool:
    return isinstance(term, Constant) and term.number == -math.inf


def _holding(condition: Term, truth: bool) -> Iterator[Comparison]:
    """What must hold of positions for `condition` to be `truth`."""
    found = _comparison(condition, truth)
    if found is not None:
        yield found
    else:
        for part, wanted in _parts(condition, truth):
            yield from _holding(part, wanted)


def _parts(condition: Term, truth: bool) -> list[tuple[Term, bool]]:
    """What must all hold, or not, for `condition` to be `truth`; nothing where it is made in another way."""
    if condition.op == "not":
        return [(condition.args[0], not truth)]
    return [(part, truth) for part in condition.args] if condition.op == ("&" if truth else "|") else []


def _comparison(condition: Term, truth: bool) -> Comparison | None:
    if condition.op not in _NEGATED:
        return None
    left, right = map(_index, condition.args)
    if left is None or right is None:
        return None
    return left - right, condition.op if truth else _NEGATED[condition.op]


def _index(term: Term) -> Index | None:
    if isinstance(term, Place):
        return term.index
    return Index([((), int(term.number))]) if isinstance(term, Constant) and isinstance(term.number, int) else None


def opened(pool: TermTable, scores: Term, held: tuple[Comparison, ...]) -> Term:
    """`scores` where these comparisons hold everywhere."""
    match scores.op, scores.args:
        case "cast", (inner,):
            return pool.cast(opened(pool, inner, held), scores.dtype)
        case "+", args:
            left, right = (opened(pool, a, held) for a in args)
            if (left, right) == args:
                return scores
            zero = [isinstance(t, Constant) and t.number == 0 for t in (left, right)]
            return right if zero[0] else left if zero[1] else pool.apply("+", (left, right), scores.dtype, scores.name)
        case "where", (condition, yes, no) if _infinite(no) or _infinite(yes):
            truth = _infinite(no)
            shown = opened(pool, yes if truth else no, held)
            if _holds(condition, truth, held):
                return shown
            args = (condition, shown, no) if truth else (condition, yes, shown)
            return pool.apply("where", args, scores.dtype, scores.name)
    return scores


def _holds(condition: Term, truth: bool, held: tuple[Comparison, ...]) -> bool:
    """Whether `condition` is `truth` where these comparisons hold."""
    if _comparison(condition, truth) in held:
        return True
    parts = _parts(condition, truth)
    return bool(parts) and all(_holds(part, wanted, held) for part, wanted in parts)
