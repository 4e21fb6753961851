"""Prints the tile IR as Triton: a function for each parallel region of a kernel's instance."""

from __future__ import annotations

import math
from collections.abc import Iterable

from akg_core.plugin import Unsupported
from akg_core.plugin.lower import Body, Instance, Line, Region, body_of, renamed
from akg_core.plugin.sketch import Binary, Call, Number, Unary, ast, is_float, walk
from akg_core.plugin.tile import (
    KEPT,
    Divisors,
    Pairing,
    accesses,
    collect_constants,
    interleave,
    keep_lanewise,
    make_explicit,
    mask,
    order,
    pad,
    propagate_copies,
    share,
    unroll_single,
    verify,
    write_out_rows,
    write_out_taps,
)
from akg_triton.dialect import Dialect
from akg_triton.emit.combine import is_exact, precision_of
from akg_triton.emit.function import Function
from akg_triton.emit.region import RegionPrinter
from akg_triton.emit.stages import factors_of
from akg_triton.emit.words import RESERVED

OWN = frozenset({"member", "group", "members", "arrived", "pids", "pid_in", *(f"parts{n}" for n in range(1, 9))})
LEAST = 16  # lanes of an axis that matrix units run along


def lowered(instance: Instance, dialect: Dialect) -> tuple[Body, Divisors]:
    """The tile IR of an instance as Triton wants it."""
    body = body_of(instance, RESERVED | OWN, KEPT)
    make_explicit(body, lacking=("bf16",), known_at_launch="f32" if "f64" in dialect.lacks else "f64")
    propagate_copies(body)
    unroll_single(body)
    divisors = pad(body, LEAST)
    write_out_taps(body)
    write_out_rows(body)
    collect_constants(body)
    share(body)
    interleave(body, divisors)
    mask(body)
    keep_lanewise(body, dialect.register_elements * dialect.most_warps)
    verify(body)
    return body, divisors


def functions(instance: Instance, dialect: Dialect) -> list[Function]:
    """The Triton functions of one instance, in the order in which they are launched."""
    _refuse_lacking(instance, dialect)
    safe = renamed(instance, RESERVED)
    body, divisors = lowered(safe, dialect)
    name = instance.symbol if instance.symbol not in RESERVED else f"{instance.symbol}_kernel"
    several = len(body.regions) > 1
    return [
        _function(f"{name}_part{number}" if several else name, safe, body, region, divisors, dialect)
        for number, region in enumerate(body.regions, 1)
    ]


def _function(
    name: str, instance: Instance, body: Body, region: Region, divisors: Divisors, dialect: Dialect
) -> Function:
    printer = RegionPrinter(body, region, divisors, order(body, region, _pairings(body, region, dialect)), dialect)
    for op in (inner for each in region.ops for inner in each.inside() if inner.kind == "dot"):
        factors_of(body, dialect, op, printer.terms)  # refuses what has no room
    printer.print()
    tensors = tuple(tensor.name for tensor in instance.kernel.tensors)
    sizes = (*(n for n in instance.dimensions if n not in instance.known), *instance.open)
    rooms = printer.meetings.rooms()
    parameters = [
        *tensors,
        *(room.name for room in rooms),
        *sizes,
        *(f"{block}: tl.constexpr" for block in printer.blocks),
    ]
    head = [Line("@triton.jit"), Line(f"def {name}({', '.join(parameters)}):")]
    doc = " ".join(instance.kernel.doc.replace('"', "'").replace("\\", "/").split())
    if doc:
        head.append(Line(f'    """{doc}"""'))
    lines = [*head, *printer.top.flat(depth=1, nothing="pass")]
    if len(lines) == len(head):
        lines.append(Line("    pass"))
    return Function(
        name,
        lines,
        tensors,
        sizes,
        tuple(printer.blocks.items()),
        tuple(printer.grid.programs),
        warps(body, region, printer, dialect),
        printer.stages,
        rooms,
        dialect.units if printer.grid.persistent else 0,
        tuple(printer.memory.described.items()),
        printer.grid.members if rooms else 0,
        frozenset(printer.terms.needs),
    )


def _pairings(body: Body, region: Region, dialect: Dialect) -> list[Pairing]:
    found = []
    for op in (inner for each in region.ops for inner in each.inside() if inner.kind == "dot"):
        assert op.expr is not None and op.other is not None and op.expr.type is not None and op.target is not None
        a, b = (body.axes_of(e) for e in (op.expr, op.other))
        if not is_float(op.target.dtype) or is_exact(dialect, op.expr.type.dtype, precision_of(op)):
            continue
        left, right = (tuple(n for n in body.axes if n in own) for own in (a - b, b - a))
        count = [_lanes(body, axes) for axes in (left, right)]
        narrow = op.expr.type.dtype == "f32" and precision_of(op) == "fast"
        found.append(Pairing((left, right), op.over, (count[0], count[1]), narrow))
    return found


def _lanes(body: Body, axes: Iterable[str]) -> int:
    """Elements of a tile along `axes`, before a printer is there to ask."""
    return math.prod(body.axes[axis].lanes or 1024 for axis in axes)


def warps(body: Body, region: Region, printer: RegionPrinter, dialect: Dialect) -> int:
    """As the sketch says, else by the largest tile."""
    hint = printer.grid.hints.get("warps")
    if isinstance(hint, Number):
        return max(1, 1 << (int(hint.value).bit_length() - 1))
    ops = [op for each in region.ops for op in each.inside()]
    products = [op for op in ops if op.kind == "dot" and op.target and is_float(op.target.dtype)]
    if products:
        wanted = []
        for op in products:
            assert op.expr is not None and op.expr.type is not None and op.target is not None
            lanes = _lanes(body, op.target.axes)
            if is_exact(dialect, op.expr.type.dtype, precision_of(op)):
                wanted.append(min(max(4, lanes // (32 * dialect.lanes)), dialect.most_warps))
            else:
                wanted.append(8 if lanes > 64 * 128 else 4)
        return max(wanted)
    largest = max([1, *(_lanes(body, a.axes) for a in accesses(body, region.ops))])
    for op in ops:
        for expr in op.expressions():
            for node in walk(expr):
                if isinstance(node, (Binary, Unary)) or (isinstance(node, Call) and node.op not in ("cast", "load")):
                    largest = max(largest, _lanes(body, body.axes_of(node)))
    room = dialect.register_elements
    if any(axis.single for axis in body.axes.values()):
        room //= 8  # reads the same places again and again: many warps hide what that takes
    elif printer.grid.members:  # fewer warps leave room for more programs, of which some always wait
        room *= 2
    least = min(4, max(largest // dialect.lanes, 1))  # a thread for every element, when there are so few
    if printer.stages > 1:  # what is under way is in no register
        room, least = 2 * room, 1
    wanted_warps = largest * printer.unrolled // room
    return min(max(least, 1 << max(wanted_warps, 1).bit_length() - 1), dialect.most_warps)


def _refuse_lacking(instance: Instance, dialect: Dialect) -> None:
    """Raise Unsupported where a kernel computes in a dtype that its chip lacks."""
    nodes = ast.walk(instance.kernel)
    kinds = (node.type if isinstance(node, ast.Expr) else node for node in nodes)
    used = {kind.dtype for kind in kinds if isinstance(kind, (ast.Type, ast.TensorParameter))}
    if missing := sorted(used & {*dialect.lacks}):
        raise Unsupported(f"The chip has no {', '.join(missing)} in Triton.", "Compute in another dtype.")
