"""Loads, stores and atomics: addresses, and masks only where an index may be outside or a lane may not exist."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from akg_core.plugin import Unsupported
from akg_core.plugin.lower import fold
from akg_core.plugin.sketch import (
    DTYPES,
    INDEX,
    OPERATIONS,
    Binary,
    Call,
    Element,
    Expr,
    Number,
    TensorParameter,
    is_float,
)
from akg_triton.emit.expression import ExpressionWriter, literal
from akg_triton.emit.source import Source
from akg_triton.emit.terms import ATOM, LOOSE, NARROW, PRODUCT, Axis, Scope, Term
from akg_triton.signature import TRITON

ATOMIC = {
    "atomic_add": ("f32", "f64", "f16", "bf16", "i32", "i64"),
    "atomic_max": ("f32", "f64", "i32", "i64"),
    "atomic_min": ("f32", "f64", "i32", "i64"),
}


@dataclass(frozen=True, slots=True)
class Reach:
    """The places of an element: a pointer, the mask of those that exist, and the axes of both. `inside`: the mask
    only leaves out lanes that do not exist."""

    pointer: str
    mask: str
    axes: tuple[str, ...]
    inside: bool


@dataclass(frozen=True, slots=True)
class Visit:
    """One access, for choosing the order of axes.

    `indices`: index arithmetic, where an index is some; `spans`: the axes along which each index varies; `size`: bytes
    of an element; `runs`: the lengths of tiles that start at a multiple of them, by axis.
    """

    indices: tuple[Expr | None, ...]
    spans: tuple[tuple[str, ...], ...]
    dims: tuple[Expr, ...]
    axes: tuple[str, ...]
    stores: bool
    depth: int
    size: int
    runs: Mapping[str, Expr] = field(default_factory=dict)


class MemoryWriter(ExpressionWriter):
    """Adds access to tensors. `axes` holds every axis of the region by the name of its tile."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.tensors = {t.name: t for t in source.instance.kernel.tensors}
        self.axes: dict[str, Axis] = {}
        self.visits: list[Visit] = []
        self.direct: Expr | None = None  # the whole right side of an assignment: needs no other name
        self.depth = 0
        self.shared: set[str] = set()  # tensors that the region both reads and writes
        self.guards: list[Term] = []  # scalar conditions under which what is being written happens at all

    def reach(self, element: Element, scope: Scope, stores: bool) -> Reach:
        tensor = self.tensors[element.tensor]
        indices = [self.term(index, scope) for index in element.indices]
        for number, (index, size) in enumerate(zip(indices, tensor.dims, strict=True)):
            if self.checks(index, size) and index.axes:
                indices[number] = self.named(f"{element.tensor}_at{number}", index)
        axes = self.ordered(axis for term in indices for axis in term.axes)
        exprs, spans = tuple(t.expr for t in indices), tuple(t.axes for t in indices)
        runs = {axis: run for axis in axes if (run := self.run(axis)) is not None}
        width = DTYPES[tensor.dtype].size
        self.visits.append(Visit(exprs, spans, tensor.dims, axes, stores, self.depth, width, runs))
        stride: Expr = Number(1, type=INDEX)
        parts: list[str] = []
        for term, size in zip(reversed(indices), reversed(tensor.dims), strict=True):
            reach = fold(Binary("*", size, stride, type=INDEX))
            if not (isinstance(term.expr, Number) and term.expr.value == 0):
                parts.append(self.aligned(self.strided(term, stride, reach), axes))
            stride = reach
        # each part is added to the pointer alone: their sum may exceed what one part never does
        texts = (f"({part})" if " - " in part and not part.endswith("]") else part for part in reversed(parts))
        return self.guarded(" + ".join([element.tensor, *texts]), indices, tensor, axes)

    def strided(self, index: Term, stride: Expr, reach: Expr) -> Term:
        """An index times its stride: in 32 bits when no place inside the tensor is further than that."""
        if not self.small(reach):
            index = self.wide(index)
        if stride == Number(1):
            return index
        return Term(f"{index.beside('*')} * {self.size(stride).beside('*', right=True)}", "i64", index.axes, PRODUCT)

    def named(self, name: str, term: Term, same: str = "") -> Term:
        """The term in a variable; `same`: what is equal where the term is, its text where this is empty."""
        raise NotImplementedError

    def run(self, axis: str) -> Expr | None:
        """The length of an axis' tile, when that divides where the tile begins."""
        raise NotImplementedError

    def size(self, expr: Expr) -> Term:
        """A size as text: a number, or names of sizes."""
        return self.term(expr, Scope())

    def small(self, count: Expr) -> bool:
        return isinstance(count, Number) and count.value < NARROW

    def guarded(self, pointer: str, indices: Sequence[Term], tensor: TensorParameter, axes: tuple[str, ...]) -> Reach:
        conditions = [Term(self.axes[a].mask(), "bool", (a,)) for a in axes if self.axes[a].partial] + self.guards
        lanes = len(conditions)
        for index, size in zip(indices, tensor.dims, strict=True):
            conditions += self.checks(index, size)
        wide = [
            replace(t, text=self.aligned(t, axes), rank=t.rank if t.axes == axes else ATOM)
            for t in conditions
            if t.axes
        ]
        fitted = [*wide, *(t for t in conditions if not t.axes)]
        wide = wide or fitted
        texts = list(dict.fromkeys(t.operand for t in wide))
        if len(wide) < len(fitted):  # conditions on scalars join the others by broadcasting
            texts += [t.operand for t in fitted if not t.axes]
        if not axes and len(texts) == 1 and texts[0].startswith("("):
            texts[0] = texts[0][1:-1]
        mask = " & ".join(texts)
        if axes and conditions and not any(t.axes for t in conditions):
            whole = ", ".join(str(self.axes[a].block) for a in axes)
            mask = f"tl.full([{whole}], True, tl.int1) & {mask}"
        return Reach(pointer, mask, axes, len(conditions) == lanes)

    def checks(self, index: Term, size: Expr) -> list[Term]:
        """The conditions on one index that are not proved."""
        if index.expr is not None and self.bounds.within(index.expr, size):
            return []
        low, high = (None, None) if index.expr is None else self.bounds.interval(index.expr)
        least = self.bounds.interval(size)[0]
        found = []
        if low is None or low < 0:
            found.append(Term(f"{index.operand} >= 0", "bool", index.axes, LOOSE))
        if high is None or least is None or high >= least:
            found.append(Term(f"{index.operand} < {self.size(size).operand}", "bool", index.axes, LOOSE))
        return found

    # --- operations -------------------------------------------------------------------------------------

    def load(self, call: Call, scope: Scope, dtype: str) -> Term:
        element, keywords = call.args[0], dict(call.keywords)
        assert isinstance(element, Element)
        at = self.reach(element, scope, stores=False)
        options, fill = [], None
        if at.mask:
            other = keywords.get("other")
            value = literal(0, dtype) if other is None or at.inside else self.term(other, scope, dtype).text
            options = [f"mask={at.mask}", f"other={value}"]
            fill = 0.0 if other is None or at.inside else _constant(other)
        if keywords.get("stream") == Number(True) and self.dialect.load_once:
            options.append(self.dialect.load_once)
        text = f"tl.load({', '.join([at.pointer, *options])})"
        loaded = Term(text, dtype, at.axes, fill=fill, loaded=dtype)
        if call is self.direct:
            return loaded
        same = f"{at.pointer}, {keywords.get('other')}" if element.tensor not in self.shared else ""
        return self.named(f"{element.tensor}_tile", loaded, same)

    def passes_by(self) -> bool:
        """Whether a stream of stores would drive out of the cache what is read again meanwhile."""
        raise NotImplementedError

    def store(self, call: Call, scope: Scope) -> str:
        """The statement of a store or an atomic."""
        element = call.args[0]
        assert isinstance(element, Element)
        dtype = self.tensors[element.tensor].dtype
        value = self.term(call.args[1], scope)
        if OPERATIONS[call.op].kind == "atomic" and dtype not in ATOMIC[call.op]:
            raise Unsupported(f"{call.op} on {dtype} has no form in Triton.", "Use a tensor of f32 or i32.")
        value = self.convert(value, dtype)
        at = self.reach(element, scope, stores=True)
        text = self.aligned(value, at.axes)
        if at.axes and not value.axes and call.op != "store":
            shape = ", ".join(str(self.axes[a].block) for a in at.axes)
            text = f"tl.full([{shape}], {value}, {TRITON[dtype]})"
        options = [f"mask={at.mask}"] if at.mask else []
        if call.op != "store":
            options.append('sem="relaxed"')
        elif dict(call.keywords).get("stream") == Number(True) and self.passes_by() and self.dialect.store_past:
            options.append(self.dialect.store_past)
        return f"tl.{call.op}({', '.join([at.pointer, text, *options])})"


def identity(op: str, dtype: str) -> str:
    """The neutral element of a reduction as text."""
    if op in ("sum", "any"):
        return literal(0, dtype)
    if op in ("prod", "all"):
        return literal(1, dtype)
    if is_float(dtype):
        return literal(float("-inf") if op == "max" else float("inf"), dtype)
    limits = DTYPES[dtype]
    return literal(limits.lowest if op == "max" else limits.highest, dtype)


def _constant(expr: Expr) -> float | None:
    if isinstance(expr, Number):
        return float(expr.value)
    inner = getattr(expr, "operand", None)
    return -float(inner.value) if isinstance(inner, Number) else None
