"""Loops in a file that read numbers from tensors: all turns at once, where these do not depend on each other.

    for i in range(n):                          def turn(turns, i):
        at = places[i].item()                       at = turns.number(turns.load(places, i))
        if at < cache.shape[0]:           =>        if turns.begin(at < cache.shape[0], False):
            cache[at] = new[i]                          turns.store(cache, at, turns.load(new, i), False)
                                                        turns.end()
                                                if not run(turn, range, (n,), (places, new)): the loop itself

What a turn may be made of is decided here, by reading; `akg_core.task.tracing.turns` runs it, and declines by what it
meets.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator, Sequence

from akg_core.task.source.syntax import later, named

RUN = "__akg_turns__"
"""The name in the file's namespace of what runs turns: `akg_core.task.tracing.turns.run`."""

_TURNS = "__turns"
_NAMES = "item long int float double half bfloat16 bool to size dim numel clone contiguous"
_METHODS = frozenset(_NAMES.split())
_FUNCTIONS = frozenset(("int", "min", "max", "len", "slice", "tuple", "list", "range", "abs"))
_ABOUT = frozenset(("shape", "dtype", "device", "ndim", "size", "dim", "numel"))
"""What of a tensor says nothing of its elements."""

_EXPRESSIONS = (
    ast.Constant, ast.Name, ast.Attribute, ast.Subscript, ast.Slice, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare,
    ast.Call, ast.List, ast.Tuple, ast.Load, ast.Store, ast.operator, ast.unaryop, ast.boolop, ast.cmpop,
)  # fmt: skip
_STATEMENTS = (ast.Assign, ast.AugAssign, ast.If, ast.For, ast.Continue, ast.Pass)


def at_once(module: ast.Module) -> bool:
    """Rewrite the loops of a file in place; whether there was one to rewrite."""
    rewriter = _Loops()
    rewriter.visit(module)
    ast.fix_missing_locations(module)
    return rewriter.found > 0


class _Ineligible(Exception):
    """A loop has more in it than turns may be made of."""


class _Loops(ast.NodeTransformer):
    """The loops of functions, the outermost first."""

    def __init__(self) -> None:
        self.found = 0
        self._within: list[ast.FunctionDef] = []

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self._within.append(node)
        try:
            return self.generic_visit(node)
        finally:
            self._within.pop()

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        within, self._within = self._within, []
        try:
            return self.generic_visit(node)
        finally:
            self._within = within

    def visit_For(self, node: ast.For) -> ast.AST | list[ast.AST]:
        try:
            turn, call = self._turn(node)
        except _Ineligible:
            return self.generic_visit(node)
        self.found += 1
        self.generic_visit(node)
        otherwise = ast.If(test=ast.UnaryOp(op=ast.Not(), operand=call), body=[node], orelse=[])
        return [ast.copy_location(each, node) for each in (turn, otherwise)]

    def _turn(self, loop: ast.For) -> tuple[ast.FunctionDef, ast.Call]:
        if not self._within or not _reads_numbers(loop):
            raise _Ineligible
        over, count, names = _over(loop)
        body = _without_continue(loop.body)
        _require_plain(body)
        _require_own(body, names, loop, self._within[-1])
        name = f"__turn_{self.found}"
        (turn,) = ast.parse(f"def {name}({', '.join((_TURNS, *names))}): pass").body
        assert isinstance(turn, ast.FunctionDef)
        turn.body = _Turn(body).block(body)
        reads = ast.Tuple(elts=[named(each) for each in sorted(_outside(body, names))], ctx=ast.Load())
        given = ast.Tuple(elts=copy.deepcopy(count), ctx=ast.Load())
        return turn, ast.Call(func=named(RUN), args=[named(name), ast.Constant(over), given, reads], keywords=[])


def _reads_numbers(loop: ast.For) -> bool:
    """Whether a loop writes to places of a tensor, and reads numbers or decides: others are traced as they are."""
    inside = list(ast.walk(loop))
    writes = any(isinstance(each, ast.Subscript) and isinstance(each.ctx, ast.Store) for each in inside)
    return writes and any(
        isinstance(each, ast.If) or (isinstance(each, ast.Attribute) and each.attr == "item") for each in inside
    )


def _over(loop: ast.For) -> tuple[str, list[ast.expr], list[str]]:
    """How a loop counts (range or enumerate), what these are given, and the names that a turn has for it."""
    call, target = loop.iter, loop.target
    if loop.orelse or not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.keywords:
        raise _Ineligible
    if call.func.id == "range" and isinstance(target, ast.Name) and len(call.args) == 1:
        return "range", call.args, [target.id]
    if call.func.id == "enumerate" and isinstance(target, ast.Tuple) and len(call.args) == 1:
        names = [each.id for each in target.elts if isinstance(each, ast.Name)]
        if len(names) == len(target.elts) == 2:
            return "enumerate", call.args, names
    raise _Ineligible


def _without_continue(block: Sequence[ast.stmt]) -> list[ast.stmt]:
    """A block in which what follows `if c: continue` stands in `if not c`."""
    found: list[ast.stmt] = []
    for n, statement in enumerate(block):
        statement = copy.deepcopy(statement)
        if isinstance(statement, ast.If):
            if len(statement.body) == 1 and isinstance(statement.body[0], ast.Continue) and not statement.orelse:
                rest = _without_continue(block[n + 1 :])
                other = ast.UnaryOp(op=ast.Not(), operand=statement.test)
                return [*found, ast.copy_location(ast.If(test=other, body=rest or [ast.Pass()], orelse=[]), statement)]
            statement.body = _without_continue(statement.body)
            statement.orelse = _without_continue(statement.orelse)
        elif isinstance(statement, ast.For):
            statement.body = _without_continue(statement.body)
        found.append(statement)
    return found


def _require_plain(body: Sequence[ast.stmt]) -> None:
    """Raise _Ineligible where something in a turn is none of what turns may be made of."""
    nodes = [each for statement in body for each in ast.walk(statement)]
    called = {id(each.func) for each in nodes if isinstance(each, ast.Call)}
    for node in nodes:
        if isinstance(node, ast.Attribute) and node.attr not in _ABOUT and id(node) not in called:
            raise _Ineligible  # it may be what is written to
        if isinstance(node, ast.Continue) or not isinstance(node, (*_STATEMENTS, *_EXPRESSIONS)):
            raise _Ineligible
        if isinstance(node, ast.For):
            over, _, _ = _over(node)
            if over != "range":
                raise _Ineligible
        if isinstance(node, ast.Assign) and (len(node.targets) != 1 or not _is_target(node.targets[0])):
            raise _Ineligible
        if isinstance(node, ast.AugAssign) and not (
            isinstance(node.op, ast.Add) and isinstance(node.target, ast.Subscript) and _is_target(node.target)
        ):
            raise _Ineligible
        if isinstance(node, ast.Call):
            method = isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS
            function = isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS
            if not (method or function) or node.keywords:
                raise _Ineligible


def _is_target(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) or (isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name))


def _require_own(body: Sequence[ast.stmt], names: Sequence[str], loop: ast.For, function: ast.FunctionDef) -> None:
    """Raise _Ineligible where a name is carried from turn to turn, or on to what follows the loop."""
    assigned = set(names)
    for _, kind, name in sorted(_uses(body)):
        if kind == "read" and name not in assigned and name in _assigned(body):
            raise _Ineligible
        if kind == "write":
            assigned.add(name)
    inside = {id(each) for each in ast.walk(loop)}
    bound = [each for each in ast.walk(function) if isinstance(each, ast.For) and id(each) not in inside]
    covered = {(id(each), name) for other in bound for name in _bound(other) for each in ast.walk(other)}
    read = [each for each in _names(function) if isinstance(each.ctx, ast.Load) and each.id in assigned]
    if any(id(each) not in inside and (id(each), each.id) not in covered for each in read):
        raise _Ineligible


def _bound(loop: ast.For) -> Iterator[str]:
    """The names that each turn of a loop begins with anew."""
    seen: set[str] = set()
    yield from (each.id for each in _names(loop.target))
    for statement in loop.body:
        seen |= {each.id for each in _names(statement) if isinstance(each.ctx, ast.Load)}
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        if isinstance(target, ast.Name) and target.id not in seen:
            yield target.id


def _names(node: ast.AST) -> Iterator[ast.Name]:
    return (each for each in ast.walk(node) if isinstance(each, ast.Name))


def _uses(body: Sequence[ast.stmt]) -> Iterator[tuple[int, str, str]]:
    """(place, "read" or "write", name) of every name, the value of an assignment before its target."""
    place = 0

    def visited(node: ast.AST) -> Iterator[tuple[int, str, str]]:
        nonlocal place
        children: list[ast.AST] = list(ast.iter_child_nodes(node))
        if isinstance(node, ast.Assign):
            children = [node.value, *node.targets]
        elif isinstance(node, ast.For):
            children = [node.iter, node.target, *node.body]
        for child in children:
            if isinstance(child, ast.Name):
                place += 1
                yield place, "read" if isinstance(child.ctx, ast.Load) else "write", child.id
            else:
                yield from visited(child)

    for statement in body:
        yield from visited(statement)


def _assigned(body: Sequence[ast.AST]) -> set[str]:
    return {each.id for statement in body for each in _names(statement) if isinstance(each.ctx, ast.Store)}


def _loaded(body: Sequence[ast.AST]) -> Counter[str]:
    """How often the elements of what a name stands for may be read."""
    walked = [each for statement in body for each in ast.walk(statement)]
    passed = {id(each.value) for each in walked if isinstance(each, ast.Attribute) and each.attr in _ABOUT}
    passed |= {id(each.value) for each in walked if isinstance(each, ast.Subscript) and isinstance(each.ctx, ast.Store)}
    passed |= {id(each.func) for each in walked if isinstance(each, ast.Call)}
    names = [each for each in walked if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)]
    return Counter(each.id for each in names if id(each) not in passed)


def _outside(body: Sequence[ast.stmt], names: Sequence[str]) -> set[str]:
    """The names of what a turn reads that it has not made itself."""
    return set(_loaded(body)) - _assigned(body) - set(names)


def _call(method: str, *args: ast.expr) -> ast.Call:
    return ast.Call(func=ast.Attribute(value=named(_TURNS), attr=method, ctx=ast.Load()), args=list(args), keywords=[])


class _Turn(ast.NodeTransformer):
    """The body of a loop as the body of a function of all turns."""

    def __init__(self, body: Sequence[ast.stmt]) -> None:
        self._body, self._read = body, _loaded(body)

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for statement in statements:
            made = self.visit(copy.deepcopy(statement))
            for each in made if isinstance(made, list) else [made]:
                found.append(ast.copy_location(each, statement))
        return found

    def visit_If(self, node: ast.If) -> list[ast.stmt]:
        test = self.visit(node.test)
        found: list[ast.stmt] = []
        for block, condition in ((node.body, test), (node.orelse, _call("negated", copy.deepcopy(test)))):
            if block:
                inside, own = _loaded(block), _assigned(block)
                escapes = any(self._read[name] > inside[name] for name in own)
                begins = _call("begin", condition, ast.Constant(escapes))
                found.append(ast.If(test=begins, body=[*self.block(block), ast.Expr(_call("end"))], orelse=[]))
        return found

    def visit_For(self, node: ast.For) -> list[ast.stmt]:
        (count,) = _over(node)[1]
        enters = ast.Assign(targets=[node.target], value=_call("enter", self.visit(count)))
        return [enters, *self.block(node.body), ast.Expr(_call("leave"))]

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        (target,), value = node.targets, self.visit(node.value)
        if isinstance(target, ast.Name):
            return ast.Assign(targets=[target], value=value)
        return self._stored("store", target, value)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        return self._stored("add", node.target, self.visit(node.value))

    def _stored(self, method: str, target: ast.expr, value: ast.expr) -> ast.stmt:
        assert isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name)
        read = ast.Constant(self._read[target.value.id] > 0)
        return ast.Expr(_call(method, named(target.value.id), self._index(target.slice), value, read))

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        return _call("load", self.visit(node.value), self._index(node.slice))

    def _index(self, index: ast.expr) -> ast.expr:
        """An index as a value: a slice by its call."""
        if isinstance(index, ast.Slice):
            bounds = [
                self.visit(each) if each else ast.Constant(None) for each in (index.lower, index.upper, index.step)
            ]
            return ast.Call(func=named("slice"), args=bounds, keywords=[])
        if isinstance(index, ast.Tuple):
            return ast.Tuple(elts=[self._index(each) for each in index.elts], ctx=ast.Load())
        result = self.visit(index)
        assert isinstance(result, ast.expr)
        return result

    def visit_Call(self, node: ast.Call) -> ast.expr:
        args = [self.visit(each) for each in node.args]
        if isinstance(node.func, ast.Attribute):
            if node.func.attr == "item":
                return _call("number", self.visit(node.func.value))
            return ast.Call(
                func=ast.Attribute(value=self.visit(node.func.value), attr=node.func.attr, ctx=ast.Load()),
                args=args,
                keywords=[],
            )
        assert isinstance(node.func, ast.Name)
        if node.func.id == "int":
            return _call("number", *args)
        return ast.Call(func=node.func, args=args, keywords=[])

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        found = self.visit(node.values[-1])
        for value in reversed(node.values[:-1]):
            found = _call("both" if isinstance(node.op, ast.And) else "either", self.visit(value), later(found))
        assert isinstance(found, ast.expr)
        return found

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        operands = [node.left, *node.comparators]
        if len(node.ops) > 1:
            pairs = zip(operands, node.ops, operands[1:], strict=False)
            single = [ast.Compare(left=a, ops=[op], comparators=[copy.deepcopy(b)]) for a, op, b in pairs]
            result = self.visit(ast.BoolOp(op=ast.And(), values=list(single)))
        else:
            result = self.generic_visit(node)
        assert isinstance(result, ast.expr)
        return result

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        operand = self.visit(node.operand)
        return _call("negated", operand) if isinstance(node.op, ast.Not) else ast.UnaryOp(op=node.op, operand=operand)
