"""What runs along an axis of a tile in shared memory: running functions, and tiles put in order."""

from __future__ import annotations

import math
from collections.abc import Sequence

from akg_core.plugin.lower import Op
from akg_core.plugin.sketch import is_float, numerics
from akg_plugin_tilelang.emit.region import RegionPrinter
from akg_plugin_tilelang.emit.terms import HELD, Term, cast, stored, strong

OPERATORS = {"sum": "{0} + {1}", "prod": "{0} * {1}"}


def scan(printer: RegionPrinter, op: Op) -> None:
    """A running function: in log2(lanes) steps over a tile in shared memory."""
    (axis,), function = op.over, op.joins
    name, _ = printer.hold(op)
    axes = printer.ordered(printer.body.axes_of(op.operand) | {axis})
    term = strong(printer.terms.term(op.operand))
    term = cast(term, numerics.reduction_dtype(op.function, term.dtype))
    tile = printer.allocate(printer.body.unique("run"), axes, HELD[term.dtype], "shared")
    printer.fill(tile, axes, stored(term, term.dtype))
    run_along(printer, tile, axes, axis, function, term.dtype, op.reverse)
    made = cast(Term(printer.terms.at(tile, axes), term.dtype), op.result.dtype)
    printer.fill(name, printer.ordered(op.result.axes), stored(made, op.result.dtype))


def run_along(
    printer: RegionPrinter, tile: str, axes: Sequence[str], axis: str, function: str, dtype: str, reverse: bool
) -> None:
    """Run along an axis in place. Where it can, each thread runs over neighbours; then what these give is run over."""
    names, sizes = [printer.terms.lanes[a] for a in axes], [printer.lanes(a) for a in axes]
    several = _neighbours(printer, sizes) if axis == axes[-1] else 0
    if not several:
        _run_in_steps(printer, tile, names, sizes, axes.index(axis), function, dtype, reverse)
        return
    groups, held = int(sizes[-1]) // several, HELD[dtype]
    own, ends, sums = (printer.body.unique(f"{tile}_{word}") for word in ("own", "ends", "sum"))
    group, at = printer.body.unique("group"), printer.body.unique("at")
    outer, whole = names[:-1], [*names[:-1], group]
    counts = ", ".join([*sizes[:-1], str(groups)])
    thread = "i * {0} + j" if outer else "j"
    layout = f"lambda {'i, ' if outer else ''}j, k: ({thread.format(groups)}, k)"
    printer.held.add(f"{own} = T.alloc_fragment(({counts}, {several}), {held!r})", printer.line)
    printer.held.add(f"{ends} = T.alloc_shared(({counts},), {held!r})", printer.line)
    printer.held.add(f"{sums} = T.alloc_fragment(({counts},), {held!r})", printer.line)
    printer.held.add(
        f"T.annotate_layout({{{own}: T.Fragment(({counts}, {several}), forward_fn={layout})}})", printer.line
    )
    position = f"{group} * {several} + {at}"
    there = f"{tile}[{', '.join([*outer, f'{int(sizes[-1]) - 1} - ({position})' if reverse else position])}]"
    here, total = f"{own}[{', '.join([*whole, at])}]", f"{sums}[{', '.join(whole)}]"
    every = f"for {', '.join([*whole, at])} in T.Parallel({counts}, {several}):"
    each = f"for {', '.join(whole)} in T.Parallel({counts}):"
    _loop(printer, (every,), f"{here} = {there}")
    _loop(printer, (each,), f"{total} = {own}[{', '.join([*whole, '0'])}]")
    joined = f"{total} = {_joined(printer, function, total, here, dtype)}"
    _loop(printer, (f"for {at} in T.unroll(1, {several}):", each), joined, f"{here} = {total}")
    _loop(printer, (each,), f"{ends}[{', '.join(whole)}] = {total}")
    _run_in_steps(printer, ends, whole, counts.split(", "), len(outer), function, dtype, reverse=False)
    last = f"T.if_then_else({group} > 0, {ends}[{', '.join([*outer, f'{group} - 1'])}], {here})"
    both = f"T.if_then_else({group} > 0, {_joined(printer, function, last, here, dtype)}, {here})"
    _loop(printer, (every,), f"{there} = {both}")


def _neighbours(printer: RegionPrinter, sizes: Sequence[str]) -> int:
    """How many neighbours of the last dimension a thread has when each has as many; 0 where these are too few."""
    if len(sizes) > 2 or not all(size.isdigit() for size in sizes):
        return 0
    several, rest = divmod(math.prod(map(int, sizes)), printer.threads)
    return 0 if rest or several < 4 or int(sizes[-1]) % several or int(sizes[-1]) == several else several


def _loop(printer: RegionPrinter, heads: Sequence[str], *lines: str) -> None:
    """Loops, one in the other, with what they do."""
    outside = printer.lines
    for head in heads:
        printer.block(head)
    for line in lines:
        printer.say(line)
    printer.lines = outside


def _joined(printer: RegionPrinter, function: str, one: str, other: str, dtype: str) -> str:
    """Two values as one by a function that is run; what a macro takes is computed in any case."""
    if function in OPERATORS:
        return OPERATORS[function].format(one, other)
    return _either(printer, function, one, other, dtype)


def _run_in_steps(
    printer: RegionPrinter,
    tile: str,
    names: Sequence[str],
    sizes: Sequence[str],
    place: int,
    function: str,
    dtype: str,
    reverse: bool,
) -> None:
    """Run along a dimension in place: each step combines with what lies twice as far away as before."""
    after, step = printer.body.unique(f"{tile}_next"), printer.body.unique("step")
    shape = f"({', '.join(sizes)}{',' if len(sizes) < 2 else ''})"
    printer.held.add(f"{after} = T.alloc_fragment({shape}, {HELD[dtype]!r})", printer.line)
    lane, lanes = names[place], sizes[place]
    turns = str((int(lanes) - 1).bit_length()) if lanes.isdigit() else f"({lanes} - 1).bit_length()"
    there = f"{lane} + (1 << {step})" if reverse else f"{lane} - (1 << {step})"
    condition = f"{there} < {lanes}" if reverse else f"{there} >= 0"
    at, next_ = (f"{name}[{', '.join(names)}]" for name in (tile, after))
    other = f"{tile}[{', '.join(there if n == place else name for n, name in enumerate(names))}]"
    if function not in OPERATORS:
        other = f"T.if_then_else({condition}, {other}, {at})"
    both = _joined(printer, function, other, at, dtype)
    every = f"for {', '.join(names)} in T.Parallel({', '.join(sizes)}):"
    outside = printer.block(f"for {step} in T.serial({turns}):")
    _loop(printer, (every,), f"{next_} = T.if_then_else({condition}, {both}, {at})")
    _loop(printer, (every,), f"{at} = {next_}")
    printer.lines = outside


def sort(printer: RegionPrinter, op: Op) -> None:
    """A tile in order along an axis by a bitonic network over shared memory; of one that is bitonic its last stage."""
    (axis,) = op.over
    name, _ = printer.hold(op)
    axes, term = printer.ordered(op.result.axes | {axis}), strong(printer.terms.term(op.operand))
    tile = printer.allocate(printer.body.unique("run"), axes, HELD[term.dtype], "shared")
    after = printer.allocate(printer.body.unique(f"{tile}_next"), axes, HELD[term.dtype])
    printer.fill(tile, axes, stored(term, term.dtype))
    stage, step, bit = (printer.body.unique(word) for word in ("stage", "step", "bit"))
    lane, lanes = printer.terms.lanes[axis], printer.lanes(axis)
    stages = str(int(lanes).bit_length() - 1) if lanes.isdigit() else f"({lanes}.bit_length() - 1)"
    outside = printer.block(
        f"for {stage} in T.serial({f'{stages} - 1, {stages}' if 'bitonic' in op.hints else stages}):"
    )
    printer.block(f"for {step} in T.serial({stage} + 1):")
    printer.say(f"{bit} = {stage} - {step}")
    at = printer.terms.at(tile, axes)
    other = f"{tile}[{', '.join(f'{lane} ^ (1 << {bit})' if a == axis else printer.terms.lanes[a] for a in axes)}]"
    least, most = (_either(printer, word, at, other, term.dtype) for word in ("min", "max"))
    first = f"(({lane} >> {bit}) & 1) == (({lane} >> ({stage} + 1)) & 1)"
    printer.fill(after, axes, Term(f"T.if_then_else({first}, {least}, {most})", term.dtype))
    printer.fill(tile, axes, Term(printer.terms.at(after, axes), term.dtype))
    printer.lines = outside
    printer.fill(name, printer.ordered(op.result.axes), Term(at, term.dtype))


def _either(printer: RegionPrinter, function: str, one: str, other: str, dtype: str) -> str:
    """The smaller or larger of two; a NaN if there is one."""
    word = {"max": "maximum", "min": "minimum"}[function]
    return printer.terms.call(word, one, other) if is_float(dtype) else f"T.{function}({one}, {other})"
