"""A loop whose turn is one kernel as one launch.

Where its programs keep to their own elements of a state, that is a variable of the kernel, and what each turn leaves is
stored as before. Where they read what others have made of it in the turn before, they wait at a barrier once a turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from akg_core.design.algebra.expression import to_expr
from akg_core.design.algebra.index import Symbol, index, position
from akg_core.design.kernels.builder import Emitted
from akg_core.design.kernels.writer import Parameter
from akg_core.design.nest.terms import Buffer
from akg_core.design.program.repeated import Repeated, Row, Step
from akg_core.sketch import ast
from akg_core.sketch.check import check
from akg_core.sketch.names import elements_of, names_of
from akg_core.sketch.names import fresh as new_name
from akg_core.sketch.ops import OPERATIONS

Body = tuple[ast.Statement, ...]
At = tuple[ast.Expr, ...]
_CARRIED = ("SK501", "SK502")  # what the checker says of a variable that changes its axes or its dtype


@dataclass(frozen=True, slots=True)
class _State:
    """A state that a turn reads from `before` and writes to `after`, at the element `at`.

    `held`: the variable that it is in between two turns, `new`: the one for what a turn makes of it; both "" where
    programs read elements of others, at `read`.
    """

    before: Parameter
    after: Parameter
    at: At
    held: str = ""
    new: str = ""
    read: frozenset[At] = frozenset()


def inside(repeated: Step, co_resident: int = 0) -> Step:
    """A loop as one launch where that computes the same; any other step as it is.

    `co_resident`: how many programs may wait for each other.
    """
    if not isinstance(repeated, Repeated) or len(repeated.body) > 1 or repeated.steps.constant is None:
        return repeated
    kernel, steps = repeated.body[0].kernel, repeated.steps.constant
    grids, body = _peeled(kernel.body)
    wholes = tuple(s for s in body if isinstance(s, ast.Whole))
    work = body[len(wholes) :]
    fresh = partial(new_name, taken=names_of(kernel) | set(OPERATIONS))
    turn = fresh("t")
    axes = {*(g.axis for g in grids), *(w.axis for w in wholes)}
    states = _states(repeated, axes, work, fresh)
    if states is None:
        return repeated
    shared = [s for s in states if not s.held]
    cooperative = _cooperative_grid(grids, shared, co_resident)
    if shared and cooperative is None:
        return repeated
    own = [s for s in states if s.held]
    start = tuple(ast.Assign((s.held,), _load(s.after.name, (_number(repeated, s.before, 0), *s.at))) for s in own)
    before, turned = _hoisted(repeated, {s.before.name for s in own}, axes, work, fresh) if cooperative else ((), work)
    turned = _turn(repeated, states, turned, turn)
    if cooperative:
        turned = _synchronised(turned, {s.after.name for s in own}, cooperative.axis)
    loop = ast.Range(turn, ast.Number(0), ast.Number(steps), ast.Number(1), turned)
    whole: Body = (*wholes, *before, *start, loop)
    for grid in reversed(grids):
        hints = (*grid.hints, ("cooperative", ast.Number(True))) if grid is cooperative else grid.hints
        whole = (replace(grid, body=whole, hints=hints),)
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


# --- states -----------------------------------------------------------------------------------------------


def _states(repeated: Repeated, axes: set[str], work: Body, fresh: Callable[[str], str]) -> list[_State] | None:
    """The states of a turn; None where it does more than read each, and write it at an element of the program's own."""
    launch = repeated.body[0]
    rows, parameters = repeated.rows, launch.parameters
    plain = all(isinstance(s, ast.Assign) or (isinstance(s, ast.Effect) and s.call.op == "store") for s in work)
    written = [p for p in parameters if p.written]
    if not plain or len({p.buffer for p in parameters}) < len(parameters) or not all(p.buffer in rows for p in written):
        return None
    found: list[_State] = []
    for after in written:
        before = [p for p in parameters if not p.written and p.buffer in rows and _of(rows, p) is _of(rows, after)]
        made = set(_elements(work, after.name))
        if len(before) != 1 or len(made) != 1 or before[0].dims != after.dims:
            return None
        (at,) = made
        read = frozenset(_elements(work, before[0].name))
        if not all(_names(each) <= axes for each in (at, *read)):
            return None
        if read == made:
            held, new = fresh(after.buffer.label), fresh(f"{after.buffer.label}_next")
            found.append(_State(before[0], after, at, held, new))
        else:
            found.append(_State(before[0], after, at, read=read))
    return found if all(_of(rows, p).shape[0].constant is not None for p in parameters if p.buffer in rows) else None


def _cooperative_grid(grids: list[ast.Grid], shared: list[_State], co_resident: int) -> ast.Grid | None:
    """The grid along which programs read what others write of the states; None where there are several, or more
    programs along it than may wait for each other."""
    found: set[str] = set()
    named = {g.axis for g in grids}
    for state in shared:
        for read in state.read:
            for mine, theirs in zip(state.at, read, strict=True):
                found |= _names((mine,)) & named if mine != theirs else set()
    match [g for g in grids if g.axis in found]:
        case [ast.Grid(extent=ast.Number(value=extent), step=ast.Number(value=step)) as grid]:
            return grid if -(-extent // step) <= co_resident else None
    return None


def _of(rows: Mapping[Buffer, Row], parameter: Parameter) -> Buffer:
    return rows[parameter.buffer].of


def _names(at: Iterable[ast.Expr]) -> set[str]:
    return {n.id for n in ast.walk(tuple(at)) if isinstance(n, ast.Name)}


def _elements(work: Body, tensor: str) -> list[At]:
    """The elements of a tensor that statements read or write."""
    return [element.indices for element in elements_of(work, tensor)]


def _load(tensor: str, at: At) -> ast.Expr:
    return ast.Call("load", (ast.Element(tensor, at),))


def _number(repeated: Repeated, parameter: Parameter, turn: int | str) -> ast.Expr:
    """The row that a parameter stands for in a turn."""
    at = position(Symbol(turn, 1)) if isinstance(turn, str) else index(turn)
    return to_expr(repeated.rows[parameter.buffer].number(at))


# --- what a turn does -------------------------------------------------------------------------------------


def _hoisted(
    repeated: Repeated, own: set[str], axes: set[str], work: Body, fresh: Callable[[str], str]
) -> tuple[Body, Body]:
    """What programs load once before the loop, for it is the same in every turn, and a turn that begins with all its
    other loads, so that they are under way together. `own`: states that are variables."""
    read = [p for p in repeated.body[0].parameters if not p.written]
    steady = {p.name for p in read if p.buffer not in repeated.rows}
    named = {s.value for s in work if isinstance(s, ast.Assign)}
    once: dict[ast.Expr, str] = {}
    first: dict[ast.Expr, str] = {}

    def change(node: object) -> object:
        match node:
            case ast.Call(op="load", args=(ast.Element(tensor=tensor, indices=at), *_)) if _names(at) <= axes:
                found = once if tensor in steady else first
                if tensor in own or (found is first and node in named):
                    return node
                if node not in found:
                    found[node] = fresh(tensor)
                return ast.Name(found[node])
        return node

    turned = ast.rewrite(work, change)
    before, begun = (tuple(ast.Assign((name,), load) for load, name in each.items()) for each in (once, first))
    return before, (*begun, *turned)


def _synchronised(turned: Body, own: set[str], axis: str) -> Body:
    """A turn that ends with a barrier. What no other program reads is stored while these come to it in the next."""
    late = tuple(s for s in turned if isinstance(s, ast.Effect) and _stored(s) in own)
    rest = tuple(s for s in turned if s not in late)
    return (*rest, ast.Effect(ast.Call("barrier", (ast.Name(axis),))), *late)


def _stored(statement: ast.Effect) -> str:
    place = statement.call.args[0]
    return place.tensor if isinstance(place, ast.Element) else ""


def _turn(repeated: Repeated, states: list[_State], work: Body, turn: str) -> Body:
    """What a turn does: states are variables, and all else that differs from turn to turn is a row of its tensor."""
    held = {s.before.name: s.held for s in states if s.held}
    whole = {s.before.name: s.after.name for s in states if not s.held}
    after = {s.after.name: s for s in states if s.held}
    rows = {p.name: _number(repeated, p, turn) for p in repeated.body[0].parameters if p.buffer in repeated.rows}

    def change(node: object) -> object:
        match node:
            case ast.Call(op="load", args=(ast.Element(tensor=tensor), *_)) if tensor in held:
                return ast.Name(held[tensor])
            case ast.Element(tensor=tensor, indices=indices) if tensor in rows and tensor not in held:
                return replace(node, tensor=whole.get(tensor, tensor), indices=(rows[tensor], *indices))
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
    return (*out, *(ast.Assign((s.held,), ast.Name(s.new)) for s in states if s.held))


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
