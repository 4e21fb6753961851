"""Kernels of attention: an online softmax over tiles of keys, the scores never stored (Dao et al., 2022)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial, reduce

from akg_core.design.graph.values import NARROW, Attention
from akg_core.design.kernels.builder import Emitted, KernelBuilder
from akg_core.design.kernels.descriptors import in_bulk, plain
from akg_core.design.kernels.masks import Bound, Comparison, bounds, opened
from akg_core.design.nest.nest import Head, Nest, Store
from akg_core.design.nest.terms import Constant, Result, Term
from akg_core.design.nest.tiling import ONE, WHOLE, Step, Tiling, choices_around, multiples_up_to, power_below
from akg_core.records import Traits
from akg_core.sketch.ast import (
    Assign,
    AxisList,
    Call,
    Expr,
    Hints,
    If,
    Name,
    Number,
    Statement,
    Text,
    Tiles,
    Whole,
    call,
)

LONGEST_WHOLE = 256  # dims of a head up to which queries stay at hand as one tile
FEW_TILES = 2  # of keys, among which those that a mask crosses are not told apart
_LN2 = math.log(2)
_BESIDE_ONE: Hints = (("beside_one", Number(True)),)  # the largest weight is 1, and all are rounded to 16 bits
_WEIGHED: Hints = (("nan_elsewhere", Number(True)),)  # a weight of a NaN is NaN, and so are all sums that it is in


def tile_attention(nest: Nest, traits: Traits) -> Tiling:
    """Tiles of queries and keys: results of a tile of queries stay on the chip, and all units have work."""
    *single, m, f, n, k = nest.axes
    width, widths = f.extent.example, f.extent.example + k.extent.example
    rows = min(power_below(traits.on_chip_bytes // (8 * (width + traits.dot_tile[1]))), traits.dot_tile[0])
    keys, stages, least, most = traits.dot_tile[1], 0, 1, 2
    programs = math.prod(a.extent.example for a in single)
    if nest.heads[0].args[3].dtype in NARROW:  # a step is short, so that the next ones must be under way meanwhile
        stages, least = 3 if widths > LONGEST_WHOLE // 2 else 2, 16
        keys = min(keys, power_below(traits.on_chip_bytes // (8 * widths)))
        if traits.attention_tile is not None:  # long results leave less room for scores
            (rows, wide), most = traits.attention_tile, 1
            keys = max(min(wide, power_below(2 * wide - width)), wide // 2)
            if width + keys > 2 * wide or not _shared_well(m.extent.example, rows, programs, traits.units):
                rows = power_below(rows)
            stages = 2
    rows = max(min(rows, power_below(2 * m.extent.example - 1)), 1)
    keys = max(min(keys, power_below(2 * n.extent.example - 1)), least)
    while rows > 4 * traits.lanes and programs * -(-m.extent.example // rows) < 2 * traits.units:
        rows //= 2
    depth = power_below(traits.dot_tile[2])
    inner = WHOLE if k.extent.example <= LONGEST_WHOLE and k.extent.constant else _around(depth)
    grid = (*((a, ONE) for a in single), (m, _around(rows, most)))
    loops = ((n, replace(_around(keys, most), stages=stages)), (k, inner))
    return Tiling(grid, (f,), loops, on_chip=False, joined=most == 1)


def _shared_well(queries: int, rows: int, programs: int, units: int) -> bool:
    """Whether tiles of `rows` queries give all units work, and an eighth of the rows at the most is none."""
    tiles = -(-queries // rows)
    return programs * tiles >= 2 * units and 8 * tiles * rows <= 9 * queries


def _around(size: int, most: int = 2) -> Step:
    """Sizes around one that is a power of two; where it is none, the multiples of the largest one that divides it."""
    if size & -size < size:
        return multiples_up_to(size)
    return choices_around(size, min(size, 16 if most > 1 else size // 2), most * size)


def emit_attention(nest: Nest, tiling: Tiling, name: str, stream: Callable[[Store], bool]) -> Emitted:
    """For each tile of queries: the softmax of its scores times the values, tile by tile along the keys."""
    *single, m, f, n, k = nest.axes
    names = dict(zip(single, ("b", "h", "c", "d", "g", "i", "j"), strict=False)) | {m: "m", f: "f", n: "n", k: "e"}
    e = KernelBuilder(nest, names, stream)
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
    carried = _Carried(Name(peak), Name(total), Name(acc))
    staged: Hints = (("stages", Number(keys.stages)),) if keys.stages else ()
    first, last = bounds(e, m, n, scores)
    runs = _runs(e, first, last, e.step(n, keys), n.extent.example > FEW_TILES * keys.default)
    if len(runs) > 1 and tiling.joined:
        runs = [_joined(first, last, e.step(n, keys))]
    for run in runs:
        shown = opened(nest.pool, scores, run.held)
        turn = _turn(e, head, shown, carried, tiling, whole, run)
        out.append(Tiles("n", e.extent(n), e.step(n, keys), tuple(turn), run.start, run.stop, False, staged))
        writer.known = dict(known)

    share = call("/", Name(acc), Name(total))
    if head.of.zeroed:
        share = Call("where", (call("==", Name(total), Number(0)), Number(0.0), share))
    result = writer.fresh("result")
    out.append(Assign((result,), share))
    e.bind(head.of, (Name(result), Name(result)))
    out = in_bulk(out, writer, [t for t in (query, key, right) if plain(t)])
    # Queries that see more keys than others take longer: they go first.
    hints: Hints = (("descending", Number(True)),) if last is not None else ()
    return e.kernel(name, e.in_grid(tiling.grid, out + e.stores(list(nest.stores)), hints=hints))


@dataclass(frozen=True, slots=True)
class _Carried:
    """What is known of the keys so far: the largest score, the sum of weights and of weighted values."""

    peak: Name
    total: Name
    acc: Name


@dataclass(frozen=True, slots=True)
class _Run:
    """Tiles of keys from `start` to `stop`, for all of which `held` holds, but for those that are `crossed`."""

    start: Expr | None
    stop: Expr | None
    held: tuple[Comparison, ...] = ()
    crossed: Expr | None = None


def _runs(e: KernelBuilder, first: Bound | None, last: Bound | None, step: Expr, many: bool) -> list[_Run]:
    """The tiles that a mask crosses at the start, those that it leaves alone, and those that it crosses at the end.

    With few tiles, or without a mask that says it, they are one run.
    """
    start, stop = (None if bound is None else bound.some for bound in (first, last))
    if not many or (first is not None and first.each is None) or (last is not None and last.each is None):
        return [_Run(start, stop)]
    runs: list[_Run] = []
    held = tuple(bound.by for bound in (first, last) if bound is not None)
    inner, outer = start, stop
    if first is not None and first.each is not None and start is not None:
        past = call("-", step, Number(1))
        inner = _multiple(call("+", first.each, past), step)
        runs.append(_Run(_multiple(start, step), inner if stop is None else call("minimum", inner, stop)))
    if last is not None and last.each is not None:
        outer = _multiple(last.each, step)
        outer = outer if inner is None else call("maximum", outer, inner)
    runs.append(_Run(inner, outer, held))
    return runs if outer is stop else [*runs, _Run(outer, stop)]


def _joined(first: Bound | None, last: Bound | None, step: Expr) -> _Run:
    """Whole tiles, of which those that a mask crosses are told apart as they come."""
    start = stop = None
    crossed: list[Expr] = []
    if first is not None and first.each is not None:
        start = _multiple(first.some, step)
        crossed.append(call("<", Call("begin", (Name("n"),)), first.each))
    if last is not None and last.each is not None:
        stop = _multiple(call("+", last.some, call("-", step, Number(1))), step)
        crossed.append(call(">", Call("end", (Name("n"),)), last.each))
    held = tuple(bound.by for bound in (first, last) if bound is not None)
    return _Run(start, stop, held, reduce(partial(call, "|"), crossed))


def _multiple(value: Expr, step: Expr) -> Expr:
    return call("*", call("//", value, step), step)


def _turn(
    e: KernelBuilder, head: Head, scores: Term, carried: _Carried, tiling: Tiling, whole: bool, run: _Run
) -> list[Statement]:
    """One tile of keys: its scores, their weights, and the values that these weigh."""
    assert isinstance(head.of, Attention)
    writer, (query, key, _, right) = e.writer, head.args
    body = _scores(e, head.of, query, key, tiling, whole)
    grown, base, weights, shrink = (writer.fresh(hint) for hint in ("grown", "base", "weights", "shrink"))
    product, scale = _scaled(scores)
    rounded = _BESIDE_ONE if right.dtype in NARROW else ()
    tile = None if product is None else writer.expression(product)
    if tile is None:
        body += writer.named(e.terms, [scores])
        tile = writer.assign(scores, body, "scores")
    if run.crossed is not None and isinstance(tile, Name):
        seen = reduce(partial(call, "&"), (call(op, writer.index(at), Number(0)) for at, op in run.held))
        hidden = Call("where", (seen, tile, Number(-math.inf)))
        body.append(If(run.crossed, (Assign((tile.id,), hidden),)))
    if product is None:
        highest: Expr = Call("reduce_max", (tile, Name("n")), _WEIGHED)
        weighed = Call("exp", (call("-", tile, Name(base)),), rounded)
    else:  # a number for the row in the place of one for each score, and one factor for both scale and exponent
        highest = Call("reduce_max", (tile, Name("n")), _WEIGHED)
        highest = highest if scale == 1 else call("*", highest, Number(scale))
        powers = call("-", call("*", tile, Number(scale / _LN2)), call("*", Name(base), Number(1 / _LN2)))
        weighed = Call("exp2", (powers,), rounded)
    body.append(Assign((grown,), call("maximum", carried.peak, highest)))
    # Where all scores so far are -inf, the difference of infinities would be NaN.
    infinite = call("==", Name(grown), Number(-math.inf))
    body.append(Assign((base,), Call("where", (infinite, Number(0.0), Name(grown)))))
    body.append(Assign((weights,), weighed))
    body.append(Assign((shrink,), Call("exp", (call("-", carried.peak, Name(base)),), rounded)))
    added = Call("reduce_sum", (Name(weights), Name("n")))
    body.append(Assign((carried.total.id,), call("+", call("*", carried.total, Name(shrink)), added)))
    values = writer.assign(right, body, "values")
    shares: Expr = Name(weights)
    if right.dtype in NARROW:
        shares = Call("cast", (shares, Text(right.dtype)))
    options = (("over", Name("n")), ("into", call("*", carried.acc, Name(shrink))))
    body.append(Assign((carried.acc.id,), Call("dot", (shares, values), options)))
    body.append(Assign((carried.peak.id,), Name(grown)))
    return body


def _scaled(scores: Term) -> tuple[Term | None, float]:
    """The product that scores are a positive multiple of, and the factor; None when they are made in another way."""
    match scores.op, scores.args:
        case "result", ():
            return scores, 1.0
        case "*", (Result() as product, Constant(number=number)) if number > 0:
            return product, float(number)
    return None, 1.0


def _scores(e: KernelBuilder, head: Attention, query: Term, key: Term, tiling: Tiling, whole: bool) -> list[Statement]:
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
