"""Expressions of a sketch as C++: scalars or vectors of the same text, by which axis runs along the lanes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from akg_core.plugin.lower import Body, step, uniform
from akg_core.plugin.sketch import (
    DTYPES,
    OPERATIONS,
    Binary,
    Call,
    Expr,
    Name,
    Number,
    Text,
    Unary,
    combine,
    is_float,
    is_integer,
    polynomial,
    walk,
)
from akg_plugin_cpp_cpu.emit.scope import Scope, Term

COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
LOGIC = {"and": ("&&", "&"), "or": ("||", "|"), "&": ("&&", "&"), "|": ("||", "|"), "^": ("!=", "^")}
POWERS: dict[float, str] = {2: "square", 3: "cube", 0.5: "sqrt", -1: "reciprocal", -0.5: "rsqrt"}


def literal(value: int | float | bool, dtype: str) -> str:
    """A number as a C++ constant of `dtype`."""
    if dtype == "bool":
        return "true" if value else "false"
    if is_integer(dtype):
        number = int(value)
        if dtype == "i64":
            return str(number) if abs(number) < 2**31 else f"i64({number}ll)" if number > -(2**63) else "LOWEST<i64>"
        return f"{dtype}({number})"
    real = float(value)
    if math.isnan(real):
        return f'{dtype}(__builtin_nan(""))'
    if math.isinf(real):
        return f"HIGHEST<{dtype}>" if real > 0 else f"LOWEST<{dtype}>"
    text = repr(real)
    if "." not in text and "e" not in text:
        text += ".0"
    return text if dtype == "f64" else f"{text}f" if dtype == "f32" else f"{dtype}({text}f)"


class ExpressionWriter:
    """Writes expressions of one kernel. Loads and kept values are those of `MemoryWriter`, which derives from this."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.used: dict[str, int] = {}
        self.line = 0

    def fresh(self, hint: str) -> str:
        """A variable name not yet used in this function; a virtual value's own name serves in every scope."""
        value = self.body.values.get(hint)
        if value is not None and value.definition is not None:
            return hint
        number = self.used.get(hint, 0) + 1
        self.used[hint] = number
        name = (
            hint if number == 1 and hint not in self.body.values and hint not in self.body.axes else f"{hint}_{number}"
        )
        return name if name not in self.body.values and name not in self.body.axes else self.fresh(hint)

    # --- terms --------------------------------------------------------------------------------------------

    def term(self, expr: Expr, scope: Scope, dtype: str = "") -> Term:
        """`expr` in `dtype`, or in its own."""
        wanted = dtype or (expr.type.dtype if expr.type else "i64")
        if isinstance(expr, Number):
            return Term(literal(expr.value, wanted), wanted, atomic=not str(expr.value).startswith("-"))
        kind = expr.type
        if kind is not None and kind.weak and is_float(kind.dtype):
            return self.convert(self.compute(expr, scope, "f64"), wanted)
        return self.convert(self.compute(expr, scope, kind.dtype if kind else "i64"), wanted)

    def convert(self, term: Term, dtype: str) -> Term:
        if term.dtype == dtype:
            return term
        return Term(f"convert<{dtype}>({term})", dtype, term.vector)

    def vector(self, term: Term) -> str:
        """The term as a vector, a scalar in every lane."""
        if term.vector:
            return term.text
        return f"Mask({term})" if term.dtype == "bool" else f"Vec<{term.dtype}>({term})"

    def compute(self, expr: Expr, scope: Scope, dtype: str) -> Term:
        match expr:
            case Name():
                return self.name(expr, scope)
            case Unary():
                return self.unary(expr, scope, dtype)
            case Binary():
                return self.binary(expr, scope, dtype)
            case Call(op="load"):
                return self.load(expr, scope)
            case Call():
                return self.call(expr, scope, dtype)
        raise TypeError(f"not a value: {expr}")

    def load(self, call: Call, scope: Scope) -> Term:
        raise NotImplementedError

    def name(self, expr: Name, scope: Scope) -> Term:
        raise NotImplementedError

    def unary(self, expr: Unary, scope: Scope, dtype: str) -> Term:
        operand = self.term(expr.operand, scope, dtype if expr.op != "not" else "bool")
        if expr.op == "not" or dtype == "bool":
            return Term(f"!{operand.operand}", "bool", operand.vector)
        text = f"{expr.op}{operand.operand}"
        return self.narrowed(Term(text, dtype, operand.vector, atomic=False))

    def narrowed(self, term: Term) -> Term:
        """C++ computes scalars narrower than int in int: cut them back."""
        if not term.vector and is_integer(term.dtype) and DTYPES[term.dtype].size < 4:
            return Term(f"{term.dtype}({term})", term.dtype)
        return term

    def binary(self, expr: Binary, scope: Scope, dtype: str) -> Term:
        op = expr.op
        if op in COMPARISONS:
            return self.comparison(expr, scope)
        if op in LOGIC and dtype == "bool":
            left, right = (self.term(e, scope, "bool") for e in (expr.left, expr.right))
            vector = left.vector or right.vector
            text = f"{left.operand} {LOGIC[op][vector]} {right.operand}"
            return Term(text, "bool", vector, atomic=False)
        if op == "**":
            return self.power(expr, scope, dtype)
        if op in ("//", "%"):
            return self.division(expr, scope, dtype)
        left, right = (self.term(e, scope, dtype) for e in (expr.left, expr.right))
        vector = left.vector or right.vector
        # a product inside a sum, and a sum that goes on, read without brackets
        first = left.text if op == "+" and _operator(expr.left) in ("+", "-", "*") else left.operand
        second = right.text if op in ("+", "-") and _operator(expr.right) == "*" else right.operand
        return self.narrowed(Term(f"{first} {op} {second}", dtype, vector, atomic=False))

    def comparison(self, expr: Binary, scope: Scope) -> Term:
        sides = [(e.type.dtype, e.type.weak) if e.type else ("i64", False) for e in (expr.left, expr.right)]
        dtype = combine(sides)[0]
        left, right = (self.term(e, scope, dtype) for e in (expr.left, expr.right))
        if left.vector != right.vector and dtype == "bool":
            left, right = (Term(self.vector(t), dtype, True) for t in (left, right))
        return Term(f"{left.operand} {expr.op} {right.operand}", "bool", left.vector or right.vector, atomic=False)

    def power(self, expr: Binary, scope: Scope, dtype: str) -> Term:
        base = self.term(expr.left, scope, dtype)
        if isinstance(expr.right, Number):
            name = POWERS.get(expr.right.value)
            if name is not None and (is_float(dtype) or expr.right.value in (2, 3)):
                return self.narrowed(Term(f"{name}({base})", dtype, base.vector))
        exponent = self.term(expr.right, scope, dtype)
        return self.function("pow", (base, exponent), dtype)

    def division(self, expr: Binary, scope: Scope, dtype: str) -> Term:
        """`//` and `%` round down; where nothing is negative C++'s own operators do."""
        if scope.lane is not None and dtype == "i64":
            gain = self.lane_step(expr, scope)
            if gain == 0:
                return Term(self.index(expr, scope), "i64", atomic=False)
            if gain == 1:
                return Term(f"iota<i64>({self.index(expr, scope)})", "i64", True)
        left, right = (self.term(e, scope, dtype) for e in (expr.left, expr.right))
        name = "floor_div" if expr.op == "//" else "floor_mod"
        if not left.vector and not right.vector and is_integer(dtype):
            low, least = self.body.bounds.interval(expr.left)[0], self.body.bounds.interval(expr.right)[0]
            if low is not None and low >= 0 and least is not None and least >= 0:
                return Term(f"{left.operand} {'/' if expr.op == '//' else '%'} {right.operand}", dtype, atomic=False)
        return self.function(name, (left, right), dtype)

    def function(self, name: str, arguments: tuple[Term, ...], dtype: str) -> Term:
        """A call whose scalar arguments become vectors when any is one."""
        vector = any(a.vector for a in arguments)
        texts = [self.vector(a) if vector else self.scalar(a) for a in arguments]
        return Term(f"{name}({', '.join(texts)})", dtype, vector)

    def scalar(self, term: Term) -> str:
        """The term with its very type: a C++ literal of another one would not fit a template."""
        return f"i64({term})" if term.dtype == "i64" and term.text.lstrip("-").isdigit() else term.text

    # --- operations ---------------------------------------------------------------------------------------

    def call(self, expr: Call, scope: Scope, dtype: str) -> Term:
        op = expr.op
        if op == "cast":
            assert isinstance(expr.args[1], Text)
            return (
                self.term(expr.args[0], scope, expr.args[1].value)
                if isinstance(expr.args[0], Number)
                else self.convert(self.term(expr.args[0], scope), expr.args[1].value)
            )
        if op == "where":
            condition = self.term(expr.args[0], scope, "bool")
            chosen = [self.term(a, scope, dtype) for a in expr.args[1:]]
            if not condition.vector and any(c.vector for c in chosen):
                return Term(f"select({condition}, {self.vector(chosen[0])}, {self.vector(chosen[1])})", dtype, True)
            return self.function("select", (condition, *chosen), dtype)
        if op == "rand":
            seed, index = (self.term(a, scope, "i64") for a in expr.args)
            if seed.vector or not index.vector:
                return self.function("rand", (seed, index), "f32")
            return Term(f"rand({seed}, {index})", "f32", True)
        if op == "round_to":
            assert isinstance(expr.args[1], Text)
            value = self.term(expr.args[0], scope, "f32")
            return self.convert(Term(f"round_to<{expr.args[1].value}>({value})", "f32", value.vector), dtype)
        return self.costly(expr, scope) or self.bare(expr, scope)

    def costly(self, expr: Call, scope: Scope) -> Term | None:
        """Work that an outer loop can do once is done there."""
        if self.body.cost(expr) < 3 or any(v.mutable for v in self.body.values_of(expr)):
            return None
        home = scope.home(self.names_of(expr))
        if home is scope:
            return None
        return self.remember(expr, f"{expr.op}_once", home, scope, lambda: self.bare(expr, home))

    def bare(self, expr: Call, scope: Scope) -> Term:
        dtype = expr.type.dtype if expr.type else "f32"
        if expr.type is not None and expr.type.weak and is_float(dtype):
            dtype = "f64"
        inner = dtype
        if OPERATIONS[expr.op].dtype == "bool":
            inner = expr.args[0].type.dtype if expr.args[0].type else "f32"
        return self.function(expr.op, tuple(self.term(a, scope, inner) for a in expr.args), dtype)

    def remember(self, expr: Expr, hint: str, home: Scope, user: Scope, write: Callable[[], Term]) -> Term:
        """The variable that holds `expr`, declared in `home` when there is none yet."""
        known = user.recall(expr)
        if known is None:
            made = write()
            name = self.fresh(hint)
            home.declare(f"const auto {name} = {made};", self.line)
            known = Term(name, made.dtype, made.vector)
            home.known[expr] = known
        return known

    def names_of(self, expr: Expr) -> set[str]:
        """The names on which the place of a computation depends, those behind virtual values included."""
        return set(self._names(expr))

    def _names(self, expr: Expr) -> Iterator[str]:
        for node in walk(expr):
            if isinstance(node, Name):
                value = self.body.values.get(node.id)
                if value is not None and value.definition is not None:
                    yield from self._names(value.definition)
                else:
                    yield node.id
                    yield from value.axes if value is not None else ()

    # --- indices --------------------------------------------------------------------------------------------

    def index(self, expr: Expr, scope: Scope) -> str:
        """An index at the first lane, as a scalar."""
        return self.term(expr, self.at_head(scope), "i64").text

    def at_head(self, scope: Scope) -> Scope:
        """The same place without lanes: the loop's axis is the position of the first one."""
        head = Scope(scope.lines, scope.block, scope)
        head.known = {}
        if scope.lane is not None:
            head.names[scope.lane.axis] = Term(scope.lane.axis, "i64")
        return head

    def even(self, expr: Expr, scope: Scope) -> bool:
        """Whether an index has one value for all lanes."""
        lane = scope.lane
        return lane is None or uniform(self.body, expr, lane.axis, lane.segment)

    def lane_step(self, expr: Expr, scope: Scope) -> int | None:
        """How far an index moves from lane to lane, when that is a number."""
        assert scope.lane is not None
        gain = step(self.body, polynomial(expr), scope.lane.axis, scope.lane.segment)
        return None if gain is None else gain.constant


def _operator(expr: Expr) -> str:
    return expr.op if isinstance(expr, Binary) else ""
