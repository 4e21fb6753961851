"""The tile IR as text, to be read: regions, axes and ops, one a line, with what is decided about each."""

from __future__ import annotations

from collections.abc import Iterator

from akg_core.lower.ir import Axis, Body, Op, Region, Value
from akg_core.sketch import numerics
from akg_core.sketch.ast import Name, Number
from akg_core.sketch.show import show_expression

INDENT = "    "


def show_ir(body: Body, symbol: str = "") -> str:
    """The text of a lowered kernel; `symbol`: the instance's name, the kernel's where it is empty."""
    tensors = ", ".join(
        f"{t.name}: {t.role} {t.dtype}[{', '.join(map(show_expression, t.dims))}]" for t in body.kernel.tensors
    )
    lines = [f"kernel {symbol or body.kernel.name}({tensors})"]
    lines += [f"{INDENT}axis {_axis(axis)}, whole" for axis in body.axes.values() if axis.step is None]
    for region in body.regions:
        lines += _region(region)
    return "\n".join(lines) + "\n"


def _region(region: Region) -> Iterator[str]:
    yield f"{INDENT}region" + (" over a grid:" if region.grid else ", once:")
    for axis in region.grid:
        yield f"{INDENT * 2}axis {_axis(axis)}" + (", whose programs run together" if axis.cooperative else "")
    yield from _ops(region.ops, INDENT * 2)


def _axis(axis: Axis) -> str:
    tile = "" if axis.step is None else f" in tiles of {show_expression(axis.step)}"
    lanes = "" if axis.lanes is None else f" ({axis.lanes} lanes{', partial' if axis.partial else ''})"
    return f"{axis.name} of {show_expression(axis.extent)}{tile}{lanes}"


def _ops(ops: list[Op], indent: str) -> Iterator[str]:
    for op in ops:
        yield indent + show_op(op)
        if op.compound:
            yield from _ops(op.body, indent + INDENT)
        if op.orelse:
            yield f"{indent}else:"
            yield from _ops(op.orelse, indent + INDENT)


def show_op(op: Op) -> str:
    """The line of one op."""
    expr = "" if op.expr is None else show_expression(op.expr)
    target = "" if op.target is None else _value(op.target)
    match op.kind:
        case "map":
            return f"{target} = {expr}"
        case "positions" | "begin" | "end":
            return f"{target} = {op.kind} of {op.tiled.name} at {expr}"
        case "reduce" | "scan" | "all_reduce":
            back = ", backwards" if op.reverse else ""
            return f"{target} = {op.function} over {', '.join(op.over)} of {expr}{_held(op)}{back}"
        case "sort":
            return f"{target} = {expr} {'merged' if 'bitonic' in op.hints else 'sorted'} over {op.over[0]}"
        case "regroup":
            return f"{target} = {expr} of {', '.join(op.over[:2])} by {', '.join(op.over[2:])}"
        case "dot":
            sign = "+=" if op.accumulate else "="
            return f"{target} {sign} {expr} · {show_expression(op.second)} over {', '.join(op.over)}"
        case "barrier":
            return f"wait for all programs of {op.over[0]}"
        case "wait":
            return f"wait for {show_expression(op.bounds[0])} programs at {show_expression(op.destination)}"
        case "store":
            where = "" if op.mask is None else f" where {show_expression(op.mask)}"
            return f"{op.function} {show_expression(op.destination)} = {expr}{where}"
        case "tiles":
            start, stop = map(show_expression, op.bounds)
            back = ", backwards" if op.reverse else ""
            return f"for each tile of axis {_axis(op.tiled)} from {start} to {stop}{back}:"
        case "range":
            start, stop, by = map(show_expression, op.bounds)
            return f"for {target} from {start} to {stop} by {by}:"
    return f"if {expr}:"


def _held(op: Op) -> str:
    """The dtype that a reduction or scan is held in, and what it starts from."""
    if op.expr is None or op.expr.type is None or op.function in ("argmax", "argmin", "first", "last"):
        return ""
    held = (numerics.scan_dtype if op.kind == "scan" else numerics.reduction_dtype)(op.function, op.expr.type.dtype)
    return f" in {held} from {show_expression(Number(numerics.identity(op.function, held)))}"


def _value(value: Value) -> str:
    axes = f"[{', '.join(sorted(value.axes))}]" if value.axes else ""
    return f"{show_expression(Name(value.name))}: {value.dtype}{axes}"
