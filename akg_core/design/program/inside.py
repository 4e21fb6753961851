"""A loop whose turn is one kernel, the programs of which keep to their own elements of the states, as one launch.

The states are variables of the kernel then, and what each turn leaves is stored as before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import chain, count

from akg_core.design.algebra.expression import to_expr
from akg_core.design.algebra.index import Symbol, index, position
from akg_core.design.kernels.builder import Emitted
from akg_core.design.kernels.writer import Parameter
from akg_core.design.nest.terms import Buffer
from akg_core.design.program.repeated import Repeated, Row, Step
from akg_core.sketch import ast
from akg_core.sketch.check import check
from akg_core.sketch.ops import OPERATIONS

Body = tuple[ast.Statement, ...]
_CARRIED = ("SK501", "SK502")  # what the checker says of a variable that changes its axes or its dtype


@dataclass(frozen=True, slots=True)
class _State:
    """A state that a turn reads from `before` and writes to `after`, both at the element `at`.

    `held`: the variable that it is in between two turns, `new`: the one for what a turn makes of it.
    """

    before: Parameter
    after: Parameter
    at: tuple[ast.Expr, ...]
    held: str
    new: str


def inside(repeated: Step) -> Step:
    """A loop as one launch where that computes the same; any other step as it is."""
    if not isinstance(repeated, Repeated) or len(repeated.body) > 1 or repeated.steps.constant is None:
        return repeated
    kernel, steps = repeated.body[0].kernel, repeated.steps.constant
    grids, body = _peeled(kernel.body)
    wholes = tuple(s for s in body if isinstance(s, ast.Whole))
    work = body[len(wholes) :]
    fresh = _fresh(kernel)
    turn = fresh("t")
    states = _states(repeated, {*(g.axis for g in grids), *(w.axis for w in wholes)}, work, fresh)
    if states is None:
        return repeated
    start = tuple(ast.Assign((s.held,), _load(s.after.name, (_number(repeated, s.before, 0), *s.at))) for s in states)
    turned = _turn(repeated, states, work, turn)
    loop = ast.Range(turn, ast.Number(0), ast.Number(steps), ast.Number(1), turned)
    whole: Body = (*wholes, *start, loop)
    for grid in reversed(grids):
        whole = (replace(grid, body=whole),)
    emitted = _whole(repeated, states, whole)
    findings = check(ast.SketchFile((emitted.kernel,))).findings
    return repeated if any(f.code in _CARRIED for f in findings) else emitted


def _peeled(body: Body) -> tuple[list[ast.Grid], Body]:
    """The grids around what one program does, and that."""
    grids: list[ast.Grid] = []
    while len(body) == 1 and isinstance(body[0], ast.Grid):
        grids.append(body[0])
        body = body[0].body
    return grids, body


def _fresh(kernel: ast.Kernel) -> Callable[[str], str]:
    """What makes names that nothing in the kernel has, of what is to be said by them."""
    taken = {t.name for t in kernel.tensors} | {t.name for t in kernel.tunes} | set(OPERATIONS)
    for node in ast.walk((kernel.tensors, kernel.body)):
        match node:
            case ast.Name(id=name) | ast.Grid(axis=name) | ast.Whole(axis=name):
                taken.add(name)
            case ast.Assign(targets=targets):
                taken |= set(targets)

    def fresh(hint: str) -> str:
        name = next(n for n in chain([hint], (f"{hint}_{number}" for number in count(1))) if n not in taken)
        taken.add(name)
        return name

    return fresh


def _states(repeated: Repeated, axes: set[str], work: Body, fresh: Callable[[str], str]) -> list[_State] | None:
    """The states of a turn; None where it does anything but read and write each at an element of the program's own."""
    launch = repeated.body[0]
    rows, parameters = repeated.rows, launch.parameters
    plain = all(isinstance(s, ast.Assign) or (isinstance(s, ast.Effect) and s.call.op == "store") for s in work)
    written = [p for p in parameters if p.written]
    if not plain or len({p.buffer for p in parameters}) < len(parameters) or not all(p.buffer in rows for p in written):
        return None
    found: list[_State] = []
    for after in written:
        before = [p for p in parameters if not p.written and p.buffer in rows and _of(rows, p) is _of(rows, after)]
        elements = [_elements(work, p.name) for p in (*before, after)]
        same = {at for each in elements for at in each}
        if len(before) != 1 or len(elements[1]) != 1 or len(same) != 1 or before[0].dims != after.dims:
            return None
        (at,) = same
        if not {n.id for n in ast.walk(at) if isinstance(n, ast.Name)} <= axes:
            return None
        found.append(_State(before[0], after, at, fresh(after.buffer.label), fresh(f"{after.buffer.label}_next")))
    return found if all(_of(rows, p).shape[0].constant is not None for p in parameters if p.buffer in rows) else None


def _of(rows: Mapping[Buffer, Row], parameter: Parameter) -> Buffer:
    return rows[parameter.buffer].of


def _elements(work: Body, tensor: str) -> list[tuple[ast.Expr, ...]]:
    """The elements of a tensor that statements read or write."""
    return [n.indices for n in ast.walk(work) if isinstance(n, ast.Element) and n.tensor == tensor]


def _load(tensor: str, at: tuple[ast.Expr, ...]) -> ast.Expr:
    return ast.Call("load", (ast.Element(tensor, at),))


def _number(repeated: Repeated, parameter: Parameter, turn: int | str) -> ast.Expr:
    """The row that a parameter stands for in a turn."""
    at = position(Symbol(turn, 1)) if isinstance(turn, str) else index(turn)
    return to_expr(repeated.rows[parameter.buffer].number(at))


def _turn(repeated: Repeated, states: list[_State], work: Body, turn: str) -> Body:
    """What a turn does: states are variables, and all else that differs from turn to turn is a row of its tensor."""
    held = {s.before.name: s.held for s in states}
    after = {s.after.name: s for s in states}
    rows = {p.name: _number(repeated, p, turn) for p in repeated.body[0].parameters if p.buffer in repeated.rows}

    def change(node: object) -> object:
        match node:
            case ast.Call(op="load", args=(ast.Element(tensor=tensor), *_)) if tensor in held:
                return ast.Name(held[tensor])
            case ast.Element(tensor=tensor, indices=indices) if tensor in rows and tensor not in held:
                return replace(node, indices=(rows[tensor], *indices))
        return node

    out: list[ast.Statement] = []
    for statement in ast.rewrite(work, change):
        match statement:
            case ast.Effect(call=ast.Call(args=(ast.Element(tensor=tensor) as place, value)) as call) if (
                tensor in after
            ):
                state = after[tensor]
                new = ast.Call("cast", (value, ast.Text(state.after.buffer.dtype)))
                out.append(ast.Assign((state.new,), new))
                out.append(replace(statement, call=replace(call, args=(place, ast.Name(state.new)))))
            case _:
                out.append(statement)
    return (*out, *(ast.Assign((s.held,), ast.Name(s.new)) for s in states))


def _whole(repeated: Repeated, states: list[_State], body: Body) -> Emitted:
    """The kernel with its tensors whole: the states before and after a turn are rows of one."""
    launch = repeated.body[0]
    before = {s.before.name for s in states}
    tensors, parameters = [], []
    for tensor, parameter in zip(launch.kernel.tensors, launch.parameters, strict=True):
        row = repeated.rows.get(parameter.buffer)
        if parameter.name in before:
            continue
        if row is not None:
            count_ = row.of.shape[0]
            role = "InOut" if parameter.written else "In"
            tensor = replace(tensor, role=role, dims=(to_expr(count_), *tensor.dims))
            parameter = replace(parameter, buffer=row.of, dims=(count_, *parameter.dims), read=True)
        tensors.append(tensor)
        parameters.append(parameter)
    return Emitted(replace(launch.kernel, tensors=tuple(tensors), body=body), parameters)
