"""Loop blocking: rows that a kernel makes for the turns of a loop are made for a block of turns at a time.

So they are read from the caches, where all of them would have gone to memory and come back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import prod

from akg_core.design.algebra.expression import to_expr
from akg_core.design.algebra.index import index
from akg_core.design.kernels.builder import Emitted
from akg_core.design.nest.terms import Buffer
from akg_core.design.program.repeated import Block, Part, Repeated, Row, Step
from akg_core.dtypes import DTYPES
from akg_core.records import Traits
from akg_core.sketch import ast
from akg_core.sketch.names import elements_of

_LEAST = 4  # turns of a block


def in_blocks(steps: Sequence[Step], held: Iterable[Buffer], traits: Traits) -> list[Step]:
    """The steps, a loop in blocks where a kernel before it makes rows for it alone. `held`: what others need."""
    found: dict[int, Step] = dict(enumerate(steps))
    outside = set(held)
    for place, loop in enumerate(steps):
        if not isinstance(loop, Repeated) or not traits.block_bytes:
            continue
        for buffer, row in _read_once(loop):
            users = [n for n, s in enumerate(steps) if any(p.buffer is row.of for p in s.parameters)]
            maker = steps[users[0]] if len(users) == 2 and users[1] == place and row.of not in outside else None
            if isinstance(maker, Emitted) and _may_wait(maker, steps[users[0] + 1 : place + 1]):
                blocked = _blocked(loop, buffer, row, maker, traits)
                if blocked is not None:
                    found[place] = blocked
                    del found[users[0]]
                    break
    return list(found.values())


def _read_once(loop: Repeated) -> list[tuple[Buffer, Row]]:
    """The tensors of a turn that are rows of such as it reads in no other way."""
    count = Counter(row.of for row in loop.rows.values())
    count.update({p.buffer for launch in loop.body for p in launch.parameters})
    return [(buffer, row) for buffer, row in loop.rows.items() if count[row.of] == 1]


def _may_wait(maker: Emitted, steps: Sequence[Step]) -> bool:
    """Whether a kernel writes one tensor, and finds what it reads the same after these steps."""
    changed = {p.buffer for step in steps for p in step.parameters if p.written}
    read = {p.buffer for p in maker.parameters if p.read}
    return sum(p.written for p in maker.parameters) == 1 and read.isdisjoint(changed)


def _blocked(loop: Repeated, buffer: Buffer, row: Row, maker: Emitted, traits: Traits) -> Repeated | None:
    """The loop in blocks, for which `maker` makes the rows; None where these are few, or it makes more than that."""
    steps, sizes = loop.steps.constant, [size.constant or 0 for size in row.of.shape]
    size = prod(sizes) * DTYPES[row.of.dtype].size
    if steps is None or sizes[0] != steps or abs(row.step) != 1 or size <= 2 * traits.block_bytes:
        return None
    most = traits.block_bytes * steps // size
    turns = next((n for n in range(most, _LEAST - 1, -1) if steps % n == 0), 0)
    made = _of_rows(maker, row.of, turns, traits) if turns else None
    if made is None:
        return None
    launch, parts = made
    shorter = next(p.buffer for p in launch.parameters if p.written)
    lowest = row.number(index(0)) if row.step == 1 else row.number(index(turns - 1))
    block = Block(turns, launch, parts, lowest, row.step * turns)
    rows = dict(loop.rows) | {buffer: Row(shorter, index(0 if row.step == 1 else turns - 1), row.step)}
    return replace(loop, rows=rows, block=block)


def _of_rows(maker: Emitted, made: Buffer, turns: int, traits: Traits) -> tuple[Emitted, dict[Buffer, Part]] | None:
    """The kernel for the rows of so many turns, and which parts of its tensors that reads; None where some are no parts
    that lie in one piece."""
    kernel = maker.kernel
    out = next(p for p in maker.parameters if p.written)
    axes = {e.indices[:1] for e in elements_of(kernel.body, out.name)}
    grids = [n for n in ast.walk(kernel.body) if isinstance(n, ast.Grid)]
    along = [g for g in grids if axes == {(ast.Name(g.axis),)} and g.extent == to_expr(out.dims[0])]
    each = out.dims[0].exact(made.shape[0])
    if len(along) != 1 or each is None or each.constant is None:
        return None
    (grid,) = along
    length, axis = turns * each.constant, ast.Name(grid.axis)
    starts: dict[str, int] = {}
    for parameter in maker.parameters:
        found = {_start(e, axis) for e in elements_of(kernel.body, parameter.name)}
        if found != {None} and (len(found) > 1 or None in found or -1 in found):
            return None
        for start in found - {None}:
            starts[parameter.name] = start or 0
    if sum(n == axis for n in ast.walk(kernel.body)) != sum(len(elements_of(kernel.body, name)) for name in starts):
        return None  # which is more than where elements are

    def change(node: object) -> object:
        match node:
            case ast.Element(tensor=tensor, indices=indices) if tensor in starts:
                return replace(node, indices=(axis, *indices[1:]))
            case ast.Grid(axis=grid.axis):
                return replace(node, extent=ast.Number(length))
        return node

    tensors = tuple(
        replace(t, dims=(ast.Number(length), *t.dims[1:])) if t.name in starts else t for t in kernel.tensors
    )
    shape = (index(turns), *made.shape[1:])
    parameters, parts = [], dict[Buffer, Part]()
    for p in maker.parameters:
        dims = (index(length), *p.dims[1:]) if p.name in starts else p.dims
        if p.name in starts and not p.written:
            parts[p.buffer] = Part(p.dims, each.constant, starts[p.name])
        parameters.append(replace(p, dims=dims, buffer=replace(p.buffer, shape=shape) if p.written else p.buffer))
    body = ast.rewrite(kernel.body, change)
    tunes = tuple(_as_long(t, length) if grid.step == ast.Name(t.name) else t for t in kernel.tunes)
    if _programs(replace(kernel, tunes=tunes, body=body)) < traits.units:
        tunes = kernel.tunes
    return Emitted(replace(kernel, tensors=tensors, body=body, tunes=tunes), parameters), parts


def _start(element: ast.Element, axis: ast.Name) -> int | None:
    """The row that an axis begins at in an element's first place; None where it is in none, -1 where elsewhere too."""
    first, *others = element.indices or (ast.Number(0),)
    if axis in ast.walk(tuple(others)):
        return -1
    match first:
        case ast.Name() if first == axis:
            return 0
        case ast.Binary(op="+", left=left, right=ast.Number(value=int() as start)) if left == axis:
            return start
    return -1 if axis in ast.walk(first) else None


def _as_long(tune: ast.TuneParameter, length: int) -> ast.TuneParameter:
    """A tile that has all rows, where there is a choice of one."""
    sizes = [choice for choice in tune.choices if isinstance(choice, int) and choice >= length]
    return replace(tune, default=min(sizes)) if sizes else tune


def _programs(kernel: ast.Kernel) -> int:
    """How many programs a kernel has."""
    count, sizes = 1, {tune.name: tune.default for tune in kernel.tunes}
    for node in ast.walk(kernel.body):
        if isinstance(node, ast.Grid) and isinstance(node.extent, ast.Number):
            step = node.step.value if isinstance(node.step, ast.Number) else sizes.get(getattr(node.step, "id", ""), 1)
            count *= -(-int(node.extent.value) // int(step))
    return count
