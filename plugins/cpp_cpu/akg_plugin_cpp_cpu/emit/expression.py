"""Expressions of a sketch as C++: scalars or vectors of the same text, by which axis runs along the lanes."""

from __future__ import annotations

import math
from collections.abc import Callable

from akg_core.plugin.lower import Body, dtype_of, step, uniform
from akg_core.plugin.sketch import (
    COMPARISONS,
    DTYPES,
    Binary,
    Call,
    Expr,
    Name,
    Number,
    Text,
    Unary,
    is_float,
    is_integer,
    polynomial,
)
from akg_plugin_cpp_cpu.emit.scope import Scope, Term

LOGIC = {"and": ("&&", "&"), "or": ("||", "|"), "^": ("!=", "^")}
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


def register(dtype: str, vector: bool) -> str:
    """The C++ type of what a variable holds."""
    return dtype if not vector else "Mask" if dtype == "bool" else f"Vec<{dtype}>"


class ExpressionPrinter:
    """Prints expressions of one kernel. `load` and `name` print its loads, and what stands under a name."""

    def __init__(self, body: Body, load: Callable[[Call, Scope], Term], name: Callable[[Name, Scope], Term]) -> None:
        self.body, self.load, self.name = body, load, name
        self.used: dict[str, int] = {}
        self.line = 0

    def emit(self, text: str, scope: Scope) -> None:
        """Add a line of C++ for the line of the sketch at hand."""
        scope.lines.add(text, self.line)

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

    def term(self, expr: Expr, scope: Scope) -> Term:
        """An explicit expression: what it is made of has the dtypes that it wants."""
        match expr:
            case Number(value=value):
                dtype = dtype_of(expr)
                return Term(literal(value, dtype), dtype, atomic=not str(value).startswith("-"))
            case Name():
                return self.name(expr, scope)
            case Unary():
                return self.unary(expr, scope)
            case Binary():
                return self.binary(expr, scope)
            case Call(op="load"):
                return self.load(expr, scope)
            case Call():
                return self.call(expr, scope)
        raise TypeError(f"not a value: {expr}")

    def cast(self, term: Term, dtype: str) -> Term:
        return term if term.dtype == dtype else Term(f"convert<{dtype}>({term})", dtype, term.vector)

    def vector(self, term: Term) -> str:
        """The term as a vector, a scalar in every lane."""
        return term.text if term.vector else f"{register(term.dtype, True)}({term})"

    def wanted(self, term: Term, vector: bool) -> str:
        """The term as an operand: as a vector where one is wanted."""
        return term.operand if term.vector or not vector else self.vector(term)

    def unary(self, expr: Unary, scope: Scope) -> Term:
        operand = self.term(expr.operand, scope)
        if operand.dtype == "bool":
            return Term(f"!{operand.operand}", "bool", operand.vector)
        return self.narrowed(Term(f"{expr.op}{operand.operand}", operand.dtype, operand.vector, atomic=False))

    def narrowed(self, term: Term) -> Term:
        """C++ computes scalars narrower than int in int: cut them back."""
        if not term.vector and is_integer(term.dtype) and DTYPES[term.dtype].size < 4:
            return Term(f"{term.dtype}({term})", term.dtype)
        return term

    def binary(self, expr: Binary, scope: Scope) -> Term:
        op = expr.op
        if op in ("//", "%"):
            return self.division(expr, scope)
        left, right = (self.term(e, scope) for e in (expr.left, expr.right))
        if op == "**":
            return self.power(expr.right, left, right)
        dtype, vector = left.dtype, left.vector or right.vector
        if op in COMPARISONS:
            if left.vector != right.vector and dtype == "bool":
                left, right = (Term(self.vector(t), dtype, True) for t in (left, right))
            return Term(f"{left.operand} {op} {right.operand}", "bool", vector, atomic=False)
        if dtype == "bool":
            return Term(f"{left.operand} {LOGIC[op][vector]} {right.operand}", "bool", vector, atomic=False)
        # a product inside a sum, and a sum that goes on, read without brackets
        first = left.text if op == "+" and _operator(expr.left) in ("+", "-", "*") else left.operand
        second = right.text if op in ("+", "-") and _operator(expr.right) == "*" else right.operand
        return self.narrowed(Term(f"{first} {op} {second}", dtype, vector, atomic=False))

    def power(self, exponent: Expr, base: Term, by: Term) -> Term:
        name = POWERS.get(exponent.value) if isinstance(exponent, Number) else None
        if name is not None and (is_float(base.dtype) or name in ("square", "cube")):
            return self.narrowed(Term(f"{name}({base})", base.dtype, base.vector))
        return self.function("pow", (base, by), base.dtype)

    def division(self, expr: Binary, scope: Scope) -> Term:
        """`//` and `%` round down; where nothing is negative C++'s own operators do."""
        dtype = dtype_of(expr)
        if scope.lane is not None and dtype == "i64":
            gain = self.lane_step(expr, scope)
            if gain == 0:
                return Term(self.index(expr, scope), "i64", atomic=False)
            if gain == 1:
                return Term(f"iota<i64>({self.index(expr, scope)})", "i64", True)
        left, right = (self.term(e, scope) for e in (expr.left, expr.right))
        if not left.vector and not right.vector and is_integer(dtype):
            low, least = self.body.bounds.interval(expr.left)[0], self.body.bounds.interval(expr.right)[0]
            if low is not None and low >= 0 and least is not None and least >= 0:
                return Term(f"{left.operand} {'/' if expr.op == '//' else '%'} {right.operand}", dtype, atomic=False)
        name = "floor_div" if expr.op == "//" else "floor_mod"
        if left.vector and not right.vector:  # by a power of two it is a shift
            return Term(f"{name}({left}, {self.scalar(right)})", dtype, True)
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

    def call(self, expr: Call, scope: Scope) -> Term:
        op, dtype = expr.op, dtype_of(expr)
        if op == "cast":
            return self.cast(self.term(expr.args[0], scope), dtype)
        if op == "round_to":
            assert isinstance(expr.args[1], Text)
            value = self.term(expr.args[0], scope)
            return Term(f"round_to<{expr.args[1].value}>({value})", dtype, value.vector)
        if op not in ("where", "rand"):
            return self.costly(expr, scope) or self.bare(expr, scope)
        name = "select" if op == "where" else op
        first, *others = (self.term(a, scope) for a in expr.args)
        if not first.vector and any(t.vector for t in others):  # one condition, one seed for all lanes
            texts = [first.text, *map(self.vector, others)]
            return Term(f"{name}({', '.join(texts)})", dtype, True)
        return self.function(name, (first, *others), dtype)

    def costly(self, expr: Call, scope: Scope) -> Term | None:
        """Work that an outer loop can do once is done there."""
        if self.body.cost(expr) < 3 or any(v.mutable for v in self.body.values_of(expr)):
            return None
        home = scope.home(set(self.body.names_of(expr)))
        if home is scope:
            return None
        return self.remember(expr, f"{expr.op}_once", home, scope, lambda: self.bare(expr, home))

    def bare(self, expr: Call, scope: Scope) -> Term:
        return self.function(expr.op, tuple(self.term(a, scope) for a in expr.args), dtype_of(expr))

    def remember(self, expr: Expr, hint: str, home: Scope, user: Scope, write: Callable[[], Term]) -> Term:
        """The variable that holds `expr`, declared in `home` when there is none yet."""
        known = user.recall(expr, set(self.body.names_of(expr)))
        if known is None:
            made = write()
            name = self.fresh(hint)
            home.declare(f"const auto {name} = {made};", self.line)
            known = Term(name, made.dtype, made.vector)
            home.known[expr] = known
        return known

    # --- indices --------------------------------------------------------------------------------------------

    def index(self, expr: Expr, scope: Scope) -> str:
        """An index at the first lane, as a scalar."""
        return self.term(expr, self.at_head(scope)).text

    def ends(self, axis: str, scope: Scope) -> tuple[str, str]:
        """Where the tile of an axis begins and ends."""
        found = self.body.axes[axis]
        return self.index(found.begin, scope), self.index(found.end, scope)

    def opened(self, axis: str, scope: Scope) -> Scope:
        """The inside of a new loop over the tile of an axis, outside of any plan."""
        begin, end = self.ends(axis, scope)
        self.emit(f"for (i64 {axis} = {begin}; {axis} < {end}; ++{axis}) {{", scope)
        return scope.over(axis)

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
