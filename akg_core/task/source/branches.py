"""`if` and `for` of a file in terms of `akg_core.task.tracing.choices`, so that tensors may say what they do.

Blocks that Python leaves by `break`, `raise` and the like, or that set attributes, stay what they are; what follows
`continue` and `return` is made the other block. Worker side only.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from typing import Any

from akg_core.task.source.steps import OneTurn, jumps, one_turn, without_break
from akg_core.task.source.syntax import later, named
from akg_core.task.tracing import choices, steps

NAMES: dict[str, Any] = {
    "__akg_choices__": choices,
    "__akg_steps__": steps,
    "len": choices.length,
    "max": choices.largest,
    "min": choices.smallest,
}
"""What a rewritten file finds in its namespace."""

_RESULT = "__akg_result__"
_UNTOUCHED = ("__init__", "get_inputs", "get_init_inputs", "get_inputs_dyn_list")
_LEAVES = (
    ast.Return, ast.Raise, ast.Assert, ast.Yield, ast.YieldFrom, ast.Await, ast.Global,
    ast.Nonlocal, ast.Delete, ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Try,
)  # fmt: skip
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def chosen(module: ast.Module) -> None:
    """Rewrite the functions of a file in place."""
    _Branches().visit(module)
    ast.fix_missing_locations(module)


class _Branches(ast.NodeTransformer):
    """`if` and `for` within functions."""

    def __init__(self) -> None:
        self._count = self._within = 0
        self._function: ast.AST = ast.Module(body=[], type_ignores=[])

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if node.name in _UNTOUCHED or node.name.startswith("__turn_"):
            return node
        nested = [each for each in ast.walk(node) if isinstance(each, ast.If) and _has(each, ast.Return)]
        if nested and (body := _returning(node.body)) is not None:
            last = ast.Return(value=named(_RESULT))
            node.body = [*body, ast.copy_location(last, node.body[-1])]
        outer, self._function = self._function, node
        self._within += 1
        self.generic_visit(node)
        self._within -= 1
        self._function = outer
        return node

    def visit_For(self, node: ast.For) -> Any:
        if not self._within:
            return node
        name = self._fresh()
        if _is_range(node.iter) and (turn := one_turn(node, self._function, f"akg_stop{name}")):
            return self._stepped(node, turn, name)
        if not _is_range(node.iter) and (body := without_break(node, self._function, f"akg_stop{name}")):
            stopped = ast.Assign(targets=[ast.Name(id=f"akg_stop{name}", ctx=ast.Store())], value=ast.Constant(False))
            node.body = [ast.copy_location(each, node) for each in body]
            return [ast.copy_location(stopped, node), self.generic_visit(node)]
        return self._as_it_is(node)

    def _as_it_is(self, node: ast.For) -> ast.AST:
        node.body = _without_continue(node.body)
        if node.orelse or _is_range(node.iter) or _leaves(node.body):
            return self.generic_visit(node)
        turn = self._fresh()
        target = ast.Assign(targets=[node.target], value=_item(turn, 0))
        block = ast.If(test=_item(turn, 1), body=node.body, orelse=[])
        made = [ast.copy_location(each, node) for each in (target, block)]
        over = _call("turns", self.visit(node.iter))
        body = [each for one in made for each in _listed(self.visit(one))]
        loop = ast.For(target=ast.Name(id=turn, ctx=ast.Store()), iter=over, body=body, orelse=[])
        return ast.copy_location(loop, node)

    def _stepped(self, node: ast.For, turn: OneTurn, name: str) -> list[ast.stmt]:
        """A loop of which one turn is traced, if values say how often it runs; else the loop as it is."""
        assert isinstance(node.iter, ast.Call)
        begun = copy.deepcopy(ast.Tuple(elts=node.iter.args, ctx=ast.Load()))
        ends = (node.lineno, node.end_lineno or node.lineno)
        lines = ast.Tuple(elts=[ast.Constant(value=line) for line in ends], ctx=ast.Load())
        begin = _step("begin", self._value(begun), _names(turn.names), _names(turn.needed), lines, _scope())
        goes = ast.Call(func=_of(name, "goes"), args=[named(turn.stop)] if turn.stop else [], keywords=[])
        block = ast.If(test=goes, body=turn.body, orelse=[])
        ended = ast.Call(func=_of(name, "end"), args=[_scope()], keywords=[])
        inside: list[ast.stmt] = [_assignment((*turn.names, turn.target), _of(name, "before"))]
        inside += _listed(self.visit(ast.copy_location(block, node)))
        inside.append(_assignment(turn.names, ended) if turn.names else ast.Expr(value=ended))
        plain = ast.Compare(left=named(name), ops=[ast.Is()], comparators=[ast.Constant(value=None)])
        found: list[ast.stmt] = [_assignment((turn.stop,), ast.Tuple([ast.Constant(False)], ast.Load()))] * bool(
            turn.stop
        )
        found.append(ast.Assign(targets=[ast.Name(id=name, ctx=ast.Store())], value=begin))
        found.append(ast.If(test=plain, body=_listed(self._as_it_is(node)), orelse=inside))
        return [ast.copy_location(each, node) for each in found]

    def visit_If(self, node: ast.If) -> Any:
        blocks = [block for block in (node.body, node.orelse) if block]
        if not self._within or any(_leaves(block) or any(map(_sets_attributes, block)) for block in blocks):
            return self.generic_visit(node)
        names = [sorted(_assigned(block)) for block in (node.body, node.orelse)]
        if any(name.startswith("__") and name != _RESULT for each in names for name in each):  # mangled
            return self.generic_visit(node)
        choice, found = self._fresh(), []
        test = _call("when", self._test(node.test), _names(names[0]), _scope())
        found += self._block(choice, test, names[0], node.body, not node.orelse)
        if node.orelse:
            test = _call("otherwise", named(choice), _names(names[1]), _scope())
            found += self._block(self._fresh(), test, names[1], node.orelse, True)
        return [ast.copy_location(each, node) for each in found]

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = ast.unparse(node.func) if isinstance(node.func, (ast.Name, ast.Attribute)) else ""
        if self._within and name in choices.NUMBERS and len(node.args) == 1 and not node.keywords:
            return ast.copy_location(_call("number", ast.Constant(value=name), *node.args), node)
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if self._within and isinstance(node.op, ast.Not):
            return ast.copy_location(_call("negation", node.operand), node)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        if not self._within or _has(node, ast.NamedExpr, *_LEAVES) or names & {"super", "locals"}:
            return self.generic_visit(node)
        both = [later(self._value(each)) for each in (node.body, node.orelse)]
        return ast.copy_location(_call("one_of", self._test(node.test), *both), node)

    def _block(
        self, choice: str, test: ast.expr, names: list[str], block: list[ast.stmt], last: bool
    ) -> list[ast.stmt]:
        ended = ast.Attribute(value=named(choice), attr="end", ctx=ast.Load())
        end = ast.Call(func=ended, args=[_scope(), ast.Constant(value=last)], keywords=[])
        store = ast.Tuple(elts=[ast.Name(id=name, ctx=ast.Store()) for name in names], ctx=ast.Store())
        left: ast.stmt = ast.Assign(targets=[store], value=end) if names else ast.Expr(value=end)
        is_choice = ast.Compare(left=named(choice), ops=[ast.IsNot()], comparators=[ast.Constant(value=True)])
        body = [each for one in block for each in _listed(self.visit(one))]
        chosen = ast.If(test=is_choice, body=[left], orelse=[])
        return [
            ast.Assign(targets=[ast.Name(id=choice, ctx=ast.Store())], value=test),
            ast.If(test=named(choice), body=[*body, chosen], orelse=[]),
        ]

    def _test(self, test: ast.expr) -> ast.expr:
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return ast.copy_location(_call("negated", self._test(test.operand)), test)
        if isinstance(test, ast.BoolOp) and not any(_has(each, ast.NamedExpr) for each in test.values):
            name = "both" if isinstance(test.op, ast.And) else "either"
            result = self._test(test.values[-1])
            for value in reversed(test.values[:-1]):
                result = ast.copy_location(_call(name, self._test(value), later(result)), test)
            return result
        return self._value(test)

    def _value(self, value: ast.expr) -> ast.expr:
        visited = self.visit(value)
        assert isinstance(visited, ast.expr)
        return visited

    def _fresh(self) -> str:
        self._count += 1
        return f"__akg_{self._count}"


def _returning(block: Sequence[ast.stmt]) -> list[ast.stmt] | None:
    """A function's body in which every way leads to its end, with the result by name; None where it cannot be."""
    found: list[ast.stmt] = []
    for n, statement in enumerate(block):
        if isinstance(statement, ast.Return):
            value = statement.value or ast.Constant(value=None)
            target = ast.Name(id=_RESULT, ctx=ast.Store())
            return [*found, ast.copy_location(ast.Assign(targets=[target], value=value), statement)]
        if not _has(statement, ast.Return):
            found.append(statement)
            continue
        rest, after = list(block[n + 1 :]), isinstance(statement, ast.If) and _ends(statement.body)
        if not isinstance(statement, ast.If) or not (after or (statement.orelse and _ends(statement.orelse))):
            return None
        body = _returning(statement.body if after else [*statement.body, *rest])
        orelse = _returning([*statement.orelse, *rest] if after else statement.orelse)
        if body is None or orelse is None:
            return None
        return [*found, ast.copy_location(ast.If(test=statement.test, body=body, orelse=orelse), statement)]
    return [*found, ast.Assign(targets=[ast.Name(id=_RESULT, ctx=ast.Store())], value=ast.Constant(value=None))]


def _ends(block: Sequence[ast.stmt]) -> bool:
    """Whether a block always returns, or raises."""
    last = block[-1]
    if isinstance(last, ast.If):
        return bool(last.orelse) and _ends(last.body) and _ends(last.orelse)
    return isinstance(last, (ast.Return, ast.Raise))


def _without_continue(block: Sequence[ast.stmt]) -> list[ast.stmt]:
    """A loop's body in which what follows `continue` in an `if` is the other block."""
    for n, statement in enumerate(block):
        if isinstance(statement, ast.If) and isinstance(statement.body[-1], ast.Continue):
            body = [*statement.body[:-1]] or [ast.copy_location(ast.Pass(), statement)]
            rest = _without_continue([*statement.orelse, *block[n + 1 :]])
            made = ast.If(test=statement.test, body=body, orelse=rest)
            return [*block[:n], ast.copy_location(made, statement)]
    return list(block)


def _has(node: ast.AST, *kinds: type[ast.AST]) -> bool:
    """Whether there is such a node, but in functions and classes within."""
    if isinstance(node, kinds):
        return True
    return any(_has(child, *kinds) for child in ast.iter_child_nodes(node) if not isinstance(child, _SCOPES)) or any(
        isinstance(child, kinds) for child in ast.iter_child_nodes(node)
    )


def _leaves(block: Sequence[ast.stmt]) -> bool:
    """Whether Python may leave a block, or the loop that it is the body of, before its end."""
    return jumps(block) or any(_has(each, *_LEAVES) for each in block)


def _sets_attributes(node: ast.AST) -> bool:
    return any(isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store) for each in ast.walk(node))


def _assigned(block: Sequence[ast.stmt]) -> set[str]:
    walked = [each for statement in block for each in ast.walk(statement)]
    return {each.id for each in walked if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}


def _is_range(over: ast.expr) -> bool:
    return isinstance(over, ast.Call) and isinstance(over.func, ast.Name) and over.func.id == "range"


def _listed(made: Any) -> list[Any]:
    return made if isinstance(made, list) else [made]


def _names(names: Sequence[str]) -> ast.Tuple:
    return ast.Tuple(elts=[ast.Constant(value=name) for name in names], ctx=ast.Load())


def _scope() -> ast.Call:
    return ast.Call(func=named("locals"), args=[], keywords=[])


def _item(name: str, at: int) -> ast.Subscript:
    return ast.Subscript(value=named(name), slice=ast.Constant(value=at), ctx=ast.Load())


def _assignment(names: Sequence[str], value: ast.expr) -> ast.Assign:
    """`a, b = value`."""
    store = ast.Tuple(elts=[ast.Name(id=name, ctx=ast.Store()) for name in names], ctx=ast.Store())
    return ast.Assign(targets=[store], value=value)


def _of(name: str, attribute: str) -> ast.Attribute:
    return ast.Attribute(value=named(name), attr=attribute, ctx=ast.Load())


def _step(function: str, *args: ast.expr) -> ast.Call:
    return ast.Call(func=_of("__akg_steps__", function), args=list(args), keywords=[])


def _call(function: str, *args: ast.expr) -> ast.Call:
    return ast.Call(func=_of("__akg_choices__", function), args=list(args), keywords=[])
