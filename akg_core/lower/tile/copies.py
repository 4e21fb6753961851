"""Values that are another value under a second name become that one."""

from __future__ import annotations

from collections.abc import Sequence

from akg_core.lower.ir import Body, Op, Value
from akg_core.lower.substitute import replace_in
from akg_core.sketch.ast import Expr, Name, Type


def propagate_copies(body: Body) -> None:
    """All-reductions combine what they are given, not copies; copies of values that never change are dropped."""
    for region in body.regions:
        region.ops = _block(body, region.ops, {})


def _block(body: Body, ops: Sequence[Op], names: dict[str, Expr]) -> list[Op]:
    names = dict(names)
    made: list[Op] = []
    for op in ops:
        replace_in([op], names)
        last = made[-1] if made else None
        if op.kind == "all_reduce" and last is not None and last.kind == "map" and last.target is op.target:
            op.expr, op.result.mutable = last.expr, False
            made.pop()
        value = body.values.get(op.expr.id) if op.kind == "map" and isinstance(op.expr, Name) else None
        target = op.target
        if value and target and _is_same(value, target):
            names[target.name] = Name(value.name, type=Type(dtype=value.dtype))
            continue
        op.body, op.orelse = _block(body, op.body, names), _block(body, op.orelse, names)
        made.append(op)
    return made


def _is_same(value: Value, copy: Value) -> bool:
    return not (value.mutable or copy.mutable) and (value.dtype, value.axes) == (copy.dtype, copy.axes)
