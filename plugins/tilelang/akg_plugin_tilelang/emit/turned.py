"""Tiles that lie in memory in another order than the program holds them, which go by way of shared memory."""

from __future__ import annotations

from collections.abc import Sequence

from akg_core.plugin.lower import Op
from akg_core.plugin.sketch import Name
from akg_core.plugin.tile import accesses
from akg_plugin_tilelang.emit.reads import WHOLE, is_loaded, run_of
from akg_plugin_tilelang.emit.terms import HELD, Term
from akg_plugin_tilelang.emit.tiles import TilePrinter

CLOSE = 4  # elements of f32 from one to the next of which two lie in a sector of memory
RUN = 8  # neighbours in memory from which on it pays that neighbouring threads store them
REQUEST = 32  # elements that the threads of a warp load at once
FEWER = 16  # how many times fewer rows a request must reach, that a tile is written and read once more for it


def runs_in_memory(printer: TilePrinter, op: Op, axes: Sequence[str]) -> dict[str, int]:
    """How many neighbours along each axis lie in a row where an op loads or stores; {} where it does so twice.

    Those of which a few lie in a sector of memory count as many times fewer.
    """
    found = accesses(printer.body, [op])
    if len(found) != 1:
        return {}
    (one,) = found
    apart = {axis: step.constant for axis, step in one.steps.items() if step is not None}
    close = {axis: WHOLE // step for axis, step in apart.items() if step is not None and 0 < step <= CLOSE}
    return {axis: close.get(axis) or run_of(one.last, axis) for axis in axes}


def as_in_memory(printer: TilePrinter, op: Op) -> tuple[str, ...]:
    """The axes of what an op loads, that along which neighbours are neighbours in memory last."""
    axes = printer.ordered(op.result.axes)
    runs = runs_in_memory(printer, op, axes) if len(axes) == 2 else {}
    return tuple(sorted(axes, key=lambda axis: runs[axis])) if runs else axes


def is_turned(printer: TilePrinter, op: Op) -> bool:
    """Whether a request along the last axis reaches many times the rows of memory that one along the first reaches.

    Rows of a few neighbours, as of taps, are in the same lines again and again: these loads stay as they are.
    """
    axes = printer.ordered(op.result.axes)
    if printer.products or op.result.mutable or len(axes) != 2 or not is_loaded(op.operand):
        return False
    if not (runs := runs_in_memory(printer, op, axes)):
        return False
    first, last = ((runs[axis], printer.body.axes[axis].lanes or 1) for axis in axes)
    return _rows(first, last) >= FEWER * _rows(last, first)


def _rows(outer: tuple[int, int], inner: tuple[int, int]) -> int:
    """How many rows of memory a request reaches of which neighbours are along `inner`; an axis: its run, its lanes."""
    across = min(REQUEST, inner[1])
    return -(-across // max(inner[0], 1)) * -(-(REQUEST // across) // max(outer[0], 1))


def load_turned(printer: TilePrinter, op: Op, term: Term) -> Term:
    """Load a tile in the order of memory into shared memory; the element of it. Rows are one longer than they need.

    So neighbouring threads reach different banks along either axis.
    """
    axes, dtype = tuple(reversed(printer.ordered(op.result.axes))), op.result.dtype
    first, last = map(printer.lanes, axes)
    name = printer.body.unique(f"{op.result.name}_turned")
    printer.scopes[name] = "shared"
    printer.held.add(f"{name} = T.alloc_shared(({first}, {last} + 1), {HELD[dtype]!r})", printer.line)
    printer.fill(name, axes, term)
    return Term(printer.terms.at(name, axes), dtype)


def is_turned_result(printer: TilePrinter, op: Op, axes: Sequence[str]) -> bool:
    """Whether an op stores a tile of which threads hold what matrix units gave them: two neighbours at a time.

    Or, of blocks of registers, four neighbours along its last axis where those in memory are along the first.
    """
    if not printer.products or op.function != "store" or len(axes) != 2:
        return False
    runs = runs_in_memory(printer, op, axes)
    regrouped = isinstance(op.operand, Name) and op.operand.id in printer.regrouped
    if (regrouped or not printer.on_units) and runs and runs[axes[-1]] >= runs[axes[0]]:
        return False
    return max(runs.values(), default=0) >= RUN and all(printer.body.axes[axis].lanes for axis in axes)


def store_turned(printer: TilePrinter, op: Op, axes: Sequence[str], value: Term) -> tuple[tuple[str, ...], Term]:
    """Write a tile to shared memory, from which neighbours in memory are stored by neighbouring threads.

    Returns the axes in the order of memory, and the element of the tile. Rows are four longer than they need, so that
    threads that write to several of them reach different banks.
    """
    runs, dtype = runs_in_memory(printer, op, axes), printer.terms.tensors[op.destination.tensor].dtype
    turned = tuple(sorted(axes, key=lambda axis: runs[axis]))
    name = printer.shared(f"{op.destination.tensor}_tile", turned, HELD[dtype], " + 4")
    place = Term(printer.terms.at(name, turned), dtype)
    outside = printer.each(axes)
    printer.say(f"{place} = {value}")
    printer.lines = outside
    return turned, place
