"""Which sums and extremes of a loop can be kept lane by lane, and folded once after the loop.

`total = total + reduce_sum(t, n)` in a loop over n costs a reduction across the program's threads each turn. In exact
arithmetic the same comes out when every lane of the tile has a total of its own and all are summed after the loop,
as long as each carried variable only ever becomes itself plus multiples of sums over n. That holds for sums that carry
what rounding lost, too: what the compensation adds is zero in exact arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from akg_core.plugin.sketch import Assign, Binary, Call, Expr, Name, Unary, ast, is_float

Form = Mapping[str, int]  # a linear form: how often each name counts
EXTREMES = {"maximum": "reduce_max", "minimum": "reduce_min"}


@dataclass(frozen=True, slots=True)
class Kept:
    """Carried variables of a loop that keep a value for each lane: their operation, and the reductions left out."""

    slots: Mapping[str, str]
    calls: frozenset[int]


def kept(loop: ast.Tiles, slots: Sequence[str]) -> Kept:
    """What of the `slots` that a loop carries can be kept lane by lane along its axis."""
    chosen = {slot: op for slot in slots if (op := _extreme(loop, slot))}
    calls = {id(_reduction(_only(loop, slot), slot)) for slot in chosen}
    sums = {slot for slot in slots if slot not in chosen}
    while sums:
        found = _linear(loop, sums)
        if isinstance(found, frozenset):
            both = {slot: chosen.get(slot, "sum") for slot in slots if slot in sums or slot in chosen}
            return Kept(both, frozenset(calls | found))
        sums -= found
    return Kept(chosen, frozenset(calls))


def _linear(loop: ast.Tiles, sums: set[str]) -> frozenset[int] | set[str]:
    """The reductions that feed `sums`, when all of them are linear; else those that are not."""
    forms: dict[str, Form] = {slot: {slot: 1} for slot in sums}
    calls: set[int] = set()
    last: dict[str, Form] = dict(forms)
    for statement in loop.body:
        used = {n.id for n in ast.walk(statement) if isinstance(n, Name)} & forms.keys()
        target = statement.targets[0] if isinstance(statement, Assign) and len(statement.targets) == 1 else ""
        value = statement.value if isinstance(statement, Assign) else None
        summed = value is not None and target and _is_sum(value, loop.axis)
        if not used and not summed and target not in sums:
            forms.pop(target, None)
            continue
        form = _form(value, forms, loop.axis, calls) if value is not None and target else None
        if form is None:  # whatever flows into this is not linear
            culprits = {name for n in used for name in forms[n]} & sums
            return culprits | ({target} & sums) or set(sums)
        forms[target] = form
        if target in sums:
            last[target] = form
    wrong = {s for s in sums if last[s].get(s) != 1 or any(name in sums and name != s for name in last[s])}
    wrong |= {s for s in sums if not any(name not in sums for name in last[s]) and not _assigned(loop, s)}
    return wrong or frozenset(calls)


def _form(expr: Expr | None, forms: Mapping[str, Form], axis: str, calls: set[int]) -> Form | None:
    """`expr` as a linear form over carried variables and sums; None when it is none."""
    if isinstance(expr, Name):
        return forms.get(expr.id)
    if expr is not None and _is_sum(expr, axis):
        assert isinstance(expr, Call)
        if any(isinstance(n, Name) and n.id in forms for n in ast.walk(expr.args[0])):
            return None
        calls.add(id(expr))
        return {f"sum {id(expr)}": 1}
    if isinstance(expr, Unary) and expr.op == "-":
        inner = _form(expr.operand, forms, axis, calls)
        return None if inner is None else {name: -count for name, count in inner.items()}
    if isinstance(expr, Binary) and expr.op in ("+", "-"):
        left, right = (_form(e, forms, axis, calls) for e in (expr.left, expr.right))
        if left is None or right is None:
            return None
        sign = 1 if expr.op == "+" else -1
        total = {name: left.get(name, 0) + sign * right.get(name, 0) for name in {*left, *right}}
        return {name: count for name, count in total.items() if count}
    return None


def _is_sum(expr: Expr, axis: str) -> bool:
    """Whether an expression is a sum of f32 or f64 over the loop's axis alone."""
    wide = expr.type is not None and expr.type.dtype in ("f32", "f64")
    return isinstance(expr, Call) and expr.op == "reduce_sum" and expr.args[1] == Name(axis) and wide


def _extreme(loop: ast.Tiles, slot: str) -> str:
    """ "max" or "min" when all that a loop does with `slot` is to take one with a reduction over its axis."""
    statement = _only(loop, slot)
    if statement is None or not isinstance(statement.value, Call) or statement.value.op not in EXTREMES:
        return ""
    call, value = _reduction(statement, slot), statement.value
    floats = value.type is not None and is_float(value.type.dtype)
    alone = call is not None and call.op == EXTREMES[value.op] and call.args[1] == Name(loop.axis) and floats
    return call.op.removeprefix("reduce_") if alone and call is not None else ""


def _only(loop: ast.Tiles, slot: str) -> Assign | None:
    """The one statement of a loop's body that names `slot`: it assigns it, and reads it once."""
    names = [s for s in loop.body if slot in {n.id for n in ast.walk(s) if isinstance(n, Name)} or _assigns(s, slot)]
    if len(names) != 1 or not isinstance(names[0], Assign) or names[0].targets != (slot,):
        return None
    reads = sum(isinstance(n, Name) and n.id == slot for n in ast.walk(names[0].value))
    return names[0] if reads == 1 else None


def _reduction(statement: Assign | None, slot: str) -> Call | None:
    """The other argument of `maximum(slot, …)`, when it is a call."""
    if statement is None or not isinstance(statement.value, Call) or Name(slot) not in statement.value.args:
        return None
    others = [a for a in statement.value.args if a != Name(slot)]
    return others[0] if len(others) == 1 and isinstance(others[0], Call) else None


def _assigned(loop: ast.Tiles, slot: str) -> bool:
    return any(_assigns(statement, slot) for statement in loop.body)


def _assigns(statement: ast.Statement, slot: str) -> bool:
    return any(isinstance(node, Assign) and slot in node.targets for node in ast.walk(statement))
