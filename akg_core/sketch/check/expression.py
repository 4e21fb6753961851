"""Types of expressions: which axes a tile has, which dtype, and whether the host knows it at launch.

A place that does not fit becomes a finding and the expression's type stays unknown (None); what is made of
an unknown is unknown too and makes no further finding, so that one mistake is reported once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from akg_core.dtypes import BITS, DTYPES, FLOATS, as_float, as_sum, combine, is_float, is_integer, promote
from akg_core.notation import COMPARISONS
from akg_core.records import Finding
from akg_core.sketch import ast
from akg_core.sketch.ast import Type
from akg_core.sketch.codes import finding, near
from akg_core.sketch.ops import OPERATIONS, PRECISIONS, ROUNDINGS, Operation

SCALAR = Type(frozenset(), "i64")
UNIFORM = Type(frozenset(), "i64", uniform=True)
_BITWISE = ("&", "|", "^", "~")
_SHIFTS = ("<<", ">>")
_LOGIC = ("and", "or", "not")
_NOT_ON_BOOL = ("abs", "sign", "floor", "ceil", "round", "trunc", "relu", "clamp", "fmod", "remainder")


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis in scope: which statement introduced it."""

    name: str
    loop: ast.Grid | ast.Tiles | ast.Whole


class ExpressionChecker:
    """Fills in the types of expressions in one kernel.

    `variables` maps what is assigned here to its type (None: unknown), `axes` the axes in scope, `fixed` the names
    that never change: dimensions, Consts, Tunes (None: a Tune of strings).
    """

    def __init__(self, kernel: ast.Kernel, fixed: dict[str, Type | None]) -> None:
        self.kernel = kernel
        self.fixed = fixed
        self.tensors = {tensor.name: tensor for tensor in kernel.tensors}
        self.texts = {tune.name: tune.choices for tune in kernel.tunes if isinstance(tune.choices[0], str)}
        self.axes: dict[str, Axis] = {}
        self.variables: dict[str, Type | None] = {}
        self.left: dict[str, str] = {}  # names that went out of scope, and where they were assigned
        self.findings: list[Finding] = []

    def report(
        self,
        code: str,
        node: ast.Expr | ast.Statement | ast.Place,
        message: str,
        suggestion: str = "",
        severity: Literal["error", "warning"] = "error",
    ) -> None:
        place = node if isinstance(node, ast.Place) else node.place
        found = finding(code, place, message, suggestion, severity)
        if found not in self.findings:
            self.findings.append(found)

    # --- expressions ----------------------------------------------------------------------------

    def value(self, node: ast.Expr) -> ast.Expr:
        """`node` with the types of it and of everything below it filled in."""
        match node:
            case ast.Number(value=value):
                dtype = "bool" if isinstance(value, bool) else "i64" if isinstance(value, int) else "f32"
                return replace(node, type=Type(frozenset(), dtype, uniform=True, weak=True))
            case ast.Name(id=name):
                return replace(node, type=self._name(node, name))
            case ast.Unary(op=op, operand=operand):
                operand = self.value(operand)
                return replace(node, operand=operand, type=self._operator(node, op, [operand]))
            case ast.Binary(op=op, left=left, right=right):
                left, right = self.value(left), self.value(right)
                return replace(node, left=left, right=right, type=self._operator(node, op, [left, right]))
            case ast.Call(op=op):
                operation = OPERATIONS.get(op)
                if operation is None:
                    self.report("SK202", node, f"There is no operation `{op}`.", near(op, OPERATIONS))
                    return node
                if operation.dtype == "none" or operation.kind in ("split", "split_float"):
                    several = "is a statement of its own" if operation.dtype == "none" else "gives several values"
                    self.report(
                        "SK110", node, f"`{op}` {several}.", f"Use it as `{operation.signature}` alone on its line."
                    )
                    return node
                return self.call(node, operation)
            case ast.Tune(choices=choices) if not isinstance(choices[0], str):
                return replace(node, type=Type(frozenset(), "i64", uniform=True, weak=True))
        what = {ast.Text: "A string", ast.AxisList: "A list of axes", ast.Group: "A group", ast.Tune: "A string"}
        self.report("SK110", node, f"{what.get(type(node), 'This')} stands where a value is needed.")
        return node

    def _name(self, node: ast.Name, name: str) -> Type | None:
        if name in self.axes:
            return Type(frozenset((name,)), "i64")
        if name in self.variables:
            return self.variables[name]
        if name in self.fixed:
            if name in self.texts:
                self.report("SK110", node, f"`{name}` chooses between strings and is no value.")
            return self.fixed[name]
        if name in self.tensors:
            dims = len(self.tensors[name].dims)
            what = f"load({name}[{', '.join('mnkpq'[:dims])}])" if dims else f"load({name})"
            self.report("SK201", node, f"`{name}` is a tensor, not a value.", f"Read it: {what}.")
        elif name in self.left:
            code = "SK301" if self.left[name].startswith("axis") else "SK205"
            cure = "Assign it before the loop or branch, so that it is there after it too."
            cure = "Use the axis inside its loop only." if code == "SK301" else cure
            self.report(code, node, f"`{name}` is not known here: it is an {self.left[name]}.", cure)
        else:
            self.report("SK201", node, f"There is no `{name}` here.", near(name, self.known(), self._listed()))
        return None

    def known(self) -> list[str]:
        """Every name that an expression may use here."""
        return [*self.axes, *self.variables, *self.fixed, *self.tensors]

    def _listed(self) -> str:
        return f"Known here: {', '.join(self.known()[:16])}."

    def _operator(self, node: ast.Expr, op: str, operands: list[ast.Expr]) -> Type | None:
        types = [operand.type for operand in operands]
        known = [t for t in types if t is not None]
        if len(known) < len(types):
            return None
        if op in COMPARISONS or op in _LOGIC:
            return self._together(known, "bool")
        dtype, _ = combine([(t.dtype, t.weak) for t in known])
        if op in _BITWISE and is_float(dtype):
            return self._refuse(node, op, dtype, "Use it on ints or truth values.")
        if op in _SHIFTS and not is_integer(dtype):
            return self._refuse(node, op, dtype, "Shift ints.")
        if dtype == "bool" and op not in _BITWISE and op != "/":
            return self._refuse(node, op, dtype, "Combine truth values with & | ^ ~, or cast them first: f32(t).")
        return self._together(known, as_float(dtype) if op == "/" else dtype)

    def _refuse(self, node: ast.Expr, op: str, dtype: str, cure: str) -> Type | None:
        self.report("SK402", node, f"`{op}` does not work on {dtype}.", cure)
        return None

    def _together(self, types: list[Type], dtype: str, operands: list[Type] | None = None) -> Type:
        """The type of an elementwise result of `dtype`; `operands` are those that decide whether it is weak."""
        uniform = all(t.uniform for t in types)
        weak = uniform and (is_float(dtype) or all(t.weak for t in operands or types))
        return Type(frozenset().union(*(t.axes for t in types)), dtype, uniform, weak)

    # --- calls ----------------------------------------------------------------------------------

    def call(self, node: ast.Call, operation: Operation) -> ast.Expr:
        """A call with its arguments checked and its type; keywords that are hints are left to check_hints."""
        least, most = operation.arity
        given = {name for name, _ in node.keywords}
        missing = [k for k in operation.keywords if k == "over" and k not in given]
        if not least <= len(node.args) <= most or missing:
            found = f"{len(node.args)} argument{'s' * (len(node.args) != 1)}" if not missing else "no `over=`"
            self.report("SK110", node, f"`{node.op}` has {found}.", f"Write {operation.signature}.")
            return node
        match operation.kind:
            case "elementwise":
                args = tuple(self.value(a) for a in node.args)
                return replace(node, args=args, type=self._elementwise(node, operation, args))
            case "load":
                return self._load(node)
            case "create":
                return self._create(node)
            case "axis":
                axis = self.axis(node.args[0])
                return replace(node, type=SCALAR if axis else None)
            case "contract":
                return self._dot(node)
            case "random":
                args = tuple(self.integer(a) for a in node.args)
                known = [a.type for a in args if a.type is not None]
                kind = replace(self._together(known, "f32"), uniform=False, weak=False) if len(known) == 2 else None
                return replace(node, args=args, type=kind)
        tile = self.value(node.args[0])
        args = (tile, *node.args[1:])
        return replace(node, args=args, type=self._of_tile(node, operation, tile))

    def _of_tile(self, node: ast.Call, operation: Operation, tile: ast.Expr) -> Type | None:
        """Operations on one tile with an axis, axes, a dtype or a format as the second argument."""
        second, kind = node.args[1], tile.type
        if operation.kind == "cast":
            dtype = self.text(second, tuple(DTYPES), "SK401", "dtype")
            return Type(kind.axes, dtype, kind.uniform and not is_float(dtype)) if kind and dtype else None
        if operation.kind == "round":
            form = self.text(second, ROUNDINGS, "SK110", "format")
            if kind and not is_float(kind.dtype):
                return self._refuse(node, node.op, kind.dtype, "Round floats only.")
            return replace(kind, uniform=False, weak=False) if kind and form else None
        axes = self.axis_names(second)
        if kind is None or axes is None:
            return None
        if operation.kind == "all_reduce":
            return replace(kind, uniform=False, weak=False) if self.meets(node, axes, kind) else None
        absent = [axis for axis in axes if axis not in kind.axes]
        if absent:
            has = f"only {', '.join(sorted(kind.axes))}" if kind.axes else "no axes"
            cure = near(absent[0], kind.axes, f"`{node.op}` goes along an axis of its tile.")
            self.report("SK302", second, f"The tile has no axis `{absent[0]}`, {has}.", cure)
            return None
        if len(axes) > 1 and operation.kind != "reduce":
            self.report("SK110", second, f"`{node.op}` goes along one axis.", f"Write {operation.signature}.")
            return None
        if operation.kind == "sort" and not is_integer(kind.dtype):
            return self._refuse(node, node.op, kind.dtype, "Sort ints: those that bits(t) gives order floats.")
        rest = kind.axes if operation.kind in ("scan", "sort") else kind.axes - set(axes)
        if operation.kind == "scan" and kind.dtype == "bool" and operation.dtype == "same":
            return self._refuse(node, node.op, "bool", "Cast it first: i32(t).")
        dtype = {"sum": as_sum(kind.dtype), "same": kind.dtype}.get(operation.dtype, operation.dtype)
        return Type(rest, dtype)

    def _elementwise(self, node: ast.Call, operation: Operation, args: tuple[ast.Expr, ...]) -> Type | None:
        known = [a.type for a in args if a.type is not None]
        if len(known) < len(args):
            return None
        operands = known[1:] if operation.dtype == "select" else known
        if operation.dtype == "select" and is_float(known[0].dtype):
            self.report("SK404", args[0], "The condition is a number, not a truth value.", "Compare it: t != 0.")
            return None
        dtype, _ = combine([(t.dtype, t.weak) for t in operands])
        seen_as = {"bits": BITS, "from_bits": FLOATS}.get(operation.dtype)
        if (seen_as and dtype not in seen_as) or (dtype == "bool" and node.op in _NOT_ON_BOOL):
            return self._refuse(node, node.op, dtype, "Cast it first: f32(t).")
        if operation.dtype == "bool":
            return self._together(known, "bool")
        if seen_as:
            return replace(self._together(known, seen_as[dtype]), uniform=False, weak=False)
        return self._together(known, as_float(dtype) if operation.dtype == "float" else dtype, operands)

    def _load(self, node: ast.Call) -> ast.Expr:
        element, kind = self.element(node.args[0])
        tensor = self.tensors.get(element.tensor) if isinstance(element, ast.Element) else None
        if tensor and tensor.role == "Out":
            cure = f"Declare it InOut or Scratch, or keep the value in a variable: `{tensor.name}: Scratch[...]`."
            self.report("SK605", element, f"`{tensor.name}` is an Out: it is written, never read.", cure)
        keywords = tuple((k, self.scalar(v) if k == "other" else v) for k, v in node.keywords)
        return replace(node, args=(element,), keywords=keywords, type=kind)

    def element(self, node: ast.Expr) -> tuple[ast.Expr, Type | None]:
        """A tensor's element with typed indices, and what a load of it would be."""
        if not isinstance(node, ast.Element):
            self.report("SK108", node, "A tensor's element is needed here.", "Write x[m, n].")
            return node, None
        indices = tuple(self.integer(index) for index in node.indices)
        node = replace(node, indices=indices)
        tensor = self.tensors.get(node.tensor)
        if tensor is None:
            self.report("SK201", node, f"There is no tensor `{node.tensor}`.", near(node.tensor, self.tensors))
            return node, None
        if len(indices) != len(tensor.dims):
            message = f"`{tensor.name}` has {len(tensor.dims)} dimensions and {len(indices)} indices."
            self.report("SK305", node, message, "Give one index for each dimension.")
            return node, None
        types = [index.type for index in indices if index.type is not None]
        if len(types) < len(indices):
            return node, None
        kind = Type(frozenset().union(*(t.axes for t in types)), tensor.dtype)
        return replace(node, type=kind), kind

    def _create(self, node: ast.Call) -> ast.Expr:
        axes = self.axis_names(node.args[0])
        position = 2 if node.op == "full" else 1
        value = (self.scalar(node.args[1]),) if node.op == "full" else ()
        dtype: str | None = "f32"
        if len(node.args) > position:
            dtype = self.text(node.args[position], tuple(DTYPES), "SK401", "dtype")
        kind = Type(frozenset(axes), dtype) if axes is not None and dtype else None
        return replace(node, args=(node.args[0], *value, *node.args[position:]), type=kind)

    def _dot(self, node: ast.Call) -> ast.Expr:
        a, b = (self.value(argument) for argument in node.args)
        keywords = dict(node.keywords)
        over = self.axis_names(keywords["over"])
        into = None
        if isinstance(keywords.get("into"), ast.Expr):
            into = keywords["into"] = self.value(keywords["into"])
        if "precision" in keywords:
            self.text(keywords["precision"], PRECISIONS, "SK110", "precision")
        typed = replace(node, args=(a, b), keywords=tuple(keywords.items()))
        if a.type is None or b.type is None or over is None or (into and into.type is None):
            return typed
        for axis in over:
            for side, tile in (("first", a.type), ("second", b.type)):
                if axis not in tile.axes:
                    has = ", ".join(sorted(tile.axes)) or "no axes"
                    message = f"The {side} tile of the dot has no axis `{axis}`: it has {has}."
                    self.report("SK302", node, message, "Contract over an axis that both tiles have.")
                    return typed
        axes = (a.type.axes | b.type.axes) - set(over)
        dtype = promote(a.type.dtype, b.type.dtype)
        if dtype == "bool":
            self._refuse(node, "dot", dtype, "Cast both first: f32(t).")
            return typed
        dtype = ("f64" if dtype == "f64" else "f32") if is_float(dtype) else "i64"
        if into and into.type:
            if into.type.axes != axes or is_float(into.type.dtype) != is_float(dtype):
                wanted = f'zeros([{", ".join(sorted(axes))}], "{dtype}")'
                message = f"`into` is {describe(into.type)}, the product {describe(Type(axes, dtype))}."
                self.report("SK302", into, message, f"Start it as {wanted}.")
                return typed
            dtype = into.type.dtype
        return replace(typed, type=Type(axes, dtype))

    def meets(self, node: ast.Call, axes: tuple[str, ...], kind: Type) -> bool:
        """Whether programs of a grid axis can meet here, with a tile of such a type; a finding says why not."""
        name, loop = axes[0], self.axes[axes[0]].loop
        if not isinstance(loop, ast.Grid) or len(axes) > 1:
            wrong = f"`{name}` is not the axis of a grid.", "Programs meet along one grid axis."
        elif dict(loop.hints).get("cooperative") != ast.Number(True):
            wrong = f"Programs of `{name}` need not run together.", "Mark the grid: cooperative=True."
        elif name in kind.axes:
            wrong = f"The tile still has the axis `{name}`.", f"Reduce it first: reduce_sum(t, {name})."
        else:
            return True
        self.report("SK307", node, *wrong)
        return False

    # --- what an argument must be -------------------------------------------------------------------

    def scalar(self, node: ast.Expr) -> ast.Expr:
        """A value without axes."""
        typed = self.value(node)
        if typed.type and typed.type.axes:
            axes = ", ".join(sorted(typed.type.axes))
            cure = "Reduce it, take first or last along its axes, or use begin(axis)."
            self.report("SK306", node, f"A scalar is needed here; this has the axes {axes}.", cure)
            return node
        return typed

    def integer(self, node: ast.Expr, scalar: bool = False) -> ast.Expr:
        """An index: an integer tile or scalar."""
        typed = self.scalar(node) if scalar else self.value(node)
        if typed.type and not is_integer(typed.type.dtype):
            cure = "Divide ints with `//`, or cast it: i64(t)."
            self.report("SK403", node, f"An integer is needed here; this is {typed.type.dtype}.", cure)
            return node
        return typed

    def text(self, node: ast.Expr, known: Iterable[str], code: str, what: str) -> str | None:
        """One of the strings `known`; a Tune's first choice when all of its choices are known."""
        known = tuple(known)
        match node:
            case ast.Text(value=value):
                choices: tuple[int | str, ...] = (value,)
            case ast.Tune(choices=choices):
                pass
            case ast.Name(id=name) if name in self.texts:
                choices = self.texts[name]
            case _:
                self.report(code, node, f"A {what} in quotes is needed here.", f"One of {', '.join(known)}.")
                return None
        for choice in choices:
            if choice not in known:
                cure = near(str(choice), known, f"One of {', '.join(known)}.")
                self.report(code, node, f"{choice!r} is not a {what}.", cure)
                return None
        return str(choices[0])

    def axis(self, node: ast.Expr) -> str | None:
        """The name of an axis in scope."""
        if isinstance(node, ast.Name) and node.id in self.axes:
            return node.id
        if not isinstance(node, ast.Name):
            self.report("SK301", node, "An axis is needed here.", f"Axes here: {', '.join(self.axes) or 'none'}.")
        elif node.id in self.left:
            self.report("SK301", node, f"The axis `{node.id}` is out of its loop here.", "Use it inside its loop.")
        else:
            cure = near(node.id, self.axes, f"Axes here: {', '.join(self.axes) or 'none'}.")
            self.report("SK301", node, f"`{node.id}` is not an axis.", cure)
        return None

    def axis_names(self, node: ast.Expr) -> tuple[str, ...] | None:
        """One axis or several: `n`, `(m, n)` or `[m, n]`."""
        match node:
            case ast.AxisList(axes=names):
                items: tuple[ast.Expr, ...] = tuple(ast.Name(name, place=node.place) for name in names)
            case ast.Group(items=items):
                pass
            case _:
                items = (node,)
        found = [self.axis(item) for item in items]
        return tuple(name for name in found if name) if all(found) else None


def describe(kind: Type) -> str:
    """A type in words: "f32 with the axes m, n"."""
    return f"{kind.dtype} with the axes {', '.join(sorted(kind.axes))}" if kind.axes else f"a {kind.dtype} scalar"
