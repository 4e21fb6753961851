"""Loads and stores: addresses, masks as the IR says, and what Triton's memory operations are told."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from akg_core.plugin import Unsupported
from akg_core.plugin.lower import LOOSE, PRODUCT, Op, element_of, fold
from akg_core.plugin.sketch import INDEX, NARROW, OPERATIONS, Binary, Call, Element, Expr, Number, Text, walk
from akg_core.plugin.tile import conjuncts, over_all
from akg_triton.emit.expression import ExpressionPrinter
from akg_triton.emit.lanes import one_a_thread
from akg_triton.emit.places import without_numbers
from akg_triton.emit.terms import TRITON, Term, wide

ATOMIC = {
    "atomic_add": ("f32", "f64", "f16", "bf16", "i32", "i64"),
    "atomic_max": ("f32", "f64", "i32", "i64"),
    "atomic_min": ("f32", "f64", "i32", "i64"),
}
COHERENT = 'cache_modifier=".cg"'  # past the cache that programs do not share


class MemoryPrinter:
    """Prints accesses to the tensors of a kernel, by the expressions in them."""

    def __init__(self, terms: ExpressionPrinter, named: Callable[[str, Term], Term]) -> None:
        self.terms, self.named = terms, named
        self.tensors = terms.body.tensors

    def pointer(self, element: Element, mask: Expr | None, one: str = "") -> tuple[str, tuple[str, ...]]:
        """The pointers to an element's places, and their axes; an index that the mask compares gets a name.

        `one`: what is 1, by which lanes are multiplied that are two places apart.
        """
        dims = self.tensors[element.tensor].dims
        places: Sequence[Expr] = element.indices
        begins = ""
        if not self.terms.dialect.lane_offsets:
            places, begins = without_numbers(self.terms.body, places, dims, self.terms.dialect.one)
        indices = [self.terms.term(index) for index in places]
        compared = [part.left for part in conjuncts(mask) if isinstance(part, Binary)]
        compared += [part.left for part in compared if isinstance(part, Binary) and begins]
        self.terms.known.clear()
        for number, expr in enumerate(places):
            if indices[number].axes and isinstance(expr, Binary) and expr in compared:
                indices[number] = self.named(f"{element.tensor}_at{number}", indices[number])
                self.terms.known[expr] = indices[number]
        axes = self.terms.ordered(axis for term in indices for axis in term.axes)
        stride: Expr = Number(1, type=INDEX)
        parts: list[str] = []
        for expr, term, size in zip(reversed(places), reversed(indices), reversed(dims), strict=True):
            reach = fold(Binary("*", size, stride, type=INDEX))
            if not (isinstance(expr, Number) and expr.value == 0):
                place = self.strided(term, stride, reach)
                if one and place.axes and _is_two(expr, stride):
                    place = Term(f"{place.beside('*')} * {one}", place.dtype, place.axes, PRODUCT)
                parts.append(self.terms.aligned(place, axes))
            stride = reach
        if begins:
            parts[-1] += begins
        # each part is added to the pointer alone: their sum may exceed what one part never does
        texts = (f"({part})" if " - " in part and not part.endswith("]") else part for part in reversed(parts))
        text = " + ".join([element.tensor, *texts])
        return (one_a_thread(self.terms.body, element, mask, text, axes) if axes else text), axes

    def strided(self, index: Term, stride: Expr, reach: Expr) -> Term:
        """An index times its stride: in 32 bits when no place inside the tensor is further than that."""
        if not (isinstance(reach, Number) and reach.value < NARROW):
            index = wide(index)
        if stride == Number(1):  # it becomes an operand of "+"
            return index if index.rank > LOOSE else index.with_text(f"({index})")
        text = f"{index.beside('*')} * {self.terms.term(stride).beside('*', right=True)}"
        return Term(text, "i64", index.axes, PRODUCT)

    def mask(self, mask: Expr | None, axes: tuple[str, ...]) -> str:
        """The text of a mask for places along `axes`; "" where there is none."""
        if mask is None:
            return ""
        terms = [self.terms.term(part) for part in conjuncts(mask)]
        self.terms.known.clear()
        texts = dict.fromkeys(self._operand(term, axes) for term in terms)
        text = " & ".join(texts)
        if not axes and len(texts) == 1 and text.startswith("("):
            text = text[1:-1]
        if axes and not any(term.axes for term in terms):
            return f"tl.full({self.terms.shape(axes)}, True, tl.int1) & {text}"
        return text

    def _operand(self, term: Term, axes: tuple[str, ...]) -> str:
        text = self.terms.aligned(term, axes)
        return term.operand if text is term.text else text

    def load(self, call: Call) -> Term:
        element, keywords = element_of(call), dict(call.keywords)
        dtype = self.tensors[element.tensor].dtype
        if call.op == "load_block":
            names = tuple(axis.value for axis in call.args[1:] if isinstance(axis, Text))
            text = f"{element.tensor}.load([{', '.join(str(self.terms.term(index)) for index in element.indices)}])"
            ordered = self.terms.ordered(names)
            return Term(text if ordered == names else f"tl.trans({text})", dtype, ordered)
        pointer, axes = self.pointer(element, keywords.get("mask"))
        options = []
        if mask := self.mask(keywords.get("mask"), axes):
            other = keywords.get("other", Number(0, type=INDEX))
            outside = self.terms.term(other)
            options = [f"mask={mask}", f"other={self.terms.aligned(outside, axes)}"]
        if keywords.get("stream") == Number(True) and self.terms.dialect.load_once:
            options.append(self.terms.dialect.load_once)
        if keywords.get("coherent") == Number(True):
            options.append(COHERENT)
        return Term(f"tl.load({', '.join([pointer, *options])})", dtype, axes)

    def store(self, op: Op, passes_by: bool, whole: bool) -> str:
        """The statement of a store or an atomic.

        `passes_by`: what is read again meanwhile is to stay in the cache. `whole`: a mask says of every axis where it
        ends.
        """
        dtype = self.tensors[op.destination.tensor].dtype
        if OPERATIONS[op.function].kind == "atomic" and dtype not in ATOMIC[op.function]:
            raise Unsupported(f"{op.function} on {dtype} has no form in Triton.", "Use a tensor of f32 or i32.")
        value = self.terms.term(op.operand)
        one = self.terms.dialect.one if op.mask is not None and op.function == "store" else ""
        pointer, axes = self.pointer(op.destination, op.mask, one)
        text = self.terms.aligned(value, axes)
        if axes and not value.axes and op.function != "store":
            text = f"tl.full({self.terms.shape(axes)}, {value}, {TRITON[dtype]})"
        mask = self.mask(over_all(self.terms.body, op.mask, axes) if whole and op.mask else op.mask, axes)
        options = [f"mask={mask}"] if mask else []
        if op.function != "store":
            options.append('sem="relaxed"')
        elif dict(op.hints).get("stream") == Number(True) and passes_by and self.terms.dialect.store_past:
            options.append(self.terms.dialect.store_past)
        return f"tl.{op.function}({', '.join([pointer, text, *options])})"


def _is_two(index: Expr, stride: Expr) -> bool:
    """Whether lanes of an index are two places apart: by a factor in it, or as those of its dimension are."""
    products = [n.right for n in walk(index) if isinstance(n, Binary) and n.op == "*"]
    factors = [n.value for n in products if isinstance(n, Number)] or [1]
    return isinstance(stride, Number) and any(stride.value * factor == 2 for factor in factors)
