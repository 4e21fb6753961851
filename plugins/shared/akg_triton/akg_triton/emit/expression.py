"""Expressions of the tile IR as Triton: elementwise operations on tiles whose dimensions are the axes in one order."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

from akg_core.plugin import Unsupported
from akg_core.plugin.lower import ATOM, LOOSE, PRODUCT, RANKS, SUM, Body, dtype_of, fold
from akg_core.plugin.sketch import (
    COMPARISONS,
    INDEX,
    Binary,
    Call,
    Expr,
    Name,
    Number,
    Text,
    Unary,
    is_float,
    is_integer,
)
from akg_core.plugin.tile import Divisors
from akg_triton.dialect import Dialect
from akg_triton.emit.functions import LIBDEVICE, PLACES, TEXTS, WHOLE
from akg_triton.emit.terms import TRITON, Term, cast, held, literal, wide
from akg_triton.library import called

LOGIC = {"and": "&", "or": "|"}


class ExpressionPrinter:
    """Prints expressions of one region. `order`: its axes, from the first dimension of a tile to the last; `loose`: the
    divisions, by `id`, that may be an ulp off."""

    def __init__(
        self,
        body: Body,
        divisors: Divisors,
        order: Sequence[str],
        dialect: Dialect,
        load: Callable[[Call], Term],
        loose: Collection[int],
    ) -> None:
        self.dialect, self.loose = dialect, loose
        self.body, self.bounds, self.divisors, self.load = body, body.bounds, divisors, load
        self.order = [axis for axis in order if not body.axes[axis].unit]
        self.needs: set[str] = set()  # of the library
        self.blocks: dict[str, str] = {}  # arguments that give lanes which only the launch knows, by axis
        self.values: dict[str, Term] = {}
        self.known: dict[Expr, Term] = {}  # expressions that have a name in the access at hand
        self.digits = True  # whether a quotient that all lanes of a tile share is one number

    # --- axes and shapes ---

    def ordered(self, axes: Iterable[str]) -> tuple[str, ...]:
        """Axes in the order of dimensions."""
        wanted = set(axes)
        return tuple(axis for axis in self.order if axis in wanted)

    def shape(self, axes: Iterable[str]) -> str:
        return f"[{', '.join(self.lanes(axis) for axis in axes)}]"

    def lanes(self, axis: str) -> str:
        """The lanes of an axis."""
        known = self.body.axes[axis].lanes
        return self.blocks[axis] if known is None else str(known)

    def aligned(self, term: Term, axes: tuple[str, ...]) -> str:
        """The term's text with a dimension for each of `axes`."""
        if not term.axes or term.axes == axes:
            return term.text
        return f"{term.operand}[{', '.join(':' if axis in term.axes else 'None' for axis in axes)}]"

    def fitted(self, terms: Sequence[Term]) -> tuple[list[Term], tuple[str, ...]]:
        """The terms broadcast against each other, and the axes of what they make.

        Beside a literal that takes 64 bits, which Triton would give the dtype of what it meets, all have 64.
        """
        if any(term.number and term.dtype == "i64" and not term.narrow for term in terms):
            terms = [wide(term) for term in terms]
        axes = self.ordered(axis for term in terms for axis in term.axes)
        texts = [self.aligned(term, axes) for term in terms]
        pairs = zip(terms, texts, strict=True)
        return [replace(t, text=text, rank=t.rank if text is t.text else ATOM) for t, text in pairs], axes

    def spread(self, term: Term, axes: Iterable[str]) -> Term:
        """The term with a lane for every position of `axes`."""
        every = self.ordered({*term.axes, *axes})
        if every == term.axes:
            return term
        if not term.axes:
            text = f"tl.full({self.shape(every)}, {term}, {TRITON[term.dtype]})"
        else:
            text = f"tl.broadcast_to({self.aligned(term, every)}, {self.shape(every)})"
        return Term(text, term.dtype, every)

    def in_each_lane(self, expr: Expr) -> Term:
        """An expression whose quotients have a lane for each position, also where all of these are the same."""
        self.digits = False
        try:
            return self.term(expr)
        finally:
            self.digits = True

    # --- terms ---

    def term(self, expr: Expr) -> Term:
        """An explicit expression."""
        match expr:
            case Number(value=value):
                dtype = dtype_of(expr)
                text = literal(value, dtype)
                narrow = is_integer(dtype) and -(1 << 31) <= value < 1 << 31
                return Term(text, dtype, (), LOOSE if text[0] == "-" else ATOM, narrow, True)
            case Name(id=name):
                return self.name(name)
            case Unary():
                return self.unary(expr)
            case Binary():
                return self.known.get(expr) or self.binary(expr)
            case Call(op="load" | "load_block"):
                return self.load(expr)
            case Call(op="cast", args=(inner, Text(value=dtype))):
                return self.cast(inner, dtype)
            case Call(op="cast", args=(inner, Text(value=dtype), Text())):
                return self.function("narrowed({0})", [self.term(inner)], dtype)
            case Call(op="where"):
                (c, a, b), axes = self.fitted([self.term(arg) for arg in expr.args])
                if dtype_of(expr) == "f64" and a.number and b.number:  # which together Triton would take for f32
                    a = cast(a, "f64")
                return Term(f"tl.where({c}, {a}, {b})", dtype_of(expr), axes, narrow=a.narrow and b.narrow)
            case Call(op="rand"):
                return self.function("uniform({0}, {1})", [self.term(arg) for arg in expr.args], "f32")
            case Call(op="round_to", args=(inner, Text(value=form))):
                tile = self.term(inner)
                if form == "tf32":
                    return cast(self.function("round_tf32({0})", [cast(tile, "f32")], "f32"), tile.dtype)
                return cast(cast(tile, form), tile.dtype)
            case Call(op="lane", args=(Name(id=axis), *_)):
                return Term(f"tl.arange(0, {self.lanes(axis)})", "i64", (axis,), narrow=True)
            case Call(op=op) if op in PLACES:
                return self.function(PLACES[op], [self.term(arg) for arg in expr.args], dtype_of(expr))
            case Call():
                loose, args = id(expr) in self.loose, [self.term(arg) for arg in expr.args]
                made = self.elementwise(expr.op, args, dtype_of(expr.args[0]), loose)
                return replace(made, dtype=dtype_of(expr))
        raise TypeError(f"not a value: {expr}")

    def name(self, name: str) -> Term:
        return self.values.get(name) or Term(name, "i64", narrow=True)  # a size that the launch gives

    def cast(self, inner: Expr, dtype: str) -> Term:
        term = self.term(inner)
        return replace(held(term, TRITON[dtype]), dtype=dtype, narrow=False) if term.number else cast(term, dtype)

    def unary(self, expr: Unary) -> Term:
        operand = self.term(expr.operand)
        if expr.op == "not" or operand.dtype == "bool":
            return Term(f"{operand.operand} == 0", "bool", operand.axes, LOOSE)
        return replace(operand, text=f"{expr.op}{operand.operand}", rank=LOOSE, number=False)

    def binary(self, expr: Binary) -> Term:
        op, dtype = expr.op, dtype_of(expr)
        if op == "**":
            return self.power(expr, dtype)
        pair = [self.term(expr.left), self.term(expr.right)]
        if op in COMPARISONS or dtype == "bool":
            return self.joined(LOGIC.get(op, op), pair, "bool")
        if is_integer(dtype):
            return self.whole(expr, pair, dtype)
        if op in ("//", "%"):
            return self.function("remainder({0}, {1})" if op == "%" else "floor_quotient({0}, {1})", pair, dtype)
        if op == "/" and dtype == "f32" and op in self.dialect.forms:
            return self.quotient(expr, pair)
        made = self.joined(op, pair, dtype)
        return held(made, TRITON[dtype]) if op == "/" and dtype == "f16" else made

    def joined(self, op: str, pair: Sequence[Term], dtype: str) -> Term:
        """Two terms by an operator."""
        (left, right), axes = self.fitted(pair)
        return Term(f"{left.beside(op)} {op} {right.beside(op, right=True)}", dtype, axes, RANKS.get(op, LOOSE))

    def quotient(self, expr: Binary, pair: Sequence[Term]) -> Term:
        """A quotient of f32: by a power of two, a product; rounded once as the dialect spells that, unless it may be an
        ulp off."""
        divisor, forms = expr.right, self.dialect.forms
        if isinstance(divisor, Number) and math.frexp(divisor.value)[0] == 0.5:
            return self.joined("*", [pair[0], self.term(replace(divisor, value=1 / divisor.value))], "f32")
        return self.joined("/", pair, "f32") if id(expr) in self.loose else self.function(forms["/"], pair, "f32")

    def power(self, expr: Binary, dtype: str) -> Term:
        base = self.term(expr.left)
        if isinstance(expr.right, Number):
            exponent = expr.right.value
            if exponent in (2, 3) and base.text.isidentifier():
                return base.with_text(" * ".join([base.text] * int(exponent)), PRODUCT)
            named = {0.5: "sqrt", -1: "reciprocal", -0.5: "rsqrt"}.get(exponent) if is_float(dtype) else None
            if named:
                return self.elementwise(named, [base], dtype, named == "reciprocal" and id(expr) in self.loose)
        pair = [base, self.term(expr.right)]
        if is_integer(dtype):
            return self.function("int_power({0}, {1})", [wide(t) for t in pair], dtype)
        return self.elementwise("pow", pair, dtype)

    # --- whole numbers ---

    def whole(self, expr: Binary, pair: Sequence[Term], dtype: str) -> Term:
        """Integer arithmetic: in 32 bits where an i64 of the language stays within; `//` and `%` round down."""
        left, right = pair
        op, divisor = expr.op, expr.right
        found = self.counting(expr.left) if op in ("//", "%") and left.axes and self.digits else None
        if found is not None and isinstance(divisor, Number):
            start, lanes, factor = found
            if math.gcd(factor, int(divisor.value)) % lanes == 0:
                return self.digit(op, start, lanes, expr)
        if dtype == "i64" and left.narrow and right.narrow and not self.bounds.fits_i32(expr):
            pair = left, right = [wide(left), wide(right)]
        if op in ("//", "%") and not (self.positive(expr.left, left) and self.positive(expr.right, right)):
            made = self.function(f"{'floor_div' if op == '//' else 'floor_mod'}({{0}}, {{1}})", pair, dtype)
        else:
            made = self.joined(op, pair, dtype)
        return replace(made, narrow=dtype == "i64" and left.narrow and right.narrow)

    def digit(self, op: str, start: Expr, lanes: int, expr: Binary) -> Term:
        """A digit of a tile that lies between two multiples of the divisor: one quotient, remainders that count up."""
        first = self.term(fold(Binary(op, start, expr.right, type=INDEX)))
        if op == "//":
            return first
        text = f"tl.multiple_of({first}, {lanes}) + tl.arange(0, {lanes})"  # Triton knows no divisor of a remainder
        return Term(text, "i64", self.term(expr.left).axes, SUM, narrow=first.narrow)

    def counting(self, expr: Expr) -> tuple[Expr, int, int] | None:
        """Where the positions that `expr` counts up from start in the tile at hand, how many there are, and what
        divides the start: `k`, or `k % 64` where no tile of k crosses a multiple of 64."""
        if isinstance(expr, Name) and expr.id in self.body.axes:
            axis = self.body.axes[expr.id]
            return None if axis.lanes is None else (axis.begin, axis.lanes, self.divisors.of(axis.begin))
        if not (isinstance(expr, Binary) and expr.op == "%" and isinstance(expr.right, Number)):
            return None
        found = self.counting(expr.left)
        if found is None:
            return None
        start, lanes, factor = found
        factor = math.gcd(factor, int(expr.right.value))
        return (fold(Binary("%", start, expr.right, type=INDEX)), lanes, factor) if factor % lanes == 0 else None

    def positive(self, expr: Expr, term: Term) -> bool:
        low = self.bounds.interval(expr)[0]
        return (low is not None and low >= 0) or term.dtype == "u8"

    # --- functions ---

    def elementwise(self, op: str, terms: Sequence[Term], dtype: str, loose: bool = False) -> Term:
        """A function of numbers; `loose`: a reciprocal that may be an ulp off."""
        if not is_float(dtype):
            return self.of_integers(op, terms, dtype)
        if op in self.dialect.forms and dtype != "f64" and not loose:
            return self.function(self.dialect.forms[op], terms, dtype)
        if op == "sign":
            kind = TRITON[dtype]
            return self.function(f"({{0}} > 0.0).to({kind}) - ({{0}} < 0.0).to({kind})", terms, dtype)
        if op in LIBDEVICE:
            places = ", ".join(f"{{{n}}}" for n in range(len(terms)))
            if dtype == "f64" and any(t.number for t in terms):  # beside an f64 it takes no other dtype
                like = next(t for t in terms if not t.number)
                terms = [like.with_text(f"tl.zeros_like({like}) + {t}", LOOSE) if t.number else t for t in terms]
            return self.function(f"libdevice.{LIBDEVICE[op]}({places})", terms, dtype)
        return self.function(TEXTS[op], terms, dtype)

    def of_integers(self, op: str, terms: Sequence[Term], dtype: str) -> Term:
        if op == "sign":
            made = self.function("({0} > 0).to(tl.int32) - ({0} < 0).to(tl.int32)", terms, dtype)
            return held(replace(made, rank=LOOSE), TRITON[dtype])
        if op not in WHOLE:
            raise Unsupported(f"`{op}` of {dtype} values has no form in Triton.", "Cast to f32 first.")
        made = self.function(WHOLE[op], terms, dtype)
        return replace(made, narrow=all(t.narrow for t in terms) and op not in ("isnan", "isinf", "isfinite"))

    def function(self, form: str, terms: Sequence[Term], dtype: str) -> Term:
        """`form` with the terms in it."""
        self.needs |= called(form.format(*"abcde"), self.dialect.helpers)
        fitted, axes = self.fitted(terms)
        spaced = _spaced(form)
        text = form.format(*(t.operand if spaced else t.text for t in fitted))
        closed = form[-1:] == ")" and form.count("(") == form.count(")") and not spaced
        return Term(text, dtype, axes, ATOM if closed else LOOSE)


def _spaced(form: str) -> bool:
    """Whether operands stand beside operators in a form, and not only between commas and brackets."""
    return form[0] == "-" or any(f" {op} " in form for op in ("-", "/", "%", "!=", "==", "<", ">"))
