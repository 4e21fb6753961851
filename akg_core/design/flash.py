"""Kernels of attention: an online softmax over tiles of keys, the scores never stored (Dao et al., 2022)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from akg_core.design.contraction import extreme
from akg_core.design.emit import Emission, Emitted
from akg_core.design.fold import call
from akg_core.design.index import Axis, Index, position
from akg_core.design.nest import Nest, Store
from akg_core.design.terms import Constant, Place, Result, Term
from akg_core.design.tiling import ONE, WHOLE, Step, Tiling, choices_around, power_below
from akg_core.design.values import Attention
from akg_core.records import Traits
from akg_core.sketch.ast import Assign, AxisList, Binary, Call, Expr, Name, Number, Statement, Text, Tiles, Whole

NARROW = ("f16", "bf16")
LONGEST_WHOLE = 256  # dims of a head up to which queries stay at hand as one tile
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def tile_attention(nest: Nest, traits: Traits) -> Tiling:
    """Tiles of queries and of keys so that the results of a tile of queries stay near, with work for all units."""
    *single, m, f, n, k = nest.axes
    rows = traits.near_bytes // (8 * (f.extent.example + traits.dot_tile[1]))
    rows = max(min(power_below(rows), traits.dot_tile[0], power_below(2 * m.extent.example - 1)), 1)
    programs = math.prod(a.extent.example for a in single)
    while rows > 4 * traits.lanes and programs * -(-m.extent.example // rows) < 2 * traits.units:
        rows //= 2
    keys = min(traits.dot_tile[1], power_below(2 * n.extent.example - 1))
    depth = power_below(traits.dot_tile[2])
    inner = WHOLE if k.extent.example <= LONGEST_WHOLE and k.extent.constant else _around(depth)
    grid = (*((a, ONE) for a in single), (m, _around(rows)))
    return Tiling(grid, (f,), ((n, _around(keys)), (k, inner)), near=False)


def _around(size: int) -> Step:
    return choices_around(size, min(size, 16), 2 * size)


def emit_attention(nest: Nest, tiling: Tiling, name: str, stream: Callable[[Store], bool]) -> Emitted:
    """For each tile of queries: the softmax of its scores times the values, tile by tile along the keys."""
    *single, m, f, n, k = nest.axes
    names = dict(zip(single, ("b", "h", "c", "d", "g", "i", "j"), strict=False)) | {m: "m", f: "f", n: "n", k: "e"}
    e = Emission(nest, names, stream)
    (head,) = nest.heads
    assert isinstance(head.of, Attention)
    query, key, scores, right = head.args
    (_, keys), (_, inner) = tiling.loops
    dtype, writer = scores.dtype, e.writer
    whole = inner is WHOLE
    out: list[Statement] = [Whole("f", e.extent(f))]
    if whole:
        out.append(Whole("e", e.extent(k)))
        out += writer.hoisted(e.terms, [query], frozenset((n,)))
        writer.assign(query, out, "queries")
    peak, total, acc = (writer.fresh(hint) for hint in ("peak", "total", "acc"))
    kept = tuple(names[a] for a in (*single, m))
    rows, results = AxisList(kept), AxisList((*kept, "f"))
    out.append(Assign((peak,), Call("full", (rows, Number(-math.inf), Text(dtype)))))
    out.append(Assign((total,), Call("zeros", (rows, Text(dtype)))))
    out.append(Assign((acc,), Call("zeros", (results, Text(dtype)))))
    known = dict(writer.known)

    body = _scores(e, head.of, query, key, tiling, whole)
    body += writer.named(e.terms, [scores])
    tile = writer.assign(scores, body, "scores")
    grown, base, weights, shrink = (writer.fresh(hint) for hint in ("grown", "base", "weights", "shrink"))
    body.append(Assign((grown,), call("maximum", Name(peak), Call("reduce_max", (tile, Name("n"))))))
    # Where all scores so far are -inf, the difference of infinities would be NaN.
    infinite = call("==", Name(grown), Number(-math.inf))
    body.append(Assign((base,), Call("where", (infinite, Number(0.0), Name(grown)))))
    body.append(Assign((weights,), call("exp", call("-", tile, Name(base)))))
    body.append(Assign((shrink,), call("exp", call("-", Name(peak), Name(base)))))
    added = Call("reduce_sum", (Name(weights), Name("n")))
    body.append(Assign((total,), call("+", call("*", Name(total), Name(shrink)), added)))
    values = writer.assign(right, body, "values")
    shares: Expr = Name(weights)
    if right.dtype in NARROW:
        shares = Call("cast", (shares, Text(right.dtype)))
    options = (("over", Name("n")), ("into", call("*", Name(acc), Name(shrink))))
    body.append(Assign((acc,), Call("dot", (shares, values), options)))
    body.append(Assign((peak,), Name(grown)))
    start, stop = _bounds(e, m, n, scores)
    out.append(Tiles("n", e.extent(n), e.step(n, keys), tuple(body), start, stop))

    writer.known = known
    share = call("/", Name(acc), Name(total))
    if head.of.zeroed:
        share = Call("where", (call("==", Name(total), Number(0)), Number(0.0), share))
    result = writer.fresh("result")
    out.append(Assign((result,), share))
    e.bind(head.of, (Name(result), Name(result)))
    return e.kernel(name, e.in_grid(tiling.grid, out + e.stores(list(nest.stores))))


def _scores(e: Emission, head: Attention, query: Term, key: Term, tiling: Tiling, whole: bool) -> list[Statement]:
    """The product of queries and keys of a tile, in one step or tile by tile along the head."""
    writer, product = e.writer, e.writer.fresh("product")
    out: list[Statement] = []
    if whole:
        operands = (writer.expression(query), writer.assign(key, out, "keys"))
        out.append(Assign((product,), Call("dot", operands, (("over", Name("e")),))))
    else:
        known = dict(writer.known)
        inner = writer.named(e.terms, [query, key])
        operands = (writer.expression(query), writer.expression(key))
        options = (("over", Name("e")), ("into", Name(product)))
        inner.append(Assign((product,), Call("dot", operands, options)))
        writer.known = known
        _, (k, step) = tiling.loops
        axes = AxisList((*(e.axis(a) for a, _ in tiling.grid), "n"))
        out.append(Assign((product,), Call("zeros", (axes, Text(head.inner.dtype)))))
        out.append(Tiles("e", e.extent(k), e.step(k, step), tuple(inner)))
    for term in e.terms:
        if isinstance(term, Result) and term.head is head and term.part == 1:
            writer.known[term] = Name(product)
    return out


# --- keys that a mask by positions leaves out for every query of a tile -------------------------------


def _bounds(e: Emission, m: Axis, n: Axis, scores: Term) -> tuple[Expr | None, Expr | None]:
    """The first key that any query at hand sees, and one past the last; None when no mask says."""
    start = stop = None
    for distance, op in _visible(scores):
        # distance `op` 0 holds for every score that is not -inf.
        factor = distance.coefficient(n)
        rest = None if factor is None else position(n) - distance if factor == 1 else position(n) + distance
        if rest is None or factor is None or factor.constant not in (1, -1) or rest.axes() - {m}:
            continue
        op = op if factor == 1 else _MIRRORED[op]
        bound = extreme(e, rest, high=op in ("<", "<="))
        if bound is None:
            continue
        if op in ("<", "<=") and stop is None:
            stop = bound if op == "<" else _shifted(bound, 1)
        elif op in (">", ">=") and start is None:
            start = call("maximum", bound if op == ">=" else _shifted(bound, 1), Number(0))
    return start, stop


def _shifted(value: Expr, by: int) -> Expr:
    if isinstance(value, Binary) and value.op in ("+", "-") and isinstance(value.right, Number):
        by += int(value.right.value) * (1 if value.op == "+" else -1)
        value = value.left
    return value if by == 0 else call("+" if by > 0 else "-", value, Number(abs(by)))


def _visible(scores: Term) -> Iterator[tuple[Index, str]]:
    """Comparisons (difference, operator) with 0 that hold wherever scores are not -inf."""
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


def _holding(condition: Term, truth: bool) -> Iterator[tuple[Index, str]]:
    """What must hold of positions for `condition` to be `truth`."""
    match condition.op, condition.args:
        case "not", (inner,):
            yield from _holding(inner, not truth)
        case "&", parts if truth:
            for part in parts:
                yield from _holding(part, True)
        case "|", parts if not truth:
            for part in parts:
                yield from _holding(part, False)
        case (("<" | "<=" | ">" | ">="), (left, right)):
            a, b = (_index(t) for t in (left, right))
            if a is not None and b is not None:
                yield a - b, condition.op if truth else _NEGATED[condition.op]


def _index(term: Term) -> Index | None:
    if isinstance(term, Place):
        return term.index
    return Index([((), int(term.number))]) if isinstance(term, Constant) and isinstance(term.number, int) else None
