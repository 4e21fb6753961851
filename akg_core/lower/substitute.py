"""Names in ops replaced by expressions, and ops copied: what rewrites of the IR share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from akg_core.lower.fold import fold
from akg_core.lower.ir import Body, Op, Value, inside
from akg_core.sketch.ast import Expr, Name, rewrite


def replaced(node: Any, names: Mapping[str, Expr]) -> Any:
    """An expression with other expressions in place of names, folded."""

    return rewrite(node, _replacing(names))


def _replacing(names: Mapping[str, Expr]) -> Callable[[Any], Any]:
    def change(part: Any) -> Any:
        if not isinstance(part, Name):
            return fold(part)
        found = names.get(part.id)
        return part if found is None else replace(found, type=found.type or part.type)

    return change


def replace_in(ops: Sequence[Op], names: Mapping[str, Expr]) -> None:
    """Replace names in all expressions of ops and of those inside of them."""
    for op in inside(ops):
        op.rewrite(_replacing(names))


def copied(body: Body, ops: Sequence[Op], own: Sequence[Value], names: Mapping[str, Expr]) -> list[Op]:
    """The ops once more, with other expressions in place of `names`, and with values of their own for `own`, of which
    is known what is known of those."""
    values = {value: body.fresh(value.name, value.axes, value.dtype, mutable=value.mutable) for value in own}
    changes: dict[str, Expr] = {**{old.name: Name(new.name) for old, new in values.items()}, **names}
    bounds = body.bounds
    for old, new in values.items():
        if old.name in bounds.formulas:
            bounds.formulas[new.name] = replaced(bounds.formulas[old.name], changes)
        if old.name in bounds.counters:
            start, stop = bounds.counters[old.name]
            bounds.counters[new.name] = replaced(start, changes), replaced(stop, changes)
    made = [_copy(op, values) for op in ops]
    replace_in(made, changes)
    return made


def _copy(op: Op, values: Mapping[Value, Value]) -> Op:
    inner, other = ([_copy(each, values) for each in ops] for ops in (op.body, op.orelse))
    target = op.target if op.target is None else values.get(op.target, op.target)
    return replace(op, target=target, body=inner, orelse=other)
