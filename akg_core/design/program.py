"""The program of a sketch: tensors are allocated, kernels launched, views returned."""

from __future__ import annotations

from collections.abc import Iterable

from akg_core.design.emit import Emitted
from akg_core.design.index import Index, index
from akg_core.design.index_expression import to_expr
from akg_core.design.terms import Buffer
from akg_core.design.values import Shape, View
from akg_core.sketch import ast


class ProgramWriter:
    """Statements of a program: tensors are allocated when first written, reshaped where a kernel sees other dims.

    `steady`: parameters that nothing writes; `returned`: what the program gives back; `zeroed`: what holds zeros where
    no kernel writes.
    """

    def __init__(
        self,
        shapes: dict[Buffer, Shape],
        names: set[str],
        steady: Iterable[Buffer] = (),
        returned: Iterable[Buffer] = (),
        zeroed: Iterable[Buffer] = (),
    ) -> None:
        self.body: list[ast.Statement] = []
        self._steady, self._returned, self._zeroed = set(steady), set(returned), set(zeroed)
        self._shapes = dict(shapes)
        self._names = set(names)
        self._views: dict[tuple[Buffer, Shape], str] = {}

    def _fresh(self, hint: str) -> str:
        name, number = hint, 1
        while name in self._names:
            name, number = f"{hint}_{number}", number + 1
        self._names.add(name)
        return name

    def tensor(self, buffer: Buffer, shape: Shape) -> str:
        """The name of a buffer seen in a shape."""
        if buffer not in self._shapes:
            self._shapes[buffer] = buffer.shape
            # Nothing writes what has no elements.
            fill = 0 if buffer in self._zeroed or index(0) in buffer.shape else None
            self.body.append(ast.Allocate(buffer.name, buffer.dtype, tuple(map(to_expr, buffer.shape)), fill))
        if self._shapes[buffer] == shape:
            return buffer.name
        key = (buffer, shape)
        if key not in self._views:
            self._views[key] = self._view(buffer.name, "reshape", shape)
        return self._views[key]

    def _view(self, tensor: str, op: str, args: tuple[Index, ...]) -> str:
        name = self._fresh(f"{tensor}_view")
        self.body.append(ast.View(name, op, tensor, tuple(map(to_expr, args))))
        return name

    def launch(self, emitted: Emitted) -> None:
        """Run a kernel: once, where all that it reads depends on parameters alone and what it writes stays inside."""
        names = tuple(self.tensor(p.buffer, p.dims) for p in emitted.parameters)
        read = {p.buffer for p in emitted.parameters if p.read}
        written = {p.buffer for p in emitted.parameters if p.written}
        once = bool(read) and read <= self._steady and not written & (self._steady | self._returned)
        self._steady |= written if once else set()
        self.body.append(ast.Launch(emitted.kernel.name, names, once=once))

    def result(self, buffer: Buffer, views: list[View]) -> str:
        name = self.tensor(buffer, buffer.shape)
        if buffer.order != tuple(range(len(buffer.order))):
            back = tuple(index(buffer.order.index(d)) for d in range(len(buffer.order)))
            name = self._view(name, "permute", back)
        for view in views:
            assert view.move is not None
            name = self._view(name, *view.move)
        return name
