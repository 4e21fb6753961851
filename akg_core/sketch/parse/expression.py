"""Expressions of a sketch: from Python's syntax tree to the language's own.

Nothing is executed. A place that does not fit gets a SketchError that says what stands there and what may.
"""

from __future__ import annotations

import ast as python
import math
from typing import NoReturn

from akg_core.dtypes import DTYPES
from akg_core.errors import SketchError
from akg_core.notation import SYMBOLS
from akg_core.sketch import ast
from akg_core.sketch.codes import finding, near
from akg_core.sketch.ops import OPERATIONS, SPELLINGS

_UNARY: dict[type, str] = {python.USub: "-", python.Not: "not", python.Invert: "~"}
DEEPEST = 64  # expressions inside each other: all that reads a sketch goes down by recursion
_SPECIAL = {"inf": math.inf, "nan": math.nan}
_INSTEAD = {
    python.IfExp: "Write where(condition, a, b).",
    python.Attribute: "Operations are plain names: exp(x), reduce_max(t, n).",
    python.MatMult: "Write dot(a, b, over=k).",
    python.Subscript: "Read a tensor with load(x[m, n]).",
    python.Slice: "Index with an axis: n = whole(N), then x[m, n].",
    python.Lambda: "Assign each step to a variable.",
    python.ListComp: "Use an axis: for n in tiles(N, BN).",
    python.JoinedStr: "Write a plain string.",
}


class ExpressionParser:
    """Reads expressions and keeps what inline Tunes need for their keys: kernel, target and keyword at hand."""

    def __init__(self, filename: str) -> None:
        self.filename = filename
        self.kernel = ""
        self.target = ""
        self._slot = "value"
        self._depth = 0
        self._keys: dict[str, int] = {}

    def fail(self, node: object, code: str, message: str, suggestion: str = "") -> NoReturn:
        """Raise SketchError at `node`, a node of Python's tree or a Place."""
        place = node if isinstance(node, ast.Place) else self.place(node)
        found = finding(code, place, message, suggestion)
        raise SketchError(f"{self.filename}:{place.line}:{place.column}: {code} {message}", suggestion, (found,))

    def place(self, node: object) -> ast.Place:
        return ast.Place(getattr(node, "lineno", 0), getattr(node, "col_offset", -1) + 1)

    def expression(self, node: python.expr) -> ast.Expr:
        """Any expression but a tensor element, which only load, store and atomics take."""
        self._depth += 1
        if self._depth > DEEPEST or (isinstance(node, python.BoolOp) and len(node.values) > DEEPEST):
            self.fail(node, "SK105", "An expression nests too deeply.", "Assign its parts to variables.")
        try:
            return self._expression(node)
        finally:
            self._depth -= 1

    def _expression(self, node: python.expr) -> ast.Expr:
        place = self.place(node)
        match node:
            case python.Constant(value=bool() | int() | float() as value):
                return ast.Number(value, place=place)
            case python.Constant(value=str(text)):
                return ast.Text(text, place=place)
            case python.Name(id=name) if name in _SPECIAL:
                return ast.Number(_SPECIAL[name], place=place)
            case python.Name(id=name):
                return ast.Name(name, place=place)
            case python.UnaryOp(op=op, operand=operand):
                return self._unary(op, self.expression(operand), place)
            case python.BinOp(left=left, op=op, right=right) if type(op) in SYMBOLS:
                return ast.Binary(SYMBOLS[type(op)], self.expression(left), self.expression(right), place=place)
            case python.BinOp(op=op):
                self.fail(node, "SK105", "A matrix product has no operator.", _INSTEAD[python.MatMult])
            case python.BoolOp(op=op, values=[first, *others]):
                result = self.expression(first)
                for other in others:
                    result = ast.Binary(SYMBOLS[type(op)], result, self.expression(other), place=place)
                return result
            case python.Compare(left=left, ops=[op], comparators=[right]) if type(op) in SYMBOLS:
                return ast.Binary(SYMBOLS[type(op)], self.expression(left), self.expression(right), place=place)
            case python.Compare(ops=[_]):
                self.fail(node, "SK105", "This comparison is not in the language.", "Compare with == != < <= > >=.")
            case python.Compare():
                self.fail(node, "SK105", "Comparisons do not chain.", "Write `a < b and b < c`.")
            case python.Call():
                return self.call(node)
            case python.Subscript(value=python.Name(id="Tune")):
                return ast.Tune(self.choices(node), self._key(), place=place)
            case python.List(elts=items):
                return ast.AxisList(tuple(self._axis(item) for item in items), place=place)
            case python.Tuple(elts=items):
                return ast.Group(tuple(self.expression(item) for item in items), place=place)
        what = f"`{python.unparse(node)}` is not an expression of the language"
        self.fail(node, "SK105", f"{what}.", _INSTEAD.get(type(node), "See the operations in docs/sketch.md."))

    def _unary(self, op: python.unaryop, operand: ast.Expr, place: ast.Place) -> ast.Expr:
        if isinstance(op, python.UAdd):
            return operand
        if isinstance(op, python.USub) and isinstance(operand, ast.Number) and not isinstance(operand.value, bool):
            return ast.Number(-operand.value, place=place)
        return ast.Unary(_UNARY[type(op)], operand, place=place)

    def call(self, node: python.Call) -> ast.Expr:
        """A call of an operation; other spellings become the tree's one form."""
        if not isinstance(node.func, python.Name):
            self.fail(node, "SK105", f"`{python.unparse(node.func)}` cannot be called.", _INSTEAD[python.Attribute])
        name, place = node.func.id, self.place(node)
        keywords = {k.arg or "**": k.value for k in node.keywords}
        if "**" in keywords or any(isinstance(a, python.Starred) for a in node.args):
            self.fail(node, "SK105", "Arguments are written one by one; * and ** are not in the language.")
        if name in DTYPES or name in SPELLINGS:
            return self._spelling(name, [self.expression(a) for a in node.args], keywords, node)
        if name not in OPERATIONS:
            loop = "It is a loop: `for m in grid(M, BM):`." if name in ("grid", "tiles", "range") else ""
            loop = loop or ("Assign it: `n = whole(N)`." if name == "whole" else "")
            self.fail(
                node, "SK202", f"There is no operation `{name}`.", loop or near(name, OPERATIONS, "See docs/sketch.md.")
            )
        operation = OPERATIONS[name]
        args: list[ast.Expr] = []
        for index, argument in enumerate(node.args):
            slot = operation.parameters[index] if index < len(operation.parameters) else "value"
            args.append(self._argument(argument, slot))
        while len(args) < len(operation.parameters) and operation.parameters[len(args)] in keywords:
            slot = operation.parameters[len(args)]
            args.append(self._argument(keywords.pop(slot), slot))
        return ast.Call(name, tuple(args), tuple((k, self._argument(v, k)) for k, v in keywords.items()), place=place)

    def _argument(self, node: python.expr, slot: str) -> ast.Expr:
        if slot == "element":
            return self.element(node)
        outer, self._slot = self._slot, slot
        try:
            return self.expression(node)
        finally:
            self._slot = outer

    def _spelling(self, name: str, args: list[ast.Expr], keywords: dict, node: python.Call) -> ast.Expr:
        place = self.place(node)
        wanted = 2 if name == "pow" else 1
        if keywords or len(args) != wanted:
            self.fail(node, "SK110", f"`{name}` takes {wanted} argument{'s' if wanted > 1 else ''} and no keyword.")
        if name in DTYPES:
            return ast.Call("cast", (args[0], ast.Text(name, place=place)), place=place)
        if name == "pow":
            return ast.Binary("**", args[0], args[1], place=place)
        return ast.Unary("not", args[0], place=place) if name == "logical_not" else args[0]

    def element(self, node: python.expr) -> ast.Element:
        """`x[e0, e1]`, or a bare `x` for a tensor without dimensions."""
        match node:
            case python.Name(id=name):
                return ast.Element(name, (), place=self.place(node))
            case python.Subscript(value=python.Name(id=name), slice=python.Tuple(elts=items)):
                return ast.Element(name, tuple(self.expression(item) for item in items), place=self.place(node))
            case python.Subscript(value=python.Name(id=name), slice=item):
                return ast.Element(name, (self.expression(item),), place=self.place(node))
        found = f"`{python.unparse(node)}` stands where a tensor's element is needed."
        self.fail(node, "SK108", found, "Write the tensor's name with one index a dimension: x[m, n].")

    def choices(self, node: python.Subscript) -> tuple[int | str, ...]:
        """The choices of `Tune[a, b, c]`: whole numbers or strings, at least one, none twice."""
        items = node.slice.elts if isinstance(node.slice, python.Tuple) else [node.slice]
        values: list[int | str] = []
        for item in items:
            value = self.literal(item)
            if isinstance(value, float):
                self.fail(
                    item, "SK107", f"The choice {value!r} is not a whole number or a string.", "Write Tune[1, 2, 4]."
                )
            values.append(value)
        if not values or len(set(values)) < len(values):
            self.fail(node, "SK107", "A Tune needs different choices.", "Write Tune[1, 2, 4].")
        return tuple(values)

    def literal(self, node: python.expr) -> int | float | str:
        """A number or a string written out; SketchError for anything else."""
        value = self.expression(node)
        if not isinstance(value, (ast.Number, ast.Text)):
            self.fail(
                node,
                "SK105",
                f"`{python.unparse(node)}` stands where a number is needed.",
                "Write it out: 1, 0.5, -inf.",
            )
        return value.value

    def _axis(self, node: python.expr) -> str:
        if not isinstance(node, python.Name):
            self.fail(
                node, "SK105", f"`{python.unparse(node)}` is not the name of an axis.", "A list holds axes: [m, n]."
            )
        return node.id

    def _key(self) -> str:
        key = f"{self.kernel}.{self.target}.{self._slot}"
        self._keys[key] = self._keys.get(key, 0) + 1
        return key if self._keys[key] == 1 else f"{key}#{self._keys[key]}"

    def hints(self, keywords: dict[str, python.expr]) -> ast.Hints:
        return tuple((name, self._argument(value, name)) for name, value in keywords.items())

    def slot(self, name: str, node: python.expr) -> ast.Expr:
        """An expression whose inline Tune is keyed by `name`."""
        return self._argument(node, name)
