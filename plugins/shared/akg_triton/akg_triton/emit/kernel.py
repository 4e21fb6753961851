"""Prints the tile IR as Triton: a function for each parallel region of a kernel's instance."""

from __future__ import annotations

from collections.abc import Collection

from akg_core.plugin import Unsupported
from akg_core.plugin.lower import Body, Instance, Line, Region, approximable, refuse_lacking, renamed
from akg_core.plugin.resources import operands_of, pipeline, warps_of
from akg_core.plugin.tile import (
    AllReduced,
    Divisors,
    Programs,
    is_matrix_product,
    load_blocks,
    lower_all_reduce,
    lower_to_indices,
    order,
    pairings,
    tile_ir,
)
from akg_triton.dialect import Dialect
from akg_triton.emit.function import Function
from akg_triton.emit.region import RegionPrinter
from akg_triton.emit.reserved import RESERVED

_DIVISIONS = frozenset(("/", "reciprocal"))  # which a dialect may write otherwise, for them to be rounded once
OWN = frozenset({"arrivals", "arrived", *(f"parts{n}" for n in range(1, 9))})


def functions(instance: Instance, dialect: Dialect, read: Collection[int] = ()) -> list[Function]:
    """The Triton functions of one instance, in the order in which they are launched.

    `read`: which of its tensors, counted from 0, another launch of the program reads.
    """
    refuse_lacking(instance, dialect.lacks)
    reserved = RESERVED.union(dialect.helpers)
    safe = renamed(instance, reserved)
    floats, workspace = "f32" if "f64" in dialect.lacks else "f64", dialect.register_elements * dialect.most_warps
    body, divisors = tile_ir(safe, reserved | OWN, workspace, ("bf16",), floats)
    name = instance.symbol if instance.symbol not in reserved else f"{instance.symbol}_kernel"
    several = len(body.regions) > 1
    tensors = {tensor.name for number, tensor in enumerate(safe.kernel.tensors) if number in read}
    return [
        _function(f"{name}_part{number}" if several else name, safe, body, region, divisors, dialect, tensors)
        for number, region in enumerate(body.regions, 1)
    ]


def _function(
    name: str,
    instance: Instance,
    body: Body,
    region: Region,
    divisors: Divisors,
    dialect: Dialect,
    read: Collection[str],
) -> Function:
    limits, products = dialect.limits, [op for op in region.inside() if op.kind == "dot"]
    axes = order(body, region, pairings(body, region, limits.dot_strategies), 1 if products else dialect.row)
    for op in filter(is_matrix_product, products):
        operands_of(body, axes, op, limits)  # refuses what has no workspace
    stages, turns = pipeline(body, region, axes, limits)
    warps = warps_of(body, region, limits, stages, turns)
    blocks = load_blocks(body, region, divisors) if dialect.bulk else {}
    programs = lower_to_indices(body, region, dialect.group if products else 0, dialect.persistent)
    reduced = _all_reduced(body, region, programs, dialect)
    loose = approximable(body, read) if _DIVISIONS & dialect.forms.keys() else ()
    dimensions, threads = [*reduced.axes, *axes], warps * dialect.lanes
    printer = RegionPrinter(body, region, divisors, dimensions, dialect, programs, threads, loose)
    printer.print()
    tensors = tuple(tensor.name for tensor in instance.kernel.tensors)
    sizes = (*(n for n in instance.dimensions if n not in instance.known), *instance.open)
    parameters = [
        *tensors,
        *(workspace.name for workspace in reduced.workspaces),
        *sizes,
        *(f"{block}: tl.constexpr" for block in printer.terms.blocks.values()),
    ]
    head = [Line("@triton.jit"), Line(f"def {name}({', '.join(parameters)}):")]
    doc = " ".join(instance.kernel.doc.replace('"', "'").replace("\\", "/").split())
    head += [Line(f'    """{doc}"""')] if doc else []
    lines = [*head, *printer.top.flat(depth=1, nothing="pass")]
    if len(lines) == len(head):
        lines.append(Line("    pass"))
    return Function(
        name,
        lines,
        tensors,
        sizes,
        tuple((name, body.axes[axis].step or body.axes[axis].extent) for axis, name in printer.terms.blocks.items()),
        tuple(programs.grid),
        warps,
        stages,
        reduced.workspaces,
        dialect.units if programs.persistent else 0,
        tuple(blocks.items()),
        programs.members if reduced.workspaces else 0,
        frozenset(printer.terms.needs),
    )


def _all_reduced(body: Body, region: Region, programs: Programs, dialect: Dialect) -> AllReduced:
    """All-reductions and barriers written out; raises Unsupported where programs do not wait for each other."""
    found = [op for op in region.inside() if op.kind in ("all_reduce", "barrier")]
    if found and programs.members and not dialect.cooperative:
        what = f"{found[0].function or found[0].kind}: programs of this chip do not wait for each other."
        raise Unsupported(what, "Use one program.")
    return lower_all_reduce(body, region, programs)
