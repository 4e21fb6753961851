"""States of a loop that each turn may overwrite, instead of leaving its own beside those of the turns before.

So they stay in the nearest cache, where each turn's would have gone to memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from akg_core.design.algebra.expression import to_expr
from akg_core.design.algebra.index import Index, index
from akg_core.design.kernels.builder import Emitted
from akg_core.design.kernels.writer import Parameter
from akg_core.design.nest.terms import Buffer
from akg_core.design.program.repeated import Repeated, Step
from akg_core.sketch import ast
from akg_core.sketch.names import elements_of


@dataclass(frozen=True, slots=True)
class _State:
    """What a launch reads from `before` and writes to `after`, rows of one tensor."""

    launch: int
    before: Parameter
    after: Parameter


def in_place(steps: Sequence[Step], held: Iterable[Buffer]) -> list[Step]:
    """The steps, loops with one row of a state where nothing else needs the others, and each element of it is read
    before it is written, by the program that does. `held`: what others need."""
    found, outside = list(steps), set(held)
    for place, loop in enumerate(steps):
        if not isinstance(loop, Repeated):
            continue
        for state in _states(loop):
            whole = loop.rows[state.after.buffer].of
            users = [n for n, s in enumerate(steps) if any(p.buffer is whole for p in s.parameters)]
            if len(users) != 2 or users[1] != place or whole in outside:
                continue
            one = replace(whole, shape=(index(1), *whole.shape[1:]))
            first = loop.rows[state.before.buffer].number(index(0))
            begun, now = _begun(found[users[0]], whole, one, first), found[place]
            if begun is not None and isinstance(now, Repeated):
                found[users[0]], found[place] = begun, _overwritten(now, state, one)
    return found


def _states(loop: Repeated) -> list[_State]:
    """The states of which a turn has one reader, which is their writer."""
    states = []
    inner = [(n, p) for n, launch in enumerate(loop.body) for p in launch.parameters]
    for number, after in inner:
        row = loop.rows.get(after.buffer)
        if row is None or not after.written:
            continue
        same = [(n, p) for n, p in inner if p.buffer in loop.rows and loop.rows[p.buffer].of is row.of]
        before = [p for n, p in same if n == number and not p.written]
        if len(same) != 2 or len(before) != 1 or before[0].dims != after.dims:
            continue
        if _reads_own(loop.body[number].kernel, before[0].name, after.name):
            states.append(_State(number, before[0], after))
    return states


def _reads_own(kernel: ast.Kernel, before: str, after: str) -> bool:
    """Whether a kernel's programs read of one tensor the elements that they write, later on, of the other."""
    body, programs = kernel.body, set[str]()
    while len(body) == 1 and isinstance(body[0], ast.Grid):
        programs.add(body[0].axis)
        body = body[0].body
    axes = programs | {s.axis for s in body if isinstance(s, ast.Whole)}
    stores = [n for n, s in enumerate(body) if isinstance(s, ast.Effect) and elements_of(s, after)]
    elements = [*elements_of(body, before), *elements_of(body, after)]
    if len(stores) != 1 or len(elements_of(body, after)) != 1 or len({e.indices for e in elements}) != 1:
        return False
    named = {n.id for n in ast.walk(elements[0].indices) if isinstance(n, ast.Name)}
    (store,) = stores
    effect = body[store]
    assert isinstance(effect, ast.Effect)
    return programs <= named <= axes and effect.call.op == "store" and not elements_of(body[store + 1 :], before)


def _begun(step: Step, whole: Buffer, one: Buffer, first: Index) -> Step | None:
    """What writes the state at the beginning, to the only row; None where that is written in another way."""
    if not isinstance(step, Emitted):
        return None
    kernel, parameters = step.kernel, []
    for parameter in step.parameters:
        if parameter.buffer is whole:
            length = parameter.dims[0].exact(whole.shape[0]) if parameter.dims else None
            if length is None or parameter.read:
                return None
            moved = _moved(kernel, parameter.name, to_expr(first * length), length)
            if moved is None:
                return None
            kernel, parameter = moved, replace(parameter, buffer=one, dims=(length, *parameter.dims[1:]))
        parameters.append(parameter)
    return Emitted(kernel, parameters)


def _moved(kernel: ast.Kernel, tensor: str, start: ast.Expr, length: Index) -> ast.Kernel | None:
    """The kernel with a tensor of `length` where it begins to write at `start`; None where it does not."""
    starts = {_start(e) for e in elements_of(kernel.body, tensor)}
    if starts != {start}:
        return None

    def change(node: object) -> object:
        match node:
            case ast.Element(tensor=found, indices=(ast.Binary(op="+", left=left), *others)) if found == tensor:
                return replace(node, indices=(left, *others))
            case ast.Element(tensor=found, indices=(ast.Number(), *others)) if found == tensor:
                return replace(node, indices=(ast.Number(0), *others))
            case ast.Call(op="store", args=(ast.Element(tensor=found), *_)) if found == tensor:
                return replace(node, keywords=())  # past the caches, where all rows were too much for them
        return node

    tensors = tuple(replace(t, dims=(to_expr(length), *t.dims[1:])) if t.name == tensor else t for t in kernel.tensors)
    return replace(kernel, tensors=tensors, body=ast.rewrite(kernel.body, change))


def _start(element: ast.Element) -> ast.Expr | None:
    """Where along the first dim an element's axes begin."""
    match element.indices:
        case (ast.Name(), *_):
            return ast.Number(0)
        case (ast.Number() as number, *_) | (ast.Binary(op="+", left=ast.Name(), right=ast.Number() as number), *_):
            return number
    return None


def _overwritten(loop: Repeated, state: _State, one: Buffer) -> Repeated:
    """The loop with a state in its only row."""
    before, after = state.before, state.after
    launch = loop.body[state.launch]
    kernel = launch.kernel

    def change(node: object) -> object:
        if isinstance(node, ast.Element) and node.tensor == before.name:
            return replace(node, tensor=after.name)
        return node

    tensors = tuple(
        replace(t, role="InOut") if t.name == after.name else t for t in kernel.tensors if t.name != before.name
    )
    parameters = [
        replace(p, buffer=one, read=True) if p.name == after.name else p
        for p in launch.parameters
        if p.name != before.name
    ]
    new = Emitted(replace(kernel, tensors=tensors, body=ast.rewrite(kernel.body, change)), parameters)
    rows = {buffer: row for buffer, row in loop.rows.items() if buffer not in (before.buffer, after.buffer)}
    body = tuple(new if n == state.launch else each for n, each in enumerate(loop.body))
    return replace(loop, rows=rows, body=body)
