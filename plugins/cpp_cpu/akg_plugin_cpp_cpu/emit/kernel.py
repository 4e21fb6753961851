"""A kernel's instance as one C++ function."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from math import prod

from akg_core.plugin import lower
from akg_core.plugin.lower import Axis, Body, Instance, Line, Lines, Plan, Region
from akg_core.plugin.sketch import DTYPES, INDEX, Binary, Expr, Name, Number
from akg_plugin_cpp_cpu.emit.nests import NestPrinter
from akg_plugin_cpp_cpu.emit.reserved import RESERVED
from akg_plugin_cpp_cpu.emit.scope import Scope, Term

LARGE = 4 << 20  # bytes of an output for which huge pages are asked for
_GRAIN = 1 << 17  # as in akg/parallel.hpp


@dataclass(frozen=True, slots=True)
class Function:
    """The lines of `extern "C" void akg_<symbol>(…)`.

    `shares`: whether threads that all call it share its programs, so that it may be one of the launches of a turn which
    they make together. `is_heavy`: whether it is worth waking threads for.
    """

    lines: list[Line]
    shares: bool
    is_heavy: bool


def function(instance: Instance, in_turns: bool = False) -> Function:
    """`in_turns`: whether it is launched in a loop that one call turns."""
    instance = lower.renamed(instance, RESERVED)
    body = lower.body_of(instance, RESERVED)
    planned = [lower.plan(body, region.ops) for region in body.regions]
    lower.make_explicit(body)  # conversions come after: they cost too little to decide a loop
    lower.hold(body)
    lines = Lines()
    head = f'extern "C" void akg_{instance.symbol}(void* const* tensors, const i64* sizes)'
    lines.add(f"{head} {{", instance.kernel.place.line)
    inside = lines.nest()
    _parameters(instance, inside)
    mapped, streamed = inside.later(), set[str]()
    shares, is_heavy = in_turns, False
    for region, nests in zip(body.regions, planned, strict=True):
        found = _region(body, region, nests, inside, in_turns)
        streamed |= found.streamed
        shares, is_heavy = shares and found.shares, is_heavy or found.is_heavy
    asks = _fresh(instance, streamed, mapped)
    lines.add("}")
    return Function(lines.flat(), shares and not asks, is_heavy)


def _parameters(instance: Instance, lines: Lines) -> None:
    for number, tensor in enumerate(instance.kernel.tensors):
        const = "const " if tensor.role == "In" else ""
        pointer = f"{const}{tensor.dtype}*"
        declared = f"[[maybe_unused]] {pointer} __restrict const {tensor.name}"
        lines.add(f"{declared} = static_cast<{pointer}>(tensors[{number}]);")
    for number, name in enumerate(instance.dimensions):
        if name in instance.known:
            lines.add(f"[[maybe_unused]] constexpr i64 {name} = {instance.known[name]};")
        else:
            lines.add(f"const i64 {name} = sizes[{number}];")
    for number, name in enumerate(instance.open):
        lines.add(f"const i64 {name} = sizes[{len(instance.dimensions) + number}];")
    if len(instance.known) == len(instance.dimensions) and not instance.open:
        lines.add("(void)sizes;")


def _fresh(instance: Instance, streamed: Collection[str], lines: Lines) -> bool:
    """Huge pages for large outputs; whether they came fast decides how the `streamed` ones are stored.

    Returns whether any are asked for.
    """
    asks = False
    for tensor in instance.kernel.tensors:
        used = tensor.name in streamed
        known = prod(dim.value for dim in tensor.dims if isinstance(dim, Number))
        names = [dim.id for dim in tensor.dims if isinstance(dim, Name)]
        plain = all(isinstance(dim, (Name, Number)) for dim in tensor.dims)
        large = used if names else known * DTYPES[tensor.dtype].size >= LARGE
        if tensor.role == "Out" and plain and large:
            count = " * ".join(names if names and known == 1 else [str(known), *names])
            asked = f"fresh({tensor.name}, {count} * i64(sizeof({tensor.dtype})));"
            lines.add(f"const bool {tensor.name}_fresh = {asked}" if used else asked)
            asks = True
        elif used:
            lines.add(f"constexpr bool {tensor.name}_fresh = false;")
    return asks


@dataclass(frozen=True, slots=True)
class _Printed:
    """`streamed`: the tensors that a parallel loop may store past the caches; the others are those of a Function."""

    streamed: set[str]
    shares: bool
    is_heavy: bool


def _region(body: Body, region: Region, planned: Plan, lines: Lines, in_turns: bool) -> _Printed:
    """One parallel loop."""
    printer = NestPrinter(body)
    top = Scope(lines, planned.root)
    updates = {} if any(axis.cooperative for axis in region.grid) else lower.updates(region.ops, region.grid)
    for name in updates:
        printer.memory.updated[name] = printer.terms.fresh(f"{name}_updates")
    joined = lines.later()
    if not region.grid:  # one program, which meets nobody
        lines.add("{")
        scope = top.inner()
        _updated(printer, scope)
        printer.region(planned, scope)
        lines.add("}")
        for name, function in updates.items():
            joined.add(_update(printer, region, name, function, "0", top))
        return _Printed(printer.memory.streamed, shares=False, is_heavy=False)
    printer.terms.line = region.grid[0].place.line
    count = printer.terms.index(
        lower.product(lower.tiles_of(axis) for axis in region.grid if not axis.cooperative), top
    )
    together = [axis for axis in region.grid if axis.cooperative]
    shares = in_turns and not together and not lower.uneven(region)
    if together:
        members = printer.terms.index(lower.tiles_of(together[0]), top)
        opening = f"together_for({count}, {members}, [&](i64 program, i64 member, Team& team) {{"
    elif lower.uneven(region):
        opening = f"parallel_for_dynamic({count}, 1, [&](i64 program) {{"
    else:
        opening = f"{'shared' if shares else 'parallel'}_for({count}, {planned.work}, [&](i64 program) {{"
    line = printer.terms.line
    lines.add(opening, printer.terms.line)
    scope = top.inner(fixed=True)
    _updated(printer, scope)
    for axis, tile in lower.positions(region):
        _position(printer, axis, tile, scope)
    printer.region(planned, scope)
    lines.add("});")
    for name, function in updates.items():
        joined.add(_update(printer, region, name, function, f"i64({count}) * {planned.work}", top), line)
        lines.add(f"{printer.memory.updated[name]}.join();")
        shares &= lower.owned(region.ops, name, region.grid)
    is_heavy = not f"{count}".isdecimal() or int(f"{count}") * planned.work >= _GRAIN
    return _Printed(printer.memory.streamed, shares, is_heavy)


def _updated(printer: NestPrinter, scope: Scope) -> None:
    for name, variable in printer.memory.updated.items():
        scope.lines.add(f"auto* const {name} = {variable}.mine();")


def _update(printer: NestPrinter, region: Region, name: str, function: str, work: str, scope: Scope) -> str:
    """What joins updates to a tensor that the region does nothing else with, or whose places are each one program's."""
    tensor, variable = printer.memory.tensors[name], printer.memory.updated[name]
    is_own = lower.owned(region.ops, name, region.grid)
    meet = "NOWHERE" if is_own else "ANYWHERE" if name in printer.memory.scattered else "IN_ROWS"
    kind = f"{tensor.dtype}, {function.removeprefix('atomic_').capitalize()}, Meet::{meet}"
    size = printer.terms.index(lower.product(tensor.dims), scope)
    return f"Updates<{kind}> {variable}({name if is_own else f'{name}, {size}, {work}'});"


def _position(printer: NestPrinter, axis: Axis, tile: Expr, scope: Scope) -> None:
    """Begin and end of a program's tile of a grid axis; tiles that divide the extent, or cover it, need no minimum."""
    first = axis.begin if isinstance(axis.begin, Name) else Name(axis.name)
    begin = lower.fold(Binary("*", tile, axis.tile_size, type=INDEX))
    scope.lines.add(f"const i64 {first.id} = {printer.terms.index(begin, scope)};", axis.place.line)
    scope.names[first.id] = scope.names[axis.name] = Term(first.id, "i64")
    if not isinstance(axis.end, Name):
        return
    whole = lower.fold(Binary("%", axis.extent, axis.tile_size, type=INDEX)) == Number(0)
    end = f"{first.id} + {printer.terms.index(axis.tile_size, scope)}"
    if lower.tiles_of(axis) == Number(1):
        end = printer.terms.index(axis.extent, scope)
    elif not whole:
        end = f"std::min<i64>({end}, {printer.terms.index(axis.extent, scope)})"
    scope.lines.add(f"const i64 {axis.end.id} = {end};", axis.place.line)
    scope.names[axis.end.id] = Term(axis.end.id, "i64")
