"""Every conversion written out: what an operation reads has the dtype in which it computes, and no number is weak.

A printer of what comes out converts nothing by itself: where dtypes differ there is a `cast`, and every number has the
dtype of what it meets. Floats that only a launch knows are computed in f64, as the host would. Functions of f16 and
bf16 that round are computed in f32, and so is all that is of a dtype in which a language does not compute. Languages of
loops add up by themselves: `hold` gives each accumulator its dtype and what it begins with.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from akg_core.dtypes import BITS, DTYPES, FLOATS, as_float, combine, is_float
from akg_core.lower.ir import Body, Op, element_of
from akg_core.notation import COMPARISONS
from akg_core.sketch import numerics
from akg_core.sketch.ast import Binary, Call, Element, Expr, Name, Number, TensorParameter, Text, Type, Unary
from akg_core.sketch.ops import OPERATIONS

LOGIC = frozenset({"and", "or"})
EXACT = frozenset({"abs", "sign", "maximum", "minimum", "relu", "clamp", "isnan", "isinf", "isfinite"})


def make_explicit(body: Body, lacking: Collection[str] = (), known_at_launch: str = "f64") -> None:
    """Rewrite the expressions of every op, the definitions of values that are computed where they are used, and axes.

    `lacking`: dtypes that the language loads and stores but does not compute in; `known_at_launch`: that of floats
    which only a launch knows.
    """
    conversions = _Conversions(body, lacking, known_at_launch)
    for op in body.ops():
        conversions.op(op)
    for value in body.values.values():
        if value.definition is not None:
            value.definition = conversions.to(value.definition, value.dtype)
    for axis in body.axes.values():
        axis.extent, axis.begin, axis.end = (conversions.to(e, "i64") for e in (axis.extent, axis.begin, axis.end))
        axis.step = None if axis.step is None else conversions.to(axis.step, "i64")


def hold(body: Body) -> None:
    """Give each reduction and scan of an explicit body the dtype that it is held in, in which it reads its operand."""
    for op in body.ops():
        if op.kind in ("reduce", "scan") and op.expr is not None:
            dtype_of = numerics.scan_dtype if op.kind == "scan" else numerics.reduction_dtype
            held = dtype_of(op.function, op.expr.dtype)
            kind = Type(dtype=held, uniform=True)
            op.start = Number(_number(numerics.identity(op.function, held), held), place=op.place, type=kind)
            op.expr = cast(op.expr, held)


class _Conversions:
    def __init__(self, body: Body, lacking: Collection[str], known_at_launch: str) -> None:
        self.lacking, self.uniform = lacking, known_at_launch
        self.dtypes = {name: value.dtype for name, value in body.values.items()}
        self.tensors: Mapping[str, TensorParameter] = body.tensors

    def op(self, op: Op) -> None:
        op.bounds = tuple(self.to(bound, "i64") for bound in op.bounds)
        if op.element is not None:
            op.element = self.element(op.element)
        if op.expr is None:
            return
        if op.kind == "store":
            op.expr = self.to(op.expr, self.tensors[op.destination.tensor].dtype)
        elif op.kind == "if":
            op.expr = self.to(op.expr, "bool")
        elif op.kind == "map":
            op.expr = self.to(op.expr, op.result.dtype)
        else:
            op.expr = self.own(op.expr)
            op.other = None if op.other is None else self.own(op.other)

    def to(self, expr: Expr, dtype: str) -> Expr:
        """`expr` in `dtype`."""
        if isinstance(expr, Number):
            return Number(_number(expr.value, dtype), place=expr.place, type=Type(dtype=dtype, uniform=True))
        return cast(self.own(expr), dtype)

    def own(self, expr: Expr) -> Expr:
        """`expr` in its own dtype; that of what a launch knows where it is a weak float."""
        kind = expr.type or Type()
        held = self.uniform if kind.weak and is_float(kind.dtype) else kind.dtype
        match expr:
            case Number():
                return self.to(expr, held)
            case Name(id=name):
                return replace(expr, type=Type(dtype=self.dtypes.get(name, "i64")))
            case Unary(op=op, operand=operand):
                inside = "bool" if op == "not" else self.computed(held)
                return cast(Unary(op, self.to(operand, inside), place=expr.place, type=Type(dtype=inside)), held)
            case Binary():
                return self.binary(expr, held)
            case Call(op="load"):
                return self.load(expr)
            case Call(op="cast", args=(inner, Text(value=wanted))):
                return self.to(inner, wanted)
            case Call(op="cast", args=(inner, *named)):  # a plugin's own, from bits of a dtype that it names
                return replace(expr, args=(self.own(inner), *named))
            case Call():
                return self.call(expr, held)
        raise TypeError(f"not a value: {expr}")

    def binary(self, expr: Binary, held: str) -> Expr:
        op, made = expr.op, held
        if op in COMPARISONS:
            dtype, made = self.computed(self.meeting((expr.left, expr.right))), "bool"
        elif op in LOGIC:
            dtype = "bool"
        elif held == "bool":
            dtype, op = held, {"+": "or", "*": "and", "|": "or", "&": "and"}.get(op, op)
        else:
            dtype = self.computed(held) if op in "+-*/" else _wide(held)
        sides = [self.to(e, dtype) for e in (expr.left, expr.right)]
        result = "bool" if made == "bool" else dtype
        return cast(Binary(op, *sides, place=expr.place, type=Type(dtype=result)), made)

    def call(self, call: Call, held: str) -> Expr:
        operation = OPERATIONS[call.op]
        if operation.kind == "random":
            dtypes, made = ["i64", "i64"], "f32"
        elif operation.kind == "round":
            return self.rounded(call, held)
        elif operation.dtype in ("bits", "from_bits"):
            dtypes, made = [(FLOATS if operation.dtype == "bits" else BITS)[held]], held
        elif call.op == "where":
            dtypes, made = ["bool", held, held], held
        else:
            dtype = self.meeting(call.args)
            dtype = as_float(dtype) if operation.dtype == "float" else dtype
            dtype = self.uniform if call.type and call.type.weak and is_float(dtype) else dtype
            dtype = self.computed(dtype) if call.op in EXACT else _wide(dtype)
            dtypes, made = [dtype] * len(call.args), "bool" if operation.dtype == "bool" else dtype
        args = tuple(self.to(a, d) for a, d in zip(call.args, dtypes, strict=True))
        return cast(replace(call, args=args, type=Type(dtype=made)), held)

    def rounded(self, call: Call, held: str) -> Expr:
        """A rounding to a format: a cast and one back, or for tf32, which is no dtype, an operation of f32."""
        inner, form = call.args
        assert isinstance(form, Text)
        if form.value in DTYPES:
            return cast(self.to(inner, form.value), held)
        return cast(replace(call, args=(self.to(inner, "f32"), form), type=Type(dtype="f32")), held)

    def load(self, call: Call) -> Expr:
        element = element_of(call)
        dtype = self.tensors[element.tensor].dtype
        keywords = tuple((k, self.to(v, dtype) if k == "other" else v) for k, v in call.keywords)
        return replace(call, args=(self.element(element),), keywords=keywords, type=Type(dtype=dtype))

    def element(self, element: Element) -> Element:
        return replace(element, indices=tuple(self.to(index, "i64") for index in element.indices))

    def computed(self, dtype: str) -> str:
        """The dtype in which the language computes what is of `dtype`."""
        return "f32" if dtype in self.lacking else dtype

    def meeting(self, exprs: Sequence[Expr]) -> str:
        """The dtype in which expressions meet; weak floats among themselves meet in f64."""
        kinds = [e.type or Type() for e in exprs]
        dtype, weak = combine([(k.dtype, k.weak) for k in kinds])
        return self.uniform if weak and is_float(dtype) else dtype


def cast(expr: Expr, dtype: str) -> Expr:
    """What is explicit, in `dtype`."""
    if expr.dtype == dtype:
        return expr
    return Call("cast", (expr, Text(dtype)), place=expr.place, type=Type(dtype=dtype))


def _wide(dtype: str) -> str:
    """The dtype in which functions of `dtype` are computed."""
    return "f32" if dtype in ("f16", "bf16") else dtype


def _number(value: int | float | bool, dtype: str) -> int | float | bool:
    if dtype == "bool":
        return bool(value)
    return float(value) if is_float(dtype) else int(value)
