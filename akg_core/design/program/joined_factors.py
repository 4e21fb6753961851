"""Left factors of a product in the turns of a loop that launches before it copy beside each other: `cat([x, h]) @ w`.

The product sums over one after the other instead, each where it lies. So turns have a launch less, and meet less often.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from akg_core.design.algebra.expression import to_expr
from akg_core.design.kernels.builder import Emitted
from akg_core.design.kernels.writer import Parameter
from akg_core.design.nest.terms import Buffer
from akg_core.design.program.repeated import Repeated, Step
from akg_core.sketch import ast
from akg_core.sketch.names import elements_of, fresh, names_of


@dataclass(frozen=True, slots=True)
class _Part:
    """`source` [rows, columns], which is copied to where column `start` begins."""

    source: Parameter
    start: int
    rows: int
    columns: int


def without_joins(steps: Sequence[Step]) -> list[Step]:
    """The steps, products in loops by the parts of their left factors."""
    return [_without_joins(step, steps) if isinstance(step, Repeated) else step for step in steps]


def _without_joins(loop: Repeated, steps: Sequence[Step]) -> Repeated:
    elsewhere = {p.buffer for step in steps if step is not loop for p in step.parameters} | {*loop.rows}
    for number, launch in enumerate(loop.body):
        for parameter in launch.parameters:
            whole = parameter.buffer
            *copies, last = (n for n, each in enumerate(loop.body) if any(p.buffer is whole for p in each.parameters))
            if last != number or not copies or whole in elsewhere:
                continue
            parts = _parts([loop.body[n] for n in copies], whole)
            changed = {p.buffer for each in loop.body[copies[0] : number] for p in each.parameters if p.written}
            product = _by_parts(launch, parameter, parts) if parts else None
            if product is not None and changed.isdisjoint(part.source.buffer for part in parts):
                made = {number: product}
                body = tuple(made.get(n, each) for n, each in enumerate(loop.body) if n not in copies)
                return _without_joins(replace(loop, body=body), steps)
    return loop


def _parts(copies: Sequence[Emitted], whole: Buffer) -> list[_Part]:
    """What launches copy into a matrix, by its columns; nothing where they do more, or leave columns out."""
    found: list[_Part] = []
    for launch in copies:
        inner, axes = launch.kernel.body, dict[str, ast.Expr]()
        while len(inner) == 1 and isinstance(inner[0], ast.Grid):
            axes[inner[0].axis] = inner[0].extent
            inner = inner[0].body
        axes |= {s.axis: s.extent for s in inner if isinstance(s, ast.Whole)}
        made = [_part(s, launch, whole, axes) for s in inner if not isinstance(s, ast.Whole)]
        found += [part for part in made if part is not None]
        if None in made:
            return []
    found.sort(key=lambda part: part.start)
    ends = [0, *(part.start + part.columns for part in found)]
    rows, columns = (dim.constant for dim in whole.shape) if len(whole.shape) == 2 else (None, None)
    covered = [part.start for part in found] == ends[:-1] and ends[-1] == columns
    alike = all(part.rows == rows and part.source.buffer.dtype == whole.dtype for part in found)
    return found if covered and alike else []


def _part(statement: ast.Statement, launch: Emitted, whole: Buffer, axes: Mapping[str, ast.Expr]) -> _Part | None:
    """What a statement copies into a matrix: all of another one. `axes`: all that there are, and their extents."""
    target = next(p for p in launch.parameters if p.buffer is whole)
    match statement:
        case ast.Effect(
            call=ast.Call(
                op="store",
                args=(
                    ast.Element(tensor=target.name, indices=(ast.Name(id=row), column)),
                    ast.Call(op="load", args=(ast.Element(tensor=source, indices=indices),), keywords=()),
                ),
            )
        ) if target.dims == whole.shape and len(indices) == len(axes) == 2 and indices[0] == ast.Name(row):
            along = indices[1]
            read = next(p for p in launch.parameters if p.name == source)
            start = 0 if column == along else _start(column, along)
            rows, columns = (dim.constant for dim in read.dims)
            if isinstance(along, ast.Name) and {row, along.id} == {*axes} and None not in (start, rows, columns):
                whole_of_it = (_number(axes[row]), _number(axes[along.id])) == (rows, columns)
                return _Part(read, start or 0, rows or 0, columns or 0) if whole_of_it else None
    return None


def _start(column: ast.Expr, along: ast.Expr) -> int | None:
    match column:
        case ast.Binary(op="+", left=left, right=ast.Number(value=int() as start)) if left == along:
            return start
    return None


def _number(expr: ast.Expr) -> int | None:
    return int(expr.value) if isinstance(expr, ast.Number) else None


def _by_parts(launch: Emitted, joined: Parameter, parts: Sequence[_Part]) -> Emitted | None:
    """A product with each part of its left factor in place of all of it; None where it reads that in another way."""
    kernel, sources = launch.kernel, [part.source for part in parts]
    known = {p.buffer: p for p in launch.parameters}
    loop = _sum(kernel, joined) if joined.dims == joined.buffer.shape else None
    if loop is None or any(known.get(s.buffer, s).written or known.get(s.buffer, s).dims != s.dims for s in sources):
        return None
    taken, parameters, tensors = names_of(kernel), list[Parameter](), list[ast.TensorParameter]()
    for parameter, tensor in zip(launch.parameters, kernel.tensors, strict=True):
        if parameter is not joined:
            parameters.append(parameter)
            tensors.append(tensor)
            continue
        for source in sources:
            if source.buffer not in known:
                known[source.buffer] = replace(source, name=fresh(source.buffer.label, taken))
                parameters.append(known[source.buffer])
                sizes = tuple(map(to_expr, source.dims))
                tensors.append(ast.TensorParameter(parameters[-1].name, "In", source.buffer.dtype, sizes))
    loops = [_sum_of(loop, joined.name, known[part.source.buffer].name, part) for part in parts]
    body = _spliced(kernel.body, loop, loops)
    return Emitted(replace(kernel, tensors=tuple(tensors), body=body), parameters)


def _sum(kernel: ast.Kernel, joined: Parameter) -> ast.Tiles | None:
    """The loop that alone reads a left factor, along all of its columns, and does no more than to sum products."""
    inner = kernel.body
    while len(inner) == 1 and isinstance(inner[0], ast.Grid):
        inner = inner[0].body
    loops = [s for s in inner if isinstance(s, ast.Tiles) and elements_of(s, joined.name)]
    if len(loops) != 1 or len(elements_of(loops[0], joined.name)) != len(elements_of(kernel.body, joined.name)):
        return None
    (loop,) = loops
    along = ast.Name(loop.axis)
    whole = loop.start is None and loop.stop is None and not loop.reverse
    if not whole or _number(loop.extent) != joined.dims[-1].constant or not all(_adds(s, along) for s in loop.body):
        return None
    if not all(len(e.indices) == 2 and e.indices[1] == along for e in elements_of(loop, joined.name)):
        return None
    elements = [n for n in ast.walk(loop.body) if isinstance(n, ast.Element)]
    placed = sum(index == along for e in elements for index in e.indices)
    return loop if sum(n == along for n in ast.walk(loop.body)) == placed + len(loop.body) else None


def _adds(statement: ast.Statement, along: ast.Name) -> bool:
    """Whether a statement adds a product over an axis to a sum."""
    match statement:
        case ast.Assign(targets=(target,), value=ast.Call(op="dot", keywords=keywords)):
            given = dict(keywords)
            return given.get("over") == along and given.get("into") == ast.Name(target)
    return False


def _sum_of(loop: ast.Tiles, joined: str, name: str, part: _Part) -> ast.Tiles:
    """The loop over a part of a left factor, and what this is multiplied with."""
    along = ast.Name(loop.axis)
    there = along + part.start if part.start else along

    def change(node: object) -> object:
        match node:
            case ast.Element(tensor=tensor) if tensor == joined:
                return replace(node, tensor=name)
            case ast.Element(indices=indices):
                return replace(node, indices=tuple(there if index == along else index for index in indices))
        return node

    return replace(loop, extent=ast.Number(part.columns), body=ast.rewrite(loop.body, change))


def _spliced(body: tuple[ast.Statement, ...], loop: ast.Tiles, loops: Sequence[ast.Tiles]) -> tuple[ast.Statement, ...]:
    """Statements with loops in place of one."""
    found: list[ast.Statement] = []
    for statement in body:
        if isinstance(statement, ast.Grid):
            found.append(replace(statement, body=_spliced(statement.body, loop, loops)))
        else:
            found += loops if statement is loop else [statement]
    return tuple(found)
