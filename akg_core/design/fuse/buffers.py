"""The tensors of a program: which value each holds, and what new ones are called."""

from __future__ import annotations

from akg_core.design.graph.values import Shape, Source, Value
from akg_core.design.nest.terms import Buffer
from akg_core.design.trace import Trace
from akg_core.sketch.names import fresh, identifier


class Buffers(dict[Value, Buffer]):
    """The tensor of every value that has one. `names` are taken; `orders`: of dims in memory, where not the value's."""

    def __init__(self, trace: Trace) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.orders: dict[Value, tuple[int, ...]] = {}
        self._trace = trace

    def new(self, value: Value, name: str = "") -> Buffer:
        """A new tensor for a value, in the dtype that eager PyTorch has it in."""
        origin = self._trace.origins.get(value)
        order = self.orders.get(value, tuple(range(len(value.shape))))
        label = origin.name if origin else "part"
        shape = tuple(value.shape[d] for d in order)
        return Buffer(self.unique(name or label), label, origin.dtype if origin else value.dtype, shape, order)

    def like(self, value: Value, name: str, label: str) -> Buffer:
        """A new tensor of a value's own dtype and order."""
        return Buffer(self.unique(name), label, value.dtype, value.shape, tuple(range(len(value.shape))))

    def part(self, name: str, dtype: str, shape: Shape) -> Buffer:
        """A new tensor for what several programs hand to a merge."""
        return Buffer(self.unique(name), name, dtype, shape, tuple(range(len(shape))))

    def source(self, value: Source) -> Buffer:
        """The tensor of what comes from outside."""
        if value not in self:
            label = value.origin.partition(":")[2]
            order = value.order or tuple(range(len(value.shape)))
            shape = tuple(value.shape[d] for d in order)
            self[value] = Buffer(self.unique(label), label, value.dtype, shape, order)
        return self[value]

    def unique(self, name: str) -> str:
        """`name`, or one like it that is not taken yet; it is now."""
        return fresh(identifier(name), self.names)
