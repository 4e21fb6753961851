"""Prints the tile IR as TileLang: a function for each parallel region of a kernel's instance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from akg_core.plugin.lower import Body, Instance, Line, Region, python_tuple, renamed
from akg_core.plugin.sketch import Expr, Name, Number
from akg_core.plugin.tile import AllReduced, Programs, Workspace, lower_all_reduce, order, programs_of, tile_ir
from akg_plugin_tilelang.emit.combine import reduce, regroup
from akg_plugin_tilelang.emit.in_place import add_in_place
from akg_plugin_tilelang.emit.products import multiply
from akg_plugin_tilelang.emit.programs import grid
from akg_plugin_tilelang.emit.region import RegionPrinter
from akg_plugin_tilelang.emit.reserved import RESERVED
from akg_plugin_tilelang.emit.scans import scan, sort
from akg_plugin_tilelang.emit.staging import stages
from akg_plugin_tilelang.emit.terms import STORED
from akg_plugin_tilelang.emit.threads import MOST, ROWS

COMBINE = {"reduce": reduce, "scan": scan, "sort": sort, "dot": multiply, "regroup": regroup}
INT32 = 2**31 - 1
REGISTER_ELEMENTS = 64 * MOST


@dataclass(frozen=True, slots=True)
class Function:
    """A function of kernel.py. `sizes`: numbers it takes besides tensors; `blocks`: what it is made for, by name.

    `written`: places of the tensors that it may write; `needs`: functions of kernel.py that it calls;
    `workspaces`: what it takes behind the tensors; `members`: programs that wait for each other.
    """

    name: str
    lines: list[Line]
    tensors: tuple[str, ...]
    written: tuple[int, ...]
    sizes: tuple[str, ...]
    blocks: tuple[tuple[str, Expr], ...]
    threads: int
    needs: frozenset[str]
    workspaces: tuple[Workspace, ...]
    members: int


def functions(instance: Instance, units: int) -> list[Function]:
    """The functions of one instance, in the order in which they are launched. `units`: multiprocessors of the chip."""
    safe = renamed(instance, RESERVED)
    body, _ = tile_ir(safe, RESERVED, REGISTER_ELEMENTS, ("f16", "bf16"), own=add_in_place, granule=ROWS)
    name = instance.symbol if instance.symbol not in RESERVED else f"{instance.symbol}_kernel"
    several = len(body.regions) > 1
    return [
        _function(f"{name}_part{number}" if several else name, safe, body, region, units)
        for number, region in enumerate(body.regions, 1)
    ]


def _function(name: str, instance: Instance, body: Body, region: Region, units: int) -> Function:
    axes = order(body, region, ())
    programs, reduced = _cooperating(body, region)
    printer = RegionPrinter(body, region, [*reduced.axes, *axes], programs, COMBINE, partial(grid, units=units), stages)
    printer.print()
    if "exp2_beside_one" in printer.terms.needs:
        printer.held.add("T.import_source(EXP2_BESIDE_ONE)")
    kernel = instance.kernel
    shown = {dim.id for tensor in kernel.tensors for dim in tensor.dims if isinstance(dim, Name)}
    unknown = [n for n in instance.dimensions if n not in instance.known]
    sizes = [n for n in (*unknown, *instance.open) if n not in shown]
    parameters = [f"{t.name}: T.Tensor({_shape(printer, t.dims)}, {STORED[t.dtype]!r})" for t in kernel.tensors]
    parameters += [f"{w.name}: T.Tensor({_shape(printer, w.dims)}, {STORED[w.dtype]!r})" for w in reduced.workspaces]
    parameters += [f"{n}: T.int32" if n in unknown else f"{n}: T.float64" for n in sizes]
    symbols = [n for n in unknown if n in shown]
    head = [Line(f'{n} = T.dynamic("{n}")') for n in symbols]
    head += [Line("@T.prim_func"), Line(f"def {name}({', '.join(parameters)}):")]
    doc = " ".join(kernel.doc.replace('"', "'").replace("\\", "/").split())
    if doc:
        head.append(Line(f'    """{doc}"""'))
    if printer.options:
        attributes = {"pass_configs": printer.options}
        head.append(Line(f"    T.func_attr({attributes})"))
    lines = [*head, *printer.top.flat(depth=1, nothing="pass")]
    if printer.blocks:
        inner = [Line(f"    {each.text}" if each.text else "", each.sketch) for each in lines]
        lines = [Line(f"def {name}({', '.join(printer.blocks)}):"), *inner, Line(f"    return {name}")]
    tensors = tuple(tensor.name for tensor in kernel.tensors)
    written = tuple(place for place, tensor in enumerate(kernel.tensors) if tensor.role != "In")
    blocks, needs = tuple(printer.blocks.items()), frozenset(printer.terms.needs)
    members = programs.members if programs else 0
    return Function(
        name, lines, tensors, written, tuple(sizes), blocks, printer.threads, needs, reduced.workspaces, members
    )


def _cooperating(body: Body, region: Region) -> tuple[Programs | None, AllReduced]:
    """Where programs wait for each other, how they are launched, and what they write to."""
    if all(op.kind not in ("all_reduce", "barrier") for op in region.inside()):
        return None, AllReduced()
    programs = programs_of(body, region.grid, 0, False)
    return programs, lower_all_reduce(body, region, programs)


def _shape(printer: RegionPrinter, dims: Sequence[Expr]) -> str:
    """A tensor's shape; in 64 bits where elements are not counted in 32, for indices have the dtype of dimensions."""
    known = [int(d.value) for d in dims if isinstance(d, Number)]
    texts = [str(printer.terms.term(d)) for d in dims] or ["1"]
    if len(known) == len(dims) and math.prod(known) > INT32:
        texts = [f"T.int64({text})" for text in texts]
    return python_tuple(texts)
