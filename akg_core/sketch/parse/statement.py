"""Statements of kernels and programs: from Python's syntax tree to the language's own."""

from __future__ import annotations

import ast as python

from akg_core.dtypes import DTYPES
from akg_core.sketch import ast
from akg_core.sketch.codes import near
from akg_core.sketch.ops import EFFECTS
from akg_core.sketch.parse.expression import ExpressionParser
from akg_core.sketch.scalars import is_scalar

_LOOPS = ("grid", "tiles", "range")
_ALLOWED = "A kernel has for loops over grid, tiles and range, if, assignments, and store or atomic calls."
_ALLOWED_PROGRAM = "A program has allocations, views, launches of kernels, loops over range and one return at its end."
_ALLOWED_TURN = "A loop of a program has views, launches of kernels and loops over range."
VIEWS = ("reshape", "permute", "narrow", "expand", "unfold", "floats")


class StatementParser(ExpressionParser):
    """Reads the bodies of kernels and programs."""

    # --- kernels ------------------------------------------------------------------------------

    def body(self, nodes: list[python.stmt]) -> tuple[ast.Statement, ...]:
        statements: list[ast.Statement] = []
        for node in nodes:
            match node:
                case python.Pass():
                    continue
                case python.Assign(targets=[python.Tuple() as targets], value=python.Tuple() as values):
                    statements += self._parallel(node, targets, values)
                case _:
                    statements.append(self.statement(node))
        return tuple(statements)

    def _parallel(self, node: python.stmt, targets: python.Tuple, values: python.Tuple) -> list[ast.Statement]:
        """`a, b = x, y` as one assignment after another, where that means the same."""
        names = self.names(targets, "SK104", "Write `a, b = x, y`.")
        if len(names) != len(values.elts):
            self.fail(node, "SK104", f"{len(values.elts)} values for {len(names)} names.", "Give each name one value.")
        for index, value in enumerate(values.elts):
            used = {part.id for part in python.walk(value) if isinstance(part, python.Name)} & set(names[:index])
            if used:
                found = f"`{min(used)}` is assigned and read in one statement."
                self.fail(value, "SK104", found, "Assign one after the other, on lines of their own.")
        pairs = zip(targets.elts, values.elts, strict=True)
        return [self._assign(target, value, self.place(target)) for target, value in pairs]

    def statement(self, node: python.stmt) -> ast.Statement:
        place = self.place(node)
        match node:
            case python.For():
                return self._loop(node)
            case python.Assign(targets=[target], value=value):
                return self._assign(target, value, place)
            case python.AugAssign(target=python.Name(id=name), op=op, value=value):
                self.target = name
                both = python.copy_location(python.BinOp(python.Name(name), op, value), node)
                python.fix_missing_locations(both)
                return ast.Assign((name,), self.expression(both), place=place)
            case python.If(test=test, body=body, orelse=orelse):
                self.target = "if"
                condition = self.expression(test)
                return ast.If(condition, self.body(body), self.body(orelse), place=place)
            case python.Expr(value=python.Call(func=python.Name(id=name)) as value) if name in EFFECTS:
                first = value.args[0] if value.args else None
                tensor = first.value if isinstance(first, python.Subscript) else first
                self.target = tensor.id if isinstance(tensor, python.Name) else name
                call = self.call(value)
                assert isinstance(call, ast.Call)
                return ast.Effect(call, place=place)
            case python.Expr(value=python.Call() as value):
                self.call(value)
                self.fail(node, "SK104", "The result of this call is not used.", "Assign it, or store it in a tensor.")
        self.fail(node, "SK104", f"`{_first_line(node)}` is not a statement of a kernel.", _ALLOWED)

    def _loop(self, node: python.For) -> ast.Statement:
        call, place = node.iter, self.place(node)
        if not isinstance(call, python.Call) or not isinstance(call.func, python.Name) or call.func.id not in _LOOPS:
            found = f"`{python.unparse(call)}` is not something to loop over."
            self.fail(call, "SK106", found, "Loop over grid(M, BM), tiles(N, BN) or range(n).")
        if not isinstance(node.target, python.Name):
            self.fail(node.target, "SK106", "A loop has one name.", "Write `for m in grid(M, BM):`, and nest loops.")
        if node.orelse:
            self.fail(node.orelse[0], "SK106", "A loop has no else.", "Put these statements after the loop.")
        name, kind = node.target.id, call.func.id
        self.target = name
        keywords = self._keywords(call)
        if kind == "range":
            bounds, hints = self._bounds(call, place), self.hints(keywords)
            return ast.Range(name, *bounds, self.body(node.body), hints, place=place)
        args = dict(zip(("extent", "step", "start", "stop")[: 4 if kind == "tiles" else 2], call.args, strict=False))
        if len(args) < len(call.args):
            self.fail(call.args[len(args)], "SK106", f"{kind} takes at most {len(args)} positions.", _usage(kind))
        for slot in set(keywords) & {"extent", "step", "start", "stop"}:
            if slot in args or (kind == "grid" and slot in ("start", "stop")):
                self.fail(keywords[slot], "SK106", f"`{slot}=` does not fit here.", _usage(kind))
            args[slot] = keywords.pop(slot)
        if "extent" not in args or (kind == "tiles" and "step" not in args):
            self.fail(call, "SK106", f"{kind} needs an extent and a step.", _usage(kind))
        parts = {slot: self.slot(slot, value) for slot, value in args.items()}
        extent, step = parts["extent"], parts.get("step", ast.Number(1, place=place))
        if kind == "grid":
            hints = self.hints(keywords)
            return ast.Grid(name, extent, step, self.body(node.body), hints, place=place)
        backwards = keywords.pop("reverse", None)
        reverse = self.literal(backwards) if backwards is not None else False
        if not isinstance(reverse, bool):
            self.fail(backwards, "SK106", "`reverse=` is True or False.", _usage(kind))
        hints = self.hints(keywords)
        start, stop = parts.get("start"), parts.get("stop")
        return ast.Tiles(name, extent, step, self.body(node.body), start, stop, reverse, hints, place=place)

    def _bounds(self, call: python.Call, place: ast.Place) -> tuple[ast.Expr, ast.Expr, ast.Expr]:
        """Start, stop and step of a range."""
        if not 1 <= len(call.args) <= 3:
            self.fail(call, "SK106", "range takes one to three numbers.", _usage("range"))
        slots = ("stop",) if len(call.args) == 1 else ("start", "stop", "step")[: len(call.args)]
        parts = {slot: self.slot(slot, value) for slot, value in zip(slots, call.args, strict=False)}
        zero, one = ast.Number(0, place=place), ast.Number(1, place=place)
        return parts.get("start", zero), parts["stop"], parts.get("step", one)

    def _assign(self, target: python.expr, value: python.expr, place: ast.Place) -> ast.Statement:
        names = self.names(target, "SK104", "Assign to a name, or to several: `n, h, w = split(p, (B, H, W))`.")
        self.target = names[0]
        if isinstance(value, python.Call) and isinstance(value.func, python.Name) and value.func.id == "whole":
            keywords = self._keywords(value)
            extent = value.args[0] if value.args else keywords.pop("extent", None)
            if extent is None or len(value.args) > 1 or len(names) > 1:
                self.fail(value, "SK106", "whole takes an extent and makes one axis.", _usage("whole"))
            return ast.Whole(names[0], self.slot("extent", extent), self.hints(keywords), place=place)
        return ast.Assign(names, self.expression(value), place=place)

    def names(self, node: python.expr, code: str, suggestion: str) -> tuple[str, ...]:
        """`a` or `a, b` as names."""
        items = node.elts if isinstance(node, python.Tuple) else [node]
        for item in items:
            if not isinstance(item, python.Name):
                self.fail(item, code, f"`{python.unparse(item)}` stands where a name is needed.", suggestion)
        return tuple(item.id for item in items if isinstance(item, python.Name))

    def _keywords(self, call: python.Call) -> dict[str, python.expr]:
        for argument in call.args:
            if isinstance(argument, python.Starred):
                self.fail(argument, "SK105", "Arguments are written one by one.")
        for keyword in call.keywords:
            if keyword.arg is None:
                self.fail(keyword.value, "SK105", "Arguments are written one by one.")
        return {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}

    # --- programs -----------------------------------------------------------------------------

    def program_statement(self, node: python.stmt, kernels: tuple[str, ...]) -> ast.Statement:
        place = self.place(node)
        match node:
            case python.Assign(targets=[python.Name(id=target)], value=python.Call(func=python.Name(id=name)) as call):
                if name in ("empty", "zeros", "full"):
                    return self._allocate(target, name, call, place)
                if name in VIEWS:
                    return self._view(target, name, call, place)
                known = ("empty", "zeros", "full", *VIEWS)
                cure = "A kernel gives no result: pass it the tensor to fill." if name in kernels else near(name, known)
                self.fail(call, "SK109", f"`{name}` makes no tensor.", cure or _ALLOWED_PROGRAM)
            case python.Expr(value=python.Call(func=python.Name(id=name)) as call):
                return self._launch(name, call, kernels, place)
            case python.For():
                return self._program_loop(node, kernels)
            case python.Return(value=value) if value is not None:
                return ast.Return(
                    self.names(value, "SK109", "Assign it to a name first, then return that."), place=place
                )
        self.fail(node, "SK109", f"`{_first_line(node)}` is not a statement of a program.", _ALLOWED_PROGRAM)

    def _program_loop(self, node: python.For, kernels: tuple[str, ...]) -> ast.Statement:
        """`for t in range(T):` over views and launches; what it writes outlives a turn, so it allocates nothing."""
        call = node.iter
        if not (isinstance(call, python.Call) and isinstance(call.func, python.Name) and call.func.id == "range"):
            found = f"`{python.unparse(call)}` is not something that a program loops over."
            self.fail(call, "SK106", found, "Write `for t in range(T):`; grid and tiles are loops of kernels.")
        if not isinstance(node.target, python.Name) or node.orelse:
            self.fail(node, "SK106", "A loop of a program has one name and no else.", "Write `for t in range(T):`.")
        bounds = self._bounds(call, self.place(node))
        body = tuple(self.program_statement(statement, kernels) for statement in node.body)
        for inner, statement in zip(node.body, body, strict=True):
            if isinstance(statement, (ast.Allocate, ast.Return)) or (
                isinstance(statement, ast.Launch) and statement.once
            ):
                found = f"`{_first_line(inner)}` stands in a loop."
                self.fail(inner, "SK109", found, f"{_ALLOWED_TURN} Allocate, return and launch once outside of it.")
        if keywords := self._keywords(call):
            self.fail(call, "SK106", f"`{min(keywords)}=` does not fit here.", _usage("range"))
        return ast.Range(node.target.id, *bounds, body, (), place=self.place(node))

    def _allocate(self, target: str, name: str, call: python.Call, place: ast.Place) -> ast.Allocate:
        skipped = 2 if name == "full" else 1
        usage = {"full": 'Write full("f32", value, M, N).'}.get(name, f'Write {name}("f32", M, N).')
        if len(call.args) < skipped or call.keywords:
            self.fail(call, "SK109", f"`{name}` takes a dtype and dimensions.", usage)
        dtype = self.literal(call.args[0])
        if dtype not in DTYPES or not isinstance(dtype, str):
            self.fail(call.args[0], "SK401", f"{dtype!r} is not a dtype.", near(str(dtype), DTYPES, usage))
        fill = self._filling(call.args[1]) if name == "full" else {"zeros": 0}.get(name)
        dims = tuple(self.dimension(a) for a in call.args[skipped:])
        return ast.Allocate(target, dtype, dims, fill, place=place)

    def _filling(self, node: python.expr) -> int | float | ast.Expr:
        """What `full` fills with: a number, or an expression of float arguments."""
        value = self.expression(node)
        if isinstance(value, ast.Number):
            return value.value
        for part in ast.walk(value):
            if not is_scalar(part):
                found = f"`{python.unparse(node)}` is no number, and not made of float arguments by + - * and /."
                self.fail(node, "SK109", found, 'Write full("f32", value, M, N) or full("f64", 1 - x).')
        return value

    def _view(self, target: str, name: str, call: python.Call, place: ast.Place) -> ast.View:
        if not call.args or call.keywords or not isinstance(call.args[0], python.Name):
            self.fail(call, "SK109", f"`{name}` takes a tensor by name, then sizes.", "Write z = reshape(y, M, N).")
        return ast.View(target, name, call.args[0].id, tuple(self.dimension(a) for a in call.args[1:]), place=place)

    def _launch(self, name: str, call: python.Call, kernels: tuple[str, ...], place: ast.Place) -> ast.Launch:
        if name not in kernels:
            self.fail(call, "SK202", f"There is no kernel `{name}`.", near(name, kernels, _ALLOWED_PROGRAM))
        keywords = self._keywords(call)
        once = self.literal(keywords.pop("once")) if "once" in keywords else False
        if not isinstance(once, bool):
            self.fail(call, "SK109", "`once=` is True or False.")
        for argument in call.args:
            if not isinstance(argument, python.Name):
                found = f"`{python.unparse(argument)}` stands where a tensor is needed."
                self.fail(argument, "SK109", found, "Pass tensors by name; numbers by keyword: S=2.")
        tensors = tuple(a.id for a in call.args if isinstance(a, python.Name))
        constants = tuple((key, self.dimension(value)) for key, value in keywords.items())
        return ast.Launch(name, tensors, constants, once, place=place)

    def dimension(self, node: python.expr) -> ast.Expr:
        """A size: a number, a name, an expression over them, or any of these in quotes."""
        if not (isinstance(node, python.Constant) and isinstance(node.value, str)):
            return self.expression(node)
        try:
            inner = python.parse(node.value.strip(), mode="eval").body
        except SyntaxError:
            self.fail(
                node, "SK103", f"{node.value!r} is not a size.", 'A size is a name, a number or an expression: "2*N".'
            )
        for part in python.walk(inner):  # inside quotes Python counts from the quote; the text is what counts
            if hasattr(part, "lineno"):
                python.copy_location(part, node)
        return self.expression(inner)


def _usage(kind: str) -> str:
    return {
        "grid": "Write `for m in grid(M, BM):`.",
        "tiles": "Write `for n in tiles(N, BN):`; start=, stop= and reverse=True may follow.",
        "range": "Write `for i in range(n):`.",
        "whole": "Write `n = whole(N)`.",
    }[kind]


def _first_line(node: python.stmt) -> str:
    return python.unparse(node).splitlines()[0]
