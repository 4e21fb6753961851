"""What sees a whole axis: reductions, scans, picks, products. Masks are in what they get, where these are needed."""

from __future__ import annotations

import math
from collections.abc import Sequence

from akg_core.plugin.lower import LOOSE, Op
from akg_core.plugin.sketch import is_float, numerics, promote
from akg_core.plugin.tile import precision_of
from akg_triton.dialect import Dialect
from akg_triton.emit.expression import ExpressionPrinter
from akg_triton.emit.terms import Term, cast, literal, strong, wide


def held_dtype(function: str, dtype: str) -> str:
    """The dtype in which Triton combines values: nothing of bf16 or bool."""
    found = numerics.reduction_dtype(function, dtype)
    return {"bf16": "f32", "bool": "i32"}.get(found, found)


def combiner(terms: ExpressionPrinter, function: str, dtype: str) -> str:
    """The name of the function by which Triton combines two values."""
    extremes = ("maximum", "minimum") if is_float(dtype) else ("larger", "smaller")
    found = {"max": extremes[0], "min": extremes[1], "prod": "multiply"}.get(function, function)
    terms.needs.add(found)
    return found


def folded(terms: ExpressionPrinter, function: str, tile: Term, axes: Sequence[str], ordered: bool = False) -> Term:
    """A tile reduced over `axes`, last dimension first; `ordered`: its lanes stay where they are."""
    text, left = tile.text, list(tile.axes)
    places = sorted((left.index(axis) for axis in axes), reverse=True)
    if len(places) == len(left) and function == "sum" and not ordered:
        return Term(f"tl.sum({text})", tile.dtype)
    for place in places:
        if function == "sum":
            text = f"tl.sum({text}, axis={place})"
        else:
            text = f"tl.reduce({text}, {place}, {combiner(terms, function, tile.dtype)})"
        left.pop(place)
    return Term(text, tile.dtype, tuple(left))


def reduced(terms: ExpressionPrinter, op: Op) -> Term:
    """What a reduction, an argreduction or a pick makes."""
    if op.finds_place:
        return _argreduced(terms, op)
    if op.function in ("first", "last"):
        return _picked(terms, op)
    function = op.joins
    tile = strong(terms.term(op.operand))
    if function in ("any", "all"):
        bits = terms.spread(cast(cast(tile, "bool"), "i32"), op.over)
        made = folded(terms, "max" if function == "any" else "min", bits, op.over)
        return Term(f"{made} != 0", "bool", made.axes, LOOSE)
    tile = terms.spread(cast(wide(tile), held_dtype(op.function, tile.dtype)), op.over)
    return cast(folded(terms, function, tile, op.over, "ordered" in op.hints), op.result.dtype)


def _argreduced(terms: ExpressionPrinter, op: Op) -> Term:
    (axis,) = op.over
    tile = terms.spread(strong(terms.term(op.operand)), [axis])
    tile = cast(tile, held_dtype("reduce_max", tile.dtype))
    place, position = tile.axes.index(axis), terms.term(op.second)
    at = f"tl.broadcast_to({terms.aligned(position, tile.axes)}, {terms.shape(tile.axes)})"
    rest = tuple(name for name in tile.axes if name != axis)
    if not terms.dialect.pairs:
        terms.needs.add(f"{op.function}_along")
        text = f"{op.function}_along({tile}, {at}, {place})"
    else:
        text = f"tl.reduce(({tile}, {at}), {place}, {combiner(terms, op.function, tile.dtype)})[1]"
    return Term(text, "i64", rest, narrow=position.narrow)


def _picked(terms: ExpressionPrinter, op: Op) -> Term:
    """The value at one position: the only lane that is not made zero before a sum."""
    (name,) = op.over
    tile = strong(terms.term(op.operand))
    if name not in tile.axes:
        return tile
    dtype = {"bool": "i32", "i8": "i32", "i16": "i32", "u8": "i32", "bf16": "f32"}.get(tile.dtype, tile.dtype)
    chosen = terms.term(op.second)
    (here, value), axes = terms.fitted([chosen, cast(wide(tile), dtype)])
    kept = Term(f"tl.where({here}, {value}, {literal(0, dtype)})", dtype, axes)
    return cast(folded(terms, "sum", kept, [name]), op.result.dtype)


def scanned(terms: ExpressionPrinter, op: Op) -> Term:
    """What a scan makes."""
    function, (axis,) = op.joins, op.over
    tile = strong(terms.term(op.operand))
    tile = terms.spread(cast(wide(tile), held_dtype(op.function, tile.dtype)), [axis])
    place, way = tile.axes.index(axis), ", reverse=True" if op.reverse else ""
    if function in ("sum", "prod"):
        text = f"tl.cum{function}({tile}, axis={place}{way})"
    else:
        text = f"tl.associative_scan({tile}, {place}, {combiner(terms, function, tile.dtype)}{way})"
    return cast(tile.with_text(text), op.result.dtype)


def ordered(terms: ExpressionPrinter, op: Op, threads: int) -> Term:
    """A tile in order along an axis, for which Triton wants that last; `threads`: of a program."""
    tile = strong(terms.term(op.operand))
    places, place = list(range(len(tile.axes))), tile.axes.index(op.over[0])
    places[place], places[-1] = places[-1], places[place]
    last = place == places[place]
    text = _in_order(terms, op, tile.text if last else f"tl.permute({tile}, {places})", threads)
    return tile.with_text(text if last else f"tl.permute({text}, {places})")


def _in_order(terms: ExpressionPrinter, op: Op, text: str, threads: int) -> str:
    """A tile in order along its last dimension, op's axis, by the network that suits so many threads."""
    own, lanes = (math.prod(terms.body.axes[name].lanes or 0 for name in axes) for axes in (op.over, op.result.axes))
    if not lanes:  # a launch knows how many
        return f"tl.sort({text})"
    bits, dims = own.bit_length() - 1, lanes.bit_length() - 1
    function = "merged" if "bitonic" in op.hints else "in_order"
    terms.needs.add(function)
    free = "" if function == "merged" else f", {min(threads.bit_length() - 1, bits)}"
    return f"{function}({text}, {bits}, {dims}{free})"


# --- products ---


def multiplied(terms: ExpressionPrinter, op: Op, dialect: Dialect, promoted: bool) -> Term:
    """What a product makes, with what it is added to. `promoted`: it is summed apart, and added in its dtype."""
    into = terms.values[op.result.name] if op.accumulate else None
    a, b = (strong(terms.term(expr)) for expr in (op.operand, op.second))
    dtype = numerics.dot_dtype(a.dtype, b.dtype)
    if dialect.byte_products and a.dtype == b.dtype == "i8" and op.result.dtype == "i32":
        return _dot(terms, op, dialect, (a, b), "i32", into, promoted=False)
    if not is_float(dtype):
        pair = [cast(wide(t), dtype) for t in (a, b)]
        product = folded(terms, "sum", terms.joined("*", pair, dtype), op.over)
        return _added(terms, into, product, op.result.dtype)
    meeting = promote(a.dtype, b.dtype)
    return _dot(terms, op, dialect, (cast(a, meeting), cast(b, meeting)), dtype, into, promoted)


def _dot(
    terms: ExpressionPrinter,
    op: Op,
    dialect: Dialect,
    pair: tuple[Term, Term],
    dtype: str,
    into: Term | None,
    promoted: bool,
) -> Term:
    """`tl.dot` of [batch, rows, over] and [batch, over, columns]."""
    a, b = pair
    every, over = terms.ordered([*a.axes, *b.axes]), list(op.over)
    if every.index(_own(a, b)[0]) > every.index(_own(b, a)[0]):
        a, b = b, a  # the result's dimensions are rows, then columns
    rows, columns = _own(a, b), _own(b, a)
    batch = [n for n in a.axes if n in b.axes and n not in over]
    left, right = _matrix(terms, a, batch, rows, over), _matrix(terms, b, batch, over, columns)
    result = (*batch, *rows, *columns)
    plain = len(batch) <= 1 and len(rows) == len(columns) == 1 and result == terms.ordered(result)
    options = _options(dialect, a.dtype, dtype, precision_of(op))
    alone = "promote" in op.hints
    if into is not None and into.dtype == dtype and plain and not (promoted or alone):
        text = f"tl.dot({', '.join([left, right, terms.aligned(into, result), *options])})"
        return Term(text, dtype, result)
    if alone or (promoted and into is not None):
        options.append("max_num_imprecise_acc=1")  # keeps the compiler from adding inside of the product
    product = _restored(terms, f"tl.dot({', '.join([left, right, *options])})", dtype, batch, rows, columns)
    return _added(terms, into, product, op.target.dtype if op.target else dtype)


def _options(dialect: Dialect, dtype: str, held: str, precision: str) -> list[str]:
    if dtype == "f32":
        return [f'input_precision="{dialect.precisions[precision]}"']
    return ['input_precision="ieee"', "out_dtype=tl.float64"] if held == "f64" else []


def _added(terms: ExpressionPrinter, into: Term | None, product: Term, dtype: str) -> Term:
    return cast(product, dtype) if into is None else terms.joined("+", [into, cast(product, into.dtype)], into.dtype)


def _own(term: Term, other: Term) -> list[str]:
    return [name for name in term.axes if name not in other.axes]


def _matrix(terms: ExpressionPrinter, tile: Term, batch: list[str], first: list[str], second: list[str]) -> str:
    """The tile with its dimensions in three groups, each made one; batch may be none."""
    text = _permuted(tile.text, tile.axes, [*batch, *first, *second])
    if len(batch) <= 1 and len(first) == len(second) == 1:
        return text
    sizes = [_count(terms, group) for group in (batch, first, second) if group]
    return f"tl.reshape({text}, [{', '.join(sizes)}])"


def _restored(
    terms: ExpressionPrinter, text: str, dtype: str, batch: list[str], rows: list[str], columns: list[str]
) -> Term:
    """A product with its groups of dimensions taken apart again and put in order."""
    axes = (*batch, *rows, *columns)
    if len(batch) > 1 or len(rows) > 1 or len(columns) > 1:
        text = f"tl.reshape({text}, [{', '.join(_count(terms, [n]) for n in axes)}])"
    order = terms.ordered(axes)
    return Term(_permuted(text, axes, order), dtype, order)


def _permuted(text: str, axes: Sequence[str], wanted: Sequence[str]) -> str:
    if list(axes) == list(wanted):
        return text
    if len(axes) == 2:
        return f"tl.trans({text})"
    return f"tl.permute({text}, {[axes.index(name) for name in wanted]})"


def _count(terms: ExpressionPrinter, names: Sequence[str]) -> str:
    known = [terms.body.axes[name].lanes for name in names]
    lanes = [number for number in known if number is not None]
    return str(math.prod(lanes)) if len(lanes) == len(names) else " * ".join(map(terms.lanes, names))
