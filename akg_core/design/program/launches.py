"""The program of a sketch: tensors are allocated, kernels launched, views returned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from akg_core.design.algebra.expression import to_expr
from akg_core.design.algebra.index import Index, Symbol, index, position
from akg_core.design.graph.values import Shape, View
from akg_core.design.kernels.builder import Emitted
from akg_core.design.nest.terms import Buffer
from akg_core.design.program.repeated import Repeated, Row, Step
from akg_core.sketch import ast
from akg_core.sketch.names import fresh


@dataclass(frozen=True, slots=True)
class Returned:
    """What a program returns: views of a buffer, one on the other.

    `sizes`: where values say some, those of the first dims, which are one in the buffer; and of the `others`.
    """

    buffer: Buffer
    views: list[View]
    sizes: tuple[int | Buffer, ...] = ()
    others: Shape = ()


class ProgramWriter:
    """Statements of a program: tensors are allocated when first written, reshaped where a kernel sees other dims.

    `given`: tensors from outside, which are permuted where they lie otherwise than row by row. `zeroed`: what holds
    zeros where no kernel writes; `computed`: what the host computes of float arguments.
    """

    def __init__(
        self,
        given: Iterable[Buffer],
        names: set[str],
        zeroed: Iterable[Buffer] = (),
        computed: Mapping[Buffer, ast.Expr] = {},
    ) -> None:
        self.body: list[ast.Statement] = []
        self._fills: dict[Buffer, int | ast.Expr] = {**dict.fromkeys(zeroed, 0), **computed}
        self._given, self._names = frozenset(given), set(names)
        self._views: dict[tuple[Buffer, Shape], str] = {}

    def tensor(self, buffer: Buffer, shape: Shape) -> str:
        """The name of a buffer seen in a shape."""
        key = (buffer, shape)
        if key not in self._views:
            if shape == buffer.shape:
                self._views[key] = self._whole(buffer)
            else:
                self._views[key] = self._view(self.tensor(buffer, buffer.shape), "reshape", shape)
        return self._views[key]

    def _whole(self, buffer: Buffer) -> str:
        """The name of a buffer in its own shape, as it lies in memory."""
        if buffer not in self._given:
            # Nothing writes what has no elements.
            fill = self._fills.get(buffer, 0 if index(0) in buffer.shape else None)
            self.body.append(ast.Allocate(buffer.name, buffer.dtype, tuple(map(to_expr, buffer.shape)), fill))
        elif buffer.order != tuple(range(len(buffer.order))):
            return self._view(buffer.name, "permute", tuple(map(index, buffer.order)))
        return buffer.name

    def _view(self, tensor: str, op: str, args: tuple[Index, ...]) -> str:
        return self._viewed(tensor, op, tuple(map(to_expr, args)))

    def _viewed(self, tensor: str, op: str, args: tuple[ast.Expr, ...]) -> str:
        name = fresh(f"{tensor}_view", self._names)
        self.body.append(ast.View(name, op, tensor, args))
        return name

    def launch(self, emitted: Emitted, once: bool) -> None:
        """Run a kernel; `once`: keep what it makes for later calls."""
        names = tuple(self.tensor(p.buffer, p.dims) for p in emitted.parameters)
        self.body.append(ast.Launch(emitted.kernel.name, names, once=once))

    def repeat(self, repeated: Repeated) -> None:
        """Launch kernels turn after turn; what no row of a tensor stands for is allocated before."""
        counter, body, block = fresh("t", self._names), list[ast.Statement](), repeated.block
        turn, steps = position(Symbol(counter, 1)), repeated.steps
        if block is None:
            self._turn(repeated, turn, turn, body)
            self.body.append(_loop(counter, steps, body))
            return
        inner, turns = fresh("t", self._names), list[ast.Statement]()
        here = position(Symbol(inner, 1))
        self._turn(repeated, turn * block.turns + here, here, turns)
        row = block.first + turn * block.step
        names = []
        for parameter in block.made.parameters:
            part = block.parts.get(parameter.buffer)
            if part is None:
                names.append(self.tensor(parameter.buffer, parameter.dims))
            else:
                start = row * part.each + part.start
                names.append(self._part(parameter.buffer, part.whole, start, parameter.dims[0], body))
        body += [ast.Launch(block.made.kernel.name, tuple(names)), _loop(inner, index(block.turns), turns)]
        self.body.append(_loop(counter, steps // block.turns, body))

    def _turn(self, repeated: Repeated, turn: Index, of_block: Index, body: list[ast.Statement]) -> None:
        """The launches of a turn, which is turn `of_block` of its block."""
        views: dict[tuple[Buffer, Shape], str] = {}
        made = {p.buffer for p in repeated.block.made.parameters if p.written} if repeated.block else set()
        for launch in repeated.body:
            names = []
            for parameter in launch.parameters:
                row, dims = repeated.rows.get(parameter.buffer), parameter.dims
                if row is None:
                    names.append(self.tensor(parameter.buffer, dims))
                    continue
                key = (parameter.buffer, dims)
                if key not in views:
                    number = row.number(of_block if row.of in made else turn)
                    views[key] = self._row(row, number, dims, parameter.buffer.name, body)
                names.append(views[key])
            body.append(ast.Launch(launch.kernel.name, tuple(names)))

    def _row(self, row: Row, number: Index, dims: Shape, hint: str, body: list[ast.Statement]) -> str:
        """A row of a tensor seen in a shape: rows of the tensor in that shape, for these lie in one piece."""
        count, *rest = dims or (index(1),)
        name = self._part(row.of, (row.of.shape[0] * count, *rest), number * count, count, body, hint)
        if dims:
            return name
        scalar = fresh(hint, self._names)
        body.append(ast.View(scalar, "reshape", name, ()))
        return scalar

    def _part(
        self, buffer: Buffer, whole: Shape, start: Index, length: Index, body: list[ast.Statement], hint: str = ""
    ) -> str:
        """Neighbours along the first dim of a buffer seen in a shape."""
        seen, name = self.tensor(buffer, whole), fresh(hint or buffer.name, self._names)
        body.append(ast.View(name, "narrow", seen, tuple(map(to_expr, (index(0), start, length)))))
        return name

    def result(self, returned: Returned) -> str:
        buffer = returned.buffer
        name = self.tensor(buffer, buffer.shape)
        if buffer.order != tuple(range(len(buffer.order))):
            back = tuple(index(buffer.order.index(d)) for d in range(len(buffer.order)))
            name = self._view(name, "permute", back)
        for view in returned.views:
            assert view.move is not None
            name = self._view(name, *view.move)
        if returned.sizes:
            zero = ast.Number(0)
            sizes: list[ast.Expr] = [
                ast.Number(size) if isinstance(size, int) else ast.Name(self.tensor(size, ()))
                for size in returned.sizes
            ]
            name = self._viewed(name, "narrow", (zero, zero, reduce(lambda a, b: ast.Binary("*", a, b), sizes)))
            if len(sizes) > 1:
                name = self._viewed(name, "reshape", (*sizes, *map(to_expr, returned.others)))
        return name


def _loop(counter: str, steps: Index, body: list[ast.Statement]) -> ast.Range:
    return ast.Range(counter, ast.Number(0), to_expr(steps), ast.Number(1), tuple(body))


def kept_between_calls(launches: Sequence[Step], parameters: set[Buffer], outer: set[Buffer]) -> set[int]:
    """The numbers of the launches that need to run only once: what they read and what they write is steady.

    Steady is a parameter that nothing writes, and a tensor of the program's own that only such launches write.
    `outer`: what callers hand in or get back.
    """
    writers: dict[Buffer, set[int]] = {}
    for number, launch in enumerate(launches):
        for parameter in launch.parameters:
            if parameter.written:
                writers.setdefault(parameter.buffer, set()).add(number)
    kept = {
        number
        for number, launch in enumerate(launches)
        if isinstance(launch, Emitted) and any(p.read for p in launch.parameters)
    }

    def steady(buffer: Buffer) -> bool:
        made = writers.get(buffer, set())
        return made <= kept if buffer not in outer else buffer in parameters and not made

    before = 0
    while len(kept) != before:
        before = len(kept)
        for number in sorted(kept):  # in the order of the program, so that one pass follows what depends on what
            if not all(steady(p.buffer) for p in launches[number].parameters):
                kept.remove(number)
    return kept
