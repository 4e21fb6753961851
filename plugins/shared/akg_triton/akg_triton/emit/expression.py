"""Expressions of a sketch as Triton: elementwise operations on tiles whose dimensions are the axes in one order."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from akg_core.plugin import Unsupported
from akg_core.plugin.lower import fold
from akg_core.plugin.sketch import (
    INDEX,
    OPERATIONS,
    AxisList,
    Binary,
    Bounds,
    Call,
    Expr,
    Name,
    Number,
    Text,
    Type,
    Unary,
    combine,
    digits,
    is_float,
    is_integer,
)
from akg_triton.emit.functions import LIBDEVICE, TEXTS, WHOLE
from akg_triton.emit.source import Source
from akg_triton.emit.terms import ATOM, LOOSE, NARROW, PRODUCT, RANKS, SUM, Axis, Scope, Term
from akg_triton.signature import TRITON

COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
LOGIC = {"and": "&", "or": "|", "&": "&", "|": "|", "^": "^"}
ONE = Number(1)


def literal(value: int | float | bool, dtype: str) -> str:
    """A number as Python text; it takes the dtype of the tile that it meets."""
    if dtype == "bool" or isinstance(value, bool):
        return str(bool(value)) if dtype == "bool" else literal(int(value), dtype)
    if is_integer(dtype):
        return str(int(value))
    if math.isinf(value) or math.isnan(value):
        return f'float("{float(value)}")'
    return repr(float(value))


class ExpressionWriter:
    """Writes expressions of one region of a kernel. `order`: its axes, from the first dimension of a tile to the last.

    Operations that see a whole axis, loads and products are those of the classes that derive from this one.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.dialect = source.dialect
        self.extents: dict[str, Expr] = {}
        self.counters: dict[str, tuple[Expr, Expr]] = {}
        known = frozenset({*source.instance.dimensions, *source.instance.open})
        self.bounds = Bounds(self.extents, self.counters, known)
        self.order = list(source.order)
        self.line = 0

    # --- axes and shapes ------------------------------------------------------------------------------

    def ordered(self, axes: Iterable[str]) -> tuple[str, ...]:
        """Axes in the order of dimensions; one not met before comes last."""
        wanted = set(axes)
        self.order += sorted(wanted - set(self.order))
        return tuple(axis for axis in self.order if axis in wanted)

    def aligned(self, term: Term, axes: tuple[str, ...]) -> str:
        """The term's text with a dimension for each of `axes`."""
        if not term.axes or term.axes == axes:
            return term.text
        return f"{term.operand}[{', '.join(':' if axis in term.axes else 'None' for axis in axes)}]"

    def fitted(self, terms: Sequence[Term]) -> tuple[list[Term], tuple[str, ...]]:
        """The terms broadcast against each other, and the axes of what they make."""
        axes = self.ordered(axis for term in terms for axis in term.axes)
        fitted = []
        for term in terms:
            text = self.aligned(term, axes)
            fitted.append(replace(term, text=text, rank=term.rank if text is term.text else ATOM))
        return fitted, axes

    # --- terms ----------------------------------------------------------------------------------------

    def term(self, expr: Expr, scope: Scope, dtype: str = "") -> Term:
        """`expr` in `dtype`, or in its own."""
        kind = expr.type or Type()
        if isinstance(expr, Number):
            wanted = dtype or kind.dtype
            whole = isinstance(expr.value, int) and not is_float(wanted)
            text = literal(expr.value, wanted)
            return Term(text, wanted, (), LOOSE if text[0] == "-" else ATOM, True, whole, expr if whole else None)
        term = self.compute(expr, scope, kind.dtype)
        return self.convert(term, dtype or kind.dtype)

    def convert(self, term: Term, dtype: str) -> Term:
        """The term in another dtype of the language."""
        if term.dtype == dtype:
            return term
        if term.weak and _number(term.text) and is_float(term.dtype) and is_float(dtype):
            return replace(term, dtype=dtype)
        if term.weak and is_float(term.dtype) and is_float(dtype) and dtype != "f64":
            return replace(term, text=f"tl.cast({term}, {TRITON[dtype]})", dtype=dtype, rank=ATOM, weak=False)
        if dtype == "bool":
            zero = "0.0" if is_float(term.dtype) else "0"
            return replace(term, text=f"{term.operand} != {zero}", dtype=dtype, rank=LOOSE, narrow=False, expr=None)
        return replace(self.cast(term, TRITON[dtype]), dtype=dtype, narrow=False, weak=False, expr=None)

    def cast(self, term: Term, triton_dtype: str) -> Term:
        text = f"{term.operand}.to({triton_dtype})" if term.axes else f"tl.cast({term}, {triton_dtype})"
        return term.with_text(text)

    def wide(self, term: Term) -> Term:
        """An index value in 64 bits."""
        if not term.narrow:
            return term
        return replace(self.cast(term, "tl.int64"), narrow=False)

    def compute(self, expr: Expr, scope: Scope, dtype: str) -> Term:
        match expr:
            case Name(id=id):
                return self.name(id, scope)
            case Unary():
                return self.unary(expr, scope, dtype)
            case Binary():
                return self.binary(expr, scope, dtype)
            case Call(op=op):
                return self.call(expr, OPERATIONS[op].kind, scope, dtype)
        raise TypeError(f"not a value: {expr}")

    def name(self, id: str, scope: Scope) -> Term:
        if id in scope.values:
            return scope.values[id]
        if id in scope.axes:
            return scope.axes[id].positions()
        return Term(id, "i64", narrow=True, expr=Name(id, type=INDEX))  # a size that the launch gives

    def axis(self, node: Expr, scope: Scope) -> Axis:
        assert isinstance(node, Name)
        return scope.axes[node.id]

    # --- operators ------------------------------------------------------------------------------------

    def unary(self, expr: Unary, scope: Scope, dtype: str) -> Term:
        operand = self.term(expr.operand, scope, "bool" if expr.op == "not" else dtype)
        if dtype == "bf16":
            return self.function("-{0}", [operand], dtype)
        if expr.op == "not" or dtype == "bool":
            return replace(operand, text=f"{operand.operand} == 0", rank=LOOSE, dtype="bool", expr=None)
        made = replace(operand, text=f"{expr.op}{operand.operand}", rank=LOOSE, fill=None, weak=False, expr=None)
        return replace(made, expr=Unary(expr.op, operand.expr, type=INDEX) if operand.expr else None)

    def binary(self, expr: Binary, scope: Scope, dtype: str) -> Term:
        op = expr.op
        if op in COMPARISONS:
            sides = [(e.type.dtype, e.type.weak) if e.type else ("i64", False) for e in (expr.left, expr.right)]
            meeting = combine(sides)[0]
            pair = [self.term(e, scope, meeting) for e in (expr.left, expr.right)]
            a, b = pair[0].expr, pair[1].expr
            index = Binary(op, a, b) if a is not None and b is not None else None
            return replace(self.joined(op, pair, "bool"), expr=index)
        if dtype == "bool":
            word = {"+": "|", "*": "&"}.get(op, op)
            return self.joined(LOGIC[word], [self.term(e, scope, "bool") for e in (expr.left, expr.right)], "bool")
        if op == "**":
            return self.power(expr, scope, dtype)
        pair = [self.term(e, scope, dtype) for e in (expr.left, expr.right)]
        if all(term.weak for term in pair) and is_float(dtype):
            return self.known(op, pair)
        if is_integer(dtype):
            return self.whole(op, pair, dtype)
        if op in ("//", "%"):
            return self.function("remainder({0}, {1})" if op == "%" else "floor_quotient({0}, {1})", pair, dtype)
        made = self.joined(op, pair, dtype)
        return self.cast(made, TRITON[dtype]) if op == "/" and dtype == "f16" else made

    def known(self, op: str, pair: Sequence[Term]) -> Term:
        """Floats known at launch that only the kernel can compute: in double, as the host would, where the chip can."""
        widest = TRITON["f32" if "f64" in self.dialect.lacks else "f64"]
        texts = [term.text if _number(term.text) else f"tl.cast({term}, {widest})" for term in pair]
        return Term(f"{texts[0]} {op} {texts[1]}", pair[0].dtype, (), RANKS[op], weak=True)

    def joined(self, op: str, pair: Sequence[Term], dtype: str) -> Term:
        """Two terms by an operator. bf16 is computed in f32 and rounded: not every chip has more of it."""
        narrow = any(term.dtype == "bf16" for term in pair)
        if narrow:
            pair = [self.convert(term, "f32") for term in pair]
        (left, right), axes = self.fitted(pair)
        rank = RANKS.get(op, LOOSE)
        text = f"{left.beside(op)} {op} {right.beside(op, right=True)}"
        zeros = {term.fill for term in pair} == {0.0} and left.axes == right.axes
        alike = zeros and op in ("*", "+", "-")  # lanes that do not exist stay zero
        made = Term(text, "f32" if narrow and dtype == "bf16" else dtype, axes, rank, fill=0.0 if alike else None)
        return self.convert(made, dtype)

    def whole(self, op: str, pair: list[Term], dtype: str) -> Term:
        """Integer arithmetic: in 32 bits where an i64 of the language stays within; `//` and `%` round down."""
        left, right = pair
        expr = fold(Binary(op, left.expr, right.expr, type=INDEX)) if left.expr and right.expr else None
        if isinstance(expr, Number) and not (left.axes or right.axes):
            rank = ATOM if expr.value >= 0 else LOOSE
            return Term(str(expr.value), dtype, (), rank, left.weak and right.weak, True, expr)
        if op == "*" and ONE in (left.expr, right.expr):
            return left if right.expr == ONE else right
        if dtype == "i64" and left.narrow and right.narrow and not self.fits(expr):
            pair = left, right = [self.wide(left), right]
        moved = _moved(op, left, right)
        if moved is not None:
            return replace(moved, expr=expr, weak=left.weak and right.weak, narrow=left.narrow and right.narrow)
        if op in ("//", "%") and not (self.positive(left) and self.positive(right)):
            name = "floor_div" if op == "//" else "floor_mod"
            made = self.function(f"{name}({{0}}, {{1}})", pair, dtype)
        else:
            made = self.joined(op, pair, dtype)
        narrow = dtype == "i64" and left.narrow and right.narrow
        return replace(made, narrow=narrow, expr=expr, weak=left.weak and right.weak)

    def fits(self, expr: Expr | None) -> bool:
        """Whether index arithmetic stays within 32 bits for certain."""
        low, high = (None, None) if expr is None else self.bounds.interval(expr)
        return low is not None and high is not None and low > -NARROW and high < NARROW

    def positive(self, term: Term) -> bool:
        low = self.bounds.interval(term.expr)[0] if term.expr is not None else None
        return (low is not None and low >= 0) or term.dtype == "u8"

    def power(self, expr: Binary, scope: Scope, dtype: str) -> Term:
        base = self.term(expr.left, scope, dtype)
        if isinstance(expr.right, Number):
            exponent = expr.right.value
            if exponent in (2, 3) and base.text.isidentifier():
                return replace(base, text=" * ".join([base.text] * int(exponent)), rank=PRODUCT, expr=None, fill=None)
            named = {0.5: "sqrt", -1: "reciprocal", -0.5: "rsqrt"}.get(exponent) if is_float(dtype) else None
            if named:
                return self.elementwise(named, [base], dtype)
        pair = [base, self.term(expr.right, scope, dtype)]
        if is_integer(dtype):
            return self.function("int_power({0}, {1})", [self.wide(t) for t in pair], dtype)
        return self.elementwise("pow", pair, dtype)

    # --- operations -----------------------------------------------------------------------------------

    def call(self, call: Call, kind: str, scope: Scope, dtype: str) -> Term:
        match kind:
            case "elementwise" if call.op == "where":
                return self.where(call, scope, dtype)
            case "elementwise":
                first = call.args[0].type
                if OPERATIONS[call.op].dtype == "bool":
                    dtype = first.dtype if first else "f32"
                made = self.elementwise(call.op, [self.term(a, scope, dtype) for a in call.args], dtype)
                return replace(made, dtype="bool") if OPERATIONS[call.op].dtype == "bool" else made
            case "cast":
                tile = self.term(call.args[0], scope)
                made = self.convert(tile, dtype) if not isinstance(call.args[0], Number) else self.created(tile, dtype)
                return replace(made, weak=False)
            case "axis":
                axis = self.axis(call.args[0], scope)
                if call.op == "begin":
                    return axis.begin
                return axis.end() if call.op == "end" else self.whole("-", [axis.end(), axis.begin], "i64")
            case "random":
                pair = [self.term(a, scope, "i64") for a in call.args]
                return self.function("uniform({0}, {1})", pair, "f32")
            case "round":
                return self.rounded(call, scope, dtype)
            case "create":
                axes, value = call.args[0], call.args[1] if call.op == "full" else Number(0)
                term = self.term(value, scope, dtype)
                assert isinstance(axes, AxisList)
                names = [scope.axes[name] for name in axes.axes]
                shape = [str(self.block(a)) for a in names if not a.unit]
                order = self.ordered(a.name for a in names if not a.unit)
                shape = [str(self.block(a)) for name in order for a in names if a.name == name]
                return Term(f"tl.full([{', '.join(shape)}], {term}, {TRITON[dtype]})", dtype, order)
        return self.seen(call, kind, scope, dtype)

    def seen(self, call: Call, kind: str, scope: Scope, dtype: str) -> Term:
        """Operations that read memory or see a whole axis."""
        raise NotImplementedError

    def block(self, axis: Axis) -> int | str:
        return axis.block

    def created(self, number: Term, dtype: str) -> Term:
        """A number as a scalar of `dtype`."""
        return replace(number, text=f"tl.cast({number}, {TRITON[dtype]})", dtype=dtype, rank=ATOM, narrow=False)

    def where(self, call: Call, scope: Scope, dtype: str) -> Term:
        condition, *pair = [self.term(a, scope, d) for a, d in zip(call.args, ("bool", dtype, dtype), strict=True)]
        (c, a, b), axes = self.fitted([condition, *pair])
        made = Term(f"tl.where({c}, {a}, {b})", dtype, axes, narrow=a.narrow and b.narrow)
        if condition.expr and a.expr and b.expr:
            return replace(made, expr=Call("where", (condition.expr, a.expr, b.expr), type=INDEX))
        return made

    def elementwise(self, op: str, terms: Sequence[Term], dtype: str) -> Term:
        if not is_float(dtype):
            return self.of_integers(op, terms, dtype)
        if op in self.dialect.forms and dtype != "f64":
            return self.function(self.dialect.forms[op], terms, dtype)
        if op == "sign":
            kind = TRITON[dtype]
            return self.function(f"({{0}} > 0.0).to({kind}) - ({{0}} < 0.0).to({kind})", terms, dtype, exact=True)
        if op in LIBDEVICE:
            places = ", ".join(f"{{{n}}}" for n in range(len(terms)))
            return self.function(f"libdevice.{LIBDEVICE[op]}({places})", terms, dtype)
        exact = op in ("abs", "maximum", "minimum", "relu", "clamp", "isnan", "isinf", "isfinite")
        return self.function(TEXTS[op], terms, dtype, exact)

    def of_integers(self, op: str, terms: Sequence[Term], dtype: str) -> Term:
        if op == "sign":
            made = self.function("({0} > 0).to(tl.int32) - ({0} < 0).to(tl.int32)", terms, dtype)
            return self.cast(replace(made, rank=LOOSE), TRITON[dtype])
        if op not in WHOLE:
            raise Unsupported(f"`{op}` of {dtype} values has no form in Triton.", "Cast to f32 first.")
        made = self.function(WHOLE[op], terms, dtype)
        exprs = [t.expr for t in terms if t.expr is not None]
        if op in ("maximum", "minimum") and len(exprs) == 2:
            narrow = all(t.narrow for t in terms)
            return replace(made, expr=Call(op, tuple(exprs), type=INDEX), narrow=narrow)
        return replace(made, narrow=all(t.narrow for t in terms) and op not in ("isnan", "isinf", "isfinite"))

    def function(self, form: str, terms: Sequence[Term], dtype: str, exact: bool = False) -> Term:
        """`form` with the terms in it; f16 and bf16 are computed in f32 and rounded, unless the form is `exact`."""
        half = dtype == "bf16" or (dtype == "f16" and not exact)
        if half:
            terms = [self.convert(t, "f32") for t in terms]
        fitted, axes = self.fitted(terms)
        text = form.format(*(t.operand if _spaced(form) else t.text for t in fitted))
        whole = form[-1:] == ")" and form.count("(") == form.count(")") and not _spaced(form)
        made = Term(text, "f32" if half else dtype, axes, ATOM if whole else LOOSE)
        return self.convert(made, dtype)

    def rounded(self, call: Call, scope: Scope, dtype: str) -> Term:
        tile = self.term(call.args[0], scope)
        assert isinstance(call.args[1], Text)
        if call.args[1].value == "tf32":
            wide = self.function("round_tf32({0})", [self.convert(tile, "f32")], "f32")
            return self.convert(wide, dtype)
        return self.convert(self.convert(tile, call.args[1].value), dtype)

    def split(self, call: Call, scope: Scope) -> list[Expr]:
        """The digits of `split` as expressions over what the scope knows; the index is a name or a plain number."""
        sizes = call.args[1].items if hasattr(call.args[1], "items") else (call.args[1],)
        return [fold(digit) for digit in digits(call.args[0], tuple(sizes))]


def _moved(op: str, left: Term, right: Term) -> Term | None:
    """`x + 2 - 1` as `x + 1` and `(x + 2) * 3` as `x * 3 + 6`, so that equal positions read the same."""
    if op in ("+", "-") and right.text == "0":
        return left
    found = re.fullmatch(r"(.+) ([+-]) (\d+)", left.text) if left.rank == SUM and op in ("+", "-", "*") else None
    if found is None or not right.text.isdigit():
        return None
    base, number = found[1], int(right.text)
    tail = int(found[3]) if found[2] == "+" else -int(found[3])
    if op == "*":
        if any(f" {sign} " in base for sign in ("+", "-", "//", "%")):
            return None
        base, total, rank = f"{base} * {number}", tail * number, PRODUCT
    else:
        total, rank = tail + (number if op == "+" else -number), ATOM if base.isidentifier() else SUM
    text = base if total == 0 else f"{base} {'+' if total > 0 else '-'} {abs(total)}"
    return Term(text, left.dtype, left.axes, SUM if total else rank)


def _number(text: str) -> bool:
    return text.replace(".", "").replace("e-", "").replace("e+", "").isdigit()


def _spaced(form: str) -> bool:
    """Whether operands stand beside operators in a form, and not only between commas and brackets."""
    return form[0] == "-" or any(f" {op} " in form for op in ("-", "/", "%", "!=", "==", "<", ">"))
