"""Expressions of the tile IR as TileLang, for one element: what T.Parallel goes over is in the names of its lanes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from akg_core.plugin import Unsupported
from akg_core.plugin.lower import ATOM, LOOSE, PRODUCT, RANKS, SUM, TORCH_NAMES, Body, dtype_of, element_of
from akg_core.plugin.sketch import (
    COMPARISONS,
    Binary,
    Call,
    Element,
    Expr,
    Name,
    Number,
    Text,
    Unary,
    is_float,
    is_integer,
)
from akg_core.plugin.tile import EXISTS
from akg_plugin_tilelang.emit.functions import BESIDE_ONE, FORMS, WHOLE, called
from akg_plugin_tilelang.emit.terms import Term, cast, literal, strong

NARROW = 2**31 - 2**22  # index arithmetic below this stays in 32 bits; what is left is for lanes that do not exist


SUBTRACTIONS = {"f32": "__fsub_rn", "f64": "__dsub_rn"}
"""What subtracts as it is written, by dtype: TileLang makes 0 of x - x, also where x is NaN or infinite."""


@dataclass(slots=True)
class Tile:
    """The tile of an axis at hand: where it begins, what lanes that exist lie before, and the name of a lane."""

    begin: Term
    end: str
    lane: str

    def position(self) -> Term:
        if not self.lane:
            return self.begin
        if self.begin.text == "0":
            return Term(self.lane, "i64", narrow=True)
        return replace(self.begin, text=f"{self.begin} + {self.lane}", rank=SUM)


class ExpressionPrinter:
    """Prints expressions of one region; `tiles`: axes at hand; `values`: the term of each value, for one element."""

    def __init__(self, body: Body) -> None:
        self.body, self.bounds = body, body.bounds
        self.tensors = body.tensors
        self.lanes: dict[str, str] = {}  # of each axis: the name of a lane
        self.tiles: dict[str, Tile] = {}
        self.values: dict[str, Term] = {}
        self.kept: dict[Expr, Term] = {}  # products of positions that lie in tiles
        self.needs: set[str] = set()  # functions that kernel.py has to define

    def term(self, expr: Expr) -> Term:
        """An explicit expression."""
        match expr:
            case Number(value=value):
                dtype = dtype_of(expr)
                if dtype == "i64" and abs(int(value)) < NARROW:
                    return Term(str(int(value)), dtype, ATOM if value >= 0 else LOOSE, True, True)
                return Term(literal(value, dtype), dtype)
            case Name(id=name):
                return self.name(name)
            case Unary(op=op, operand=operand):
                inner = self.term(operand)
                if op == "not" or inner.dtype == "bool":
                    return Term(f"T.Not({inner})", "bool")
                return replace(inner, text=f"{op}{inner.operand}", rank=LOOSE, number=False)
            case Binary():
                return self.kept.get(expr) or self.binary(expr)
            case Call(op="load"):
                return self.load(expr)
            case Call(op="cast", args=(inner, Text(value=dtype))):
                return cast(strong(self.term(inner)), dtype)
            case Call(op=op, args=(Name(id=axis), *_)) if op == EXISTS:
                return Term(f"{self.tiles[axis].position()} < {self.tiles[axis].end}", "bool", LOOSE)
            case Call(op="where", args=(condition, first, second)):
                return self.chosen(self.term(condition), self.term(first), self.term(second), dtype_of(expr))
            case Call(op="round_to", args=(inner, Text(value=form))):
                tile = self.term(inner)
                if form == "tf32":
                    return cast(Term(self.call("round_tf32", cast(tile, "f32")), "f32"), tile.dtype)
                return cast(cast(tile, form), tile.dtype)
            case Call(op="lane", args=(Name(id=axis),)):
                return Term(self.lanes.get(axis, "0"), "i64", narrow=True)
            case Call(op="program"):
                return Term("pid", "i32")
            case Call(op="rand", args=(seed, index)):
                return Term(self.call("uniform", strong(self.term(seed)), strong(self.term(index))), "f32")
            case Call():
                return self.function(expr)
        raise TypeError(f"not a value: {expr}")

    def call(self, name: str, *arguments: object) -> str:
        """A call of a function that kernel.py defines."""
        self.needs.add(name)
        return f"{name}({', '.join(map(str, arguments))})"

    def name(self, name: str) -> Term:
        if name in self.values:
            return self.values[name]
        if name in self.tiles:
            return self.tiles[name].position()
        return Term(name, "i64", narrow=True)  # a size that the launch gives

    def chosen(self, condition: Term, first: Term, second: Term, dtype: str) -> Term:
        """One of two terms; what is not chosen is not computed, so that it may lie outside of its tensor."""
        narrow = first.narrow and second.narrow
        first, second = (first, second) if narrow else (strong(first), strong(second))
        return Term(f"T.if_then_else({condition}, {first}, {second})", dtype, narrow=narrow)

    def binary(self, expr: Binary) -> Term:
        op, dtype = expr.op, dtype_of(expr)
        left, right = self.term(expr.left), self.term(expr.right)
        if op in ("and", "or"):
            return Term(f"T.{op.capitalize()}({left}, {right})", "bool")
        if op in COMPARISONS:
            if left.dtype == "bool":
                left, right = cast(left, "i32"), cast(right, "i32")
            return Term(f"{left.beside(op)} {op} {right.beside(op, right=True)}", "bool", LOOSE)
        if dtype == "bool" and op == "^":
            return Term(f"{cast(left, 'i32')} != {cast(right, 'i32')}", "bool", LOOSE)
        if dtype == "bool":
            return Term(f"T.{'Or' if op in ('|', '+') else 'And'}({left}, {right})", "bool")
        if op == "**":
            return self.power(expr.right, left, right, dtype)
        if is_float(dtype) and op in ("//", "%"):
            return Term(self.call("floor_quotient" if op == "//" else "remainder", left, right), dtype)
        if op == "-" and dtype in SUBTRACTIONS and _same(expr.left, expr.right):
            return Term(f'T.call_pure_extern("{TORCH_NAMES[dtype]}", "{SUBTRACTIONS[dtype]}", {left}, {right})', dtype)
        narrow = left.narrow and right.narrow
        if not is_float(dtype) and narrow and not self.fits(expr):
            left, right, narrow = strong(left), strong(right), False
        text = f"{left.beside(op)} {op} {right.beside(op, right=True)}"
        return Term(text, dtype, RANKS.get(op, LOOSE), narrow)

    def power(self, by: Expr, base: Term, exponent: Term, dtype: str) -> Term:
        if not is_float(dtype):
            return Term(self.call("int_power", strong(base), strong(exponent)), dtype)
        number = by.value if isinstance(by, Number) else None
        if number in (2, 3) and base.rank == ATOM:
            return Term(" * ".join([base.text] * int(number or 0)), dtype, PRODUCT)
        named = {0.5: "T.sqrt({0})", -0.5: "1.0 / T.sqrt({0})", -1: "1.0 / {0}"}.get(number or 0)
        if named:
            return Term(named.format(base.operand), dtype, PRODUCT if "/" in named else ATOM)
        return Term(f"T.pow({base}, {exponent})", dtype)

    def fits(self, expr: Expr) -> bool:
        """Whether index arithmetic stays within 32 bits for certain."""
        low, high = self.bounds.interval(expr)
        return low is not None and high is not None and low > -NARROW and high < NARROW

    def function(self, call: Call) -> Term:
        source = dtype_of(call.args[0])
        forms = FORMS if is_float(source) else WHOLE
        if call.op not in forms:
            raise Unsupported(f"`{call.op}` of {source} values has no form in TileLang.", "Cast to f32 first.")
        terms = [strong(self.term(arg)) for arg in call.args]
        form = forms[call.op]
        if source == "f32" and ("beside_one", Number(True)) in call.keywords:
            form = BESIDE_ONE.get(call.op, form)
        suffix, bits = ("", "int64") if source == "f64" else ("f", "int32")
        floats = "float64" if source == "i64" else "float32"
        options = {"zero": literal(0, source), "suffix": suffix, "bits": bits, "floats": floats}
        self.needs |= called(form.format(*"abc", **options))
        text = form.format(*terms, **options)
        if dtype_of(call) != "bool" and is_integer(source):
            text = f"T.cast({text}, {literal(0, source).partition('(')[0][2:]!r})" if call.op == "sign" else text
        return Term(text, dtype_of(call), ATOM if text.endswith(")") and text[0] in "Tmrsfl" else LOOSE)

    # --- memory ---

    def load(self, call: Call) -> Term:
        element, keywords = element_of(call), dict(call.keywords)
        dtype = self.tensors[element.tensor].dtype
        place = Term(self.place(element), dtype)
        if dtype == "bool":
            place = Term(f"{place} != T.uint8(0)", dtype, LOOSE)
        if "mask" not in keywords:
            return place
        other = self.term(keywords.get("other", Number(0, type=call.type)))
        return self.chosen(self.term(keywords["mask"]), place, cast(strong(other), dtype), dtype)

    def place(self, element: Element) -> str:
        """An element of a tensor; one without dimensions is launched as a tensor of one element."""
        return f"{element.tensor}[{', '.join(str(self.term(i)) for i in element.indices) or '0'}]"

    def at(self, name: str, axes: Sequence[str]) -> str:
        """An element of a tile along `axes`."""
        return f"{name}[{', '.join(self.lanes[axis] for axis in axes) or '0'}]"


def _same(left: Expr, right: Expr) -> bool:
    """Whether two expressions are one where a division by 1 is left out."""
    plain = [_undivided(side) for side in (left, right)]
    return plain[0] == plain[1]


def _undivided(expr: Expr) -> Expr:
    divided = isinstance(expr, Binary) and expr.op == "/" and isinstance(expr.right, Number) and expr.right.value == 1
    return expr.left if divided and isinstance(expr, Binary) else expr
