"""Loads of whole tiles through tensor descriptors, by the unit that copies blocks of memory: the hint `via="bulk"`.

A descriptor sees a tensor as rows of its last dimension, and copies one block of rows and columns. The launch makes it.
So a tensor is described where every access of a function loads such a block of one size, none reaching beyond it.
"""

from __future__ import annotations

from akg_core.plugin.lower import fold
from akg_core.plugin.sketch import DTYPES, INDEX, Binary, Call, Element, Expr, Name, Number, Text
from akg_triton.emit.memory import MemoryWriter, Visit
from akg_triton.emit.source import Source
from akg_triton.emit.terms import SUM, Axis, Scope, Term

Block = tuple[int, int]
GRANULE = 16  # bytes that rows and the place of a block in them must be multiples of
MOST = 256  # positions of a block along each dimension


class BulkWriter(MemoryWriter):
    """Adds loads through descriptors. `blocks`: of each tensor that is accessed, the block, None where that is none."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.blocks_of: dict[str, Block | None] = {}

    @property
    def described(self) -> dict[str, Block]:
        """The tensors that may have a descriptor, and its block."""
        return {name: block for name, block in self.blocks_of.items() if block is not None}

    def load(self, call: Call, scope: Scope, dtype: str) -> Term:
        element = call.args[0]
        assert isinstance(element, Element)
        wanted = dict(call.keywords).get("via") == Text("bulk") and self.dialect.bulk != ""
        axes = self.block_axes(element, scope) if wanted else None
        self.meets(element.tensor, None if axes is None else _block(*axes))
        if axes is None or element.tensor not in self.source.described:
            return super().load(call, scope, dtype)
        loaded = self.through_descriptor(element, scope, axes, dtype)
        return loaded if call is self.direct else self.named(f"{element.tensor}_tile", loaded)

    def store(self, call: Call, scope: Scope) -> str:
        assert isinstance(call.args[0], Element)
        self.meets(call.args[0].tensor, None)
        return super().store(call, scope)

    def meets(self, tensor: str, block: Block | None) -> None:
        """An access of a tensor: without a block, or of another than before, and none describes it."""
        self.blocks_of[tensor] = block if self.blocks_of.get(tensor, block) == block else None

    def block_axes(self, element: Element, scope: Scope) -> tuple[Axis, Axis] | None:
        """The axes of the rows and columns that a load takes a block of, when it is one."""
        tensor = self.tensors[element.tensor]
        size = DTYPES[tensor.dtype].size
        if len(tensor.dims) < 2 or not all(isinstance(d, Number) for d in tensor.dims):
            return None
        axes = [scope.axes.get(i.id) if isinstance(i, Name) else None for i in element.indices[-2:]]
        found = [
            a for a in axes if a is not None and not a.partial and isinstance(a.block, int) and 1 < a.block <= MOST
        ]
        if len(found) != 2:
            return None
        outer = [self.term(index, scope) for index in element.indices[:-2]]
        indices = [*outer, *map(_positions, found)]
        inside = not any(self.checks(i, d) for i, d in zip(indices, tensor.dims, strict=True))
        (rows, columns), width = found, tensor.dims[-1]
        assert isinstance(width, Number)
        apart = width.value * size % GRANULE or self.multiple(columns.begin.expr) * size % GRANULE
        plain = all(not t.axes and t.narrow for t in (*outer, rows.begin, columns.begin))
        return (rows, columns) if inside and plain and not apart else None

    def through_descriptor(self, element: Element, scope: Scope, axes: tuple[Axis, Axis], dtype: str) -> Term:
        rows, columns = axes
        tensor = self.tensors[element.tensor]
        outer = [self.term(index, scope) for index in element.indices[:-2]]
        at = rows.begin
        height: Expr = tensor.dims[-2]
        for index, dim in zip(reversed(outer), reversed(tensor.dims[:-2]), strict=True):
            if index.text != "0":
                text = f"{index.beside('*')} * {self.size(height)} + {at.beside('+', right=True)}"
                at = at.with_text(text if at.text != "0" else text.removesuffix(" + 0"), SUM)
            height = fold(Binary("*", height, dim, type=INDEX))
        text = f"{element.tensor}.load([{at}, {columns.begin}])"
        names = (rows.name, columns.name)
        if self.ordered(names) != names:
            text = f"tl.trans({text})"
        spans = tuple((name,) for name in names)
        exprs = tuple(_positions(a).expr for a in axes)
        size = DTYPES[tensor.dtype].size
        self.visits.append(Visit(exprs, spans, tensor.dims[-2:], self.ordered(names), False, self.depth, size))
        return Term(text, dtype, self.ordered(names), loaded=dtype)

    def multiple(self, expr: Expr | None) -> int:
        """A number that divides an index expression for certain."""
        raise NotImplementedError


def _positions(axis: Axis) -> Term:
    return Term(axis.name, "i64", (axis.name,), expr=Name(axis.name, type=INDEX))


def _block(rows: Axis, columns: Axis) -> Block:
    assert isinstance(rows.block, int) and isinstance(columns.block, int)
    return rows.block, columns.block
