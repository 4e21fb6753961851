"""A kernel's instance as one C++ function."""

from __future__ import annotations

from collections.abc import Collection
from math import prod

from akg_core.plugin.lower import Axis, Body, Instance, Line, Lines, Region, body_of, fold, plan, renamed, work
from akg_core.plugin.sketch import DTYPES, INDEX, Binary, Expr, Name, Number
from akg_plugin_cpp_cpu.emit.nests import NestWriter
from akg_plugin_cpp_cpu.emit.scope import Scope, Term
from akg_plugin_cpp_cpu.emit.words import RESERVED

LARGE = 4 << 20  # bytes of an output for which huge pages are asked for


def function(instance: Instance) -> list[Line]:
    """The lines of `extern "C" void akg_<symbol>(…)`."""
    instance = renamed(instance, RESERVED)
    body = body_of(instance, RESERVED)
    lines = Lines()
    head = f'extern "C" void akg_{instance.symbol}(void* const* tensors, const i64* sizes)'
    lines.add(f"{head} {{", instance.kernel.place.line)
    inside = lines.nest()
    _parameters(instance, inside)
    mapped, streamed = inside.later(), set[str]()
    for region in body.regions:
        streamed |= _region(body, region, inside)
    _fresh(instance, streamed, mapped)
    lines.add("}")
    return lines.flat()


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


def _fresh(instance: Instance, streamed: Collection[str], lines: Lines) -> None:
    """Huge pages for large outputs; whether they came fast decides how the `streamed` ones are stored."""
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
        elif used:
            lines.add(f"constexpr bool {tensor.name}_fresh = false;")


def _region(body: Body, region: Region, lines: Lines) -> set[str]:
    """One parallel loop; returns the tensors that it may store past the caches."""
    writer = NestWriter(body)
    writer.running = {}
    planned = plan(body, region.ops)
    top = Scope(lines, planned.root)
    if not region.grid:
        lines.add("{")
        writer.region(planned, top.inner())
        lines.add("}")
        return writer.streamed
    together = [axis for axis in region.grid if axis.together]
    apart = [axis for axis in region.grid if not axis.together]
    programs = _product([_tiles(axis) for axis in apart])
    writer.line = region.grid[0].place.line
    count = writer.index(programs, top)
    if together:
        members = writer.index(_tiles(together[0]), top)
        opening = f"together_for({count}, {members}, [&](i64 program, i64 member, Team& team) {{"
    elif _uneven(region):
        opening = f"parallel_for_dynamic({count}, 1, [&](i64 program) {{"
    else:
        opening = f"parallel_for({count}, {work(body, region.ops)}, [&](i64 program) {{"
    lines.add(opening, writer.line)
    scope = top.inner(fixed=True)
    _positions(writer, region, scope)
    writer.region(planned, scope)
    lines.add("});")
    return writer.streamed


def _tiles(axis: Axis) -> Expr:
    """How many tiles a grid axis has."""
    assert axis.step is not None
    if isinstance(axis.extent, Number) and isinstance(axis.step, Number):
        return Number(-(-int(axis.extent.value) // int(axis.step.value)), type=INDEX)
    short = fold(Binary("-", axis.step, Number(1, type=INDEX), type=INDEX))
    return fold(Binary("//", fold(Binary("+", axis.extent, short, type=INDEX)), axis.step, type=INDEX))


def _product(sizes: list[Expr]) -> Expr:
    total: Expr = Number(1, type=INDEX)
    for size in sizes:
        total = fold(Binary("*", total, size, type=INDEX))
    return total


def _uneven(region: Region) -> bool:
    """Whether programs take unequal time: a loop of which one end is fixed and the other is not."""
    for op in region.ops:
        for inner in op.inside():
            if inner.kind in ("tiles", "range"):
                start, stop = (isinstance(bound, Number) for bound in inner.bounds[:2])
                if start != stop and (inner.axis is None or inner.bounds[1] != inner.axis.extent):
                    return True
    return False


def _positions(writer: NestWriter, region: Region, scope: Scope) -> None:
    """Which tile of each grid axis a program is; the last axis turns fastest."""
    names = [axis for axis in region.grid if not axis.together]
    rest: Expr = Name("program", type=INDEX)
    for number in range(len(names) - 1, -1, -1):
        axis = names[number]
        tiles = _tiles(axis)
        tile: Expr = rest if number == 0 else fold(Binary("%", rest, tiles, type=INDEX))
        rest = fold(Binary("//", rest, tiles, type=INDEX))
        _position(writer, axis, tile, scope)
    for axis in region.grid:
        if axis.together:
            _position(writer, axis, Name("member", type=INDEX), scope)


def _position(writer: NestWriter, axis: Axis, tile: Expr, scope: Scope) -> None:
    """Begin and end of a program's tile of a grid axis; tiles that divide the extent, or cover it, need no minimum."""
    assert axis.step is not None
    first = axis.begin if isinstance(axis.begin, Name) else Name(axis.name)
    begin = fold(Binary("*", tile, axis.step, type=INDEX))
    scope.lines.add(f"const i64 {first.id} = {writer.index(begin, scope)};", axis.place.line)
    scope.names[first.id] = scope.names[axis.name] = Term(first.id, "i64")
    if not isinstance(axis.end, Name):
        return
    whole = fold(Binary("%", axis.extent, axis.step, type=INDEX)) == Number(0)
    end = f"{first.id} + {writer.index(axis.step, scope)}"
    if _tiles(axis) == Number(1):
        end = writer.index(axis.extent, scope)
    elif not whole:
        end = f"std::min<i64>({end}, {writer.index(axis.extent, scope)})"
    scope.lines.add(f"const i64 {axis.end.id} = {end};", axis.place.line)
    scope.names[axis.end.id] = Term(axis.end.id, "i64")
