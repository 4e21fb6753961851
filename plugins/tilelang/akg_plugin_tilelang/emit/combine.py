"""What sees a whole axis: reductions, scans, picks, products. Masks are in what they get, where these are needed."""

from __future__ import annotations

import math
from collections.abc import Sequence

from akg_core.plugin.lower import Op, dtype_of
from akg_core.plugin.sketch import DTYPES, INDEX, Binary, Name, Number, is_float, numerics, walk
from akg_plugin_tilelang.emit.region import RegionPrinter
from akg_plugin_tilelang.emit.scans import run_along
from akg_plugin_tilelang.emit.terms import HELD, Term, cast, literal, stored, strong

LAST = 2**31 - 1  # a position behind all others
VECTOR = 4  # neighbours that a thread loads at once


def reduce(printer: RegionPrinter, op: Op) -> None:
    """A reduction, an argreduction or a pick."""
    name, axes = printer.hold(op)
    if op.function in ("first", "last"):
        printer.fill(name, axes, stored(_picked(printer, op), op.result.dtype))
        return
    if op.finds_place:
        printer.fill(name, axes, _argreduced(printer, op))
        return
    function, source = op.joins, dtype_of(op.operand)
    if function in ("any", "all"):
        truth = cast(cast(strong(printer.terms.term(op.operand)), "bool"), "i32")
        printer.fill(name, axes, folded(printer, op, truth, "max" if function == "any" else "min"))
        return
    held = numerics.reduction_dtype(op.function, source)
    term = cast(strong(printer.terms.term(op.operand)), held)
    if function == "prod":
        made = _product(printer, op, term)
    elif function == "sum":
        made = folded(printer, op, term, function)
    else:
        made = _extreme(printer, op, term, function)
    printer.fill(name, axes, stored(cast(made, op.result.dtype), op.result.dtype))


def folded(printer: RegionPrinter, op: Op, term: Term, function: str) -> Term:
    """A term of the axes of an op's source, reduced over those that it goes over, the last first."""
    axes = _as_it_lies(printer, op)
    tile = tile_of(printer, term, axes, "fragment")
    if not tile:
        tile = printer.allocate(printer.body.unique("part"), axes, HELD[term.dtype])
        printer.fill(tile, axes, term)
    over = [axis for axis in axes if axis in op.over]
    _reduce_in_threads(printer, tile, axes, over)
    for number, axis in enumerate(reversed(over)):
        if number:  # of a fragment that lies as a product or a reduction left it, TileLang does not reduce each axis
            passed = printer.allocate(printer.body.unique("passed"), axes, HELD[term.dtype], "shared")
            printer.fill(passed, axes, Term(printer.terms.at(tile, axes), term.dtype))
            tile = passed
        place = axes.index(axis)
        axes = tuple(each for each in axes if each != axis)
        smaller = printer.allocate(printer.body.unique(function), axes, HELD[term.dtype])
        printer.say(f"T.reduce_{function}({tile}, {smaller}, dim={place})")
        tile = smaller
    return Term(printer.terms.at(tile, axes), term.dtype)


def _as_it_lies(printer: RegionPrinter, op: Op) -> tuple[str, ...]:
    """The axes of what an op reduces: as those of a tile that it is made of, where that has an order of its own."""
    axes = printer.ordered(printer.body.axes_of(op.operand) | set(op.over))
    orders = (printer.laid.get(node.id, ()) for node in walk(op.operand) if isinstance(node, Name))
    return next((order for order in orders if sorted(order) == sorted(axes)), axes)


def _reduce_in_threads(printer: RegionPrinter, tile: str, axes: Sequence[str], over: Sequence[str]) -> None:
    """Give each thread all that its results are reduced from, where lanes run over results and all threads have one.

    TileLang would give a thread neighbours in memory, and reduce by way of shared memory.
    """
    lanes = [printer.body.axes[axis].lanes or 0 for axis in axes]
    kept = math.prod(n for n, axis in zip(lanes, axes, strict=True) if axis not in over)
    each = kept // printer.threads
    if not math.prod(lanes) or kept % printer.threads or axes[-1] in over or printer.products:
        return
    places = [f"i{n}" for n, _ in enumerate(axes)]
    sides = [[(p, n) for p, n, a in zip(places, lanes, axes, strict=True) if (a in over) == of] for of in (False, True)]
    result, term = map(_flat, sides)
    run = min(each, VECTOR)
    thread = f"{result} // {run} % {printer.threads}" if run > 1 else f"{result} % {printer.threads}"
    place = term if each == run else f"({term} * {each // run} + {result} // {run * printer.threads})"
    place = f"{place} * {run} + {result} % {run}" if run > 1 else place
    printer.distribute(tile, axes, places, thread, place)


def _flat(places: Sequence[tuple[str, int]]) -> str:
    """The number of a place along several dimensions, the last fastest."""
    (text, _), *rest = places
    for name, count in rest:
        text = f"({text} * {count} + {name})"
    return text


def tile_of(printer: RegionPrinter, term: Term, axes: Sequence[str], scope: str) -> str:
    """The name of the tile whose elements a term is, if it lies in such memory; "" where it does not."""
    name = term.text.partition("[")[0]
    return name if printer.scopes.get(name) == scope and term.text == printer.terms.at(name, axes) else ""


def _key(printer: RegionPrinter, term: Term, function: str) -> Term:
    """What compares as whole numbers as the term does, where a NaN is beyond all others."""
    if not is_float(term.dtype):
        return term if term.dtype in ("i32", "i64") else cast(term, "i32")
    term = term if term.dtype == "f64" else cast(term, "f32")
    whole = "i64" if term.dtype == "f64" else "i32"
    beyond = DTYPES[whole].highest if function == "max" else DTYPES[whole].lowest
    return Term(printer.terms.call("ordered", term, literal(beyond, whole)), whole)


def _extreme(printer: RegionPrinter, op: Op, term: Term, function: str) -> Term:
    """The largest or smallest. TileLang drops NaNs of floats: where these matter, it compares bits as whole numbers."""
    if op.hints.get("nan_elsewhere") == Number(True) and term.dtype in ("f32", "f64"):
        return folded(printer, op, term, function)
    found = folded(printer, op, _key(printer, term, function), function)
    if not is_float(term.dtype):
        return cast(found, term.dtype)
    return cast(Term(printer.terms.call("restored", found), "f64" if term.dtype == "f64" else "f32"), term.dtype)


def _argreduced(printer: RegionPrinter, op: Op) -> Term:
    """The first position of the extreme: the least of those that equal it."""
    (axis,), function = op.over, op.joins
    key = _key(printer, strong(printer.terms.term(op.operand)), function)
    best = folded(printer, op, key, function)
    position = printer.terms.tiles[axis].position()
    found = Term(f"T.if_then_else({key} == {best}, T.cast({position}, 'int32'), {LAST})", "i32")
    return cast(folded(printer, op, found, "min"), "i64")


def _picked(printer: RegionPrinter, op: Op) -> Term:
    """The value at one position: the only lane that is not zero in a sum."""
    (name,) = op.over
    term, axis = strong(printer.terms.term(op.operand)), printer.body.axes[name]
    if name not in printer.body.axes_of(op.operand):
        return term
    last = Binary("-", axis.end, Number(1, type=INDEX), type=INDEX)
    wanted = printer.terms.term(axis.begin if op.function == "first" else last)
    dtype = {"bool": "i32", "i8": "i32", "i16": "i32", "u8": "i32", "bf16": "f32", "f16": "f32"}.get(
        term.dtype, term.dtype
    )
    here = f"{printer.terms.tiles[name].position()} == {wanted.operand}"
    kept = Term(f"T.if_then_else({here}, {cast(term, dtype)}, {literal(0, dtype)})", dtype)
    return cast(folded(printer, op, kept, "sum"), op.result.dtype)


def _product(printer: RegionPrinter, op: Op, term: Term) -> Term:
    """A product over axes: the last of running products over one after the other."""
    axes = printer.ordered(printer.body.axes_of(op.operand) | set(op.over))
    tile = printer.allocate(printer.body.unique("part"), axes, HELD[term.dtype], "shared")
    printer.fill(tile, axes, term)
    for axis in op.over:
        run_along(printer, tile, axes, axis, "prod", term.dtype, reverse=False)
    places = (f"{printer.lanes(a)} - 1" if a in op.over else printer.terms.lanes[a] for a in axes)
    return Term(f"{tile}[{', '.join(places)}]", term.dtype)


def regroup(printer: RegionPrinter, op: Op) -> None:
    """The lanes of a tile as those of two other axes, by way of shared memory."""
    wide, tall, positions, channels = op.over
    for each in (positions, channels):
        axis = printer.body.axes[each]
        printer.open(axis, printer.terms.term(axis.begin), printer.terms.term(axis.end))
    dtype = dtype_of(op.operand)
    tile = printer.shared("regrouped", (wide, tall), HELD[dtype], " + 1")
    printer.fill(tile, (wide, tall), strong(printer.terms.term(op.operand)))
    name, axes = printer.hold(op)
    printer.regrouped.add(name)
    lanes = [printer.terms.lanes.get(n, "0") for n in (positions, channels)]
    flat = f"({lanes[0]} * {printer.lanes(channels)} + {lanes[1]})"
    printer.fill(name, axes, Term(f"{tile}[{flat} // {printer.lanes(tall)}, {flat} % {printer.lanes(tall)}]", dtype))
