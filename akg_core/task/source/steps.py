"""Loops of a file as often as values say, of which one turn is traced for all of them.

    for i in range(n):                      step = begin((n,), names, needed, locals())
        if gone[i]:                         if step is None:  # n is known: the loop itself
            continue             =>         else:
        kept.append(i)                          gone, kept, i = step.before
        if len(kept) == 3:                      if step.goes(stop):
            break                                   …
                                                gone, kept = step.end(locals())

`break` and `continue` are blocks that what follows does not belong to. What a turn hands on is decided by
`akg_core.task.tracing.steps`, by what it meets. Worker side only.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_LEAVES = (
    ast.Return, ast.Raise, ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal, ast.Delete, ast.Try,
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.NamedExpr,
)  # fmt: skip
_LOOPS = (ast.For, ast.While, ast.AsyncFor)


@dataclass(frozen=True, slots=True)
class OneTurn:
    """`body` of a loop over `target`. `names`: what it changes of what was there before, or is used of it afterwards;
    `needed`: those of which a turn reads what the one before has left. `stop`: the name that says that no turn follows.
    """

    target: str
    body: list[ast.stmt]
    names: tuple[str, ...]
    needed: tuple[str, ...]
    stop: str


class _NotOne(Exception):
    """A turn ends in a way that is no block's."""


def one_turn(loop: ast.For, function: ast.AST, stop: str) -> OneTurn | None:
    """A turn of a loop over a range that may not be known, in a function; None for other loops."""
    call = loop.iter
    if loop.orelse or not isinstance(loop.target, ast.Name) or not isinstance(call, ast.Call):
        return None
    stops = any(isinstance(each, ast.Break) for each in _own(loop.body))
    if call.keywords or len(call.args) > 2 or (all(map(_is_plain, call.args)) and not stops):
        return None
    if any(isinstance(each, _LEAVES) for statement in loop.body for each in ast.walk(statement)):
        return None
    try:
        body = _without_jumps(copy.deepcopy(loop.body), stop)
    except _NotOne:
        return None
    early = _early(body, {loop.target.id})[0] - {stop}
    inside = {id(each) for each in ast.walk(loop)}
    names_of = [each for each in ast.walk(function) if isinstance(each, ast.Name) and id(each) not in inside]
    used = {each.id for each in names_of if isinstance(each.ctx, ast.Load)}
    changed = _assigned(body) | _changed(body)
    names = {name for name in changed | {loop.target.id} if name in used or (name in early and name in changed)}
    names = {*names - {stop}, *([stop] if stops else [])}
    return OneTurn(loop.target.id, body, tuple(sorted(names)), tuple(sorted(early & names)), stop if stops else "")


def without_break(loop: ast.For, function: ast.AST, stop: str) -> list[ast.stmt] | None:
    """The body of a loop that `break` may end by values: nothing from where `stop` holds on. None for other loops, and
    where the last turn is known by the name of its element."""
    breaks = any(isinstance(each, ast.Break) for each in _own(loop.body))
    if loop.orelse or not breaks or any(isinstance(each, _LEAVES) for each in ast.walk(loop)):
        return None
    inside = {id(each) for each in ast.walk(loop)}
    names_of = [each for each in ast.walk(function) if isinstance(each, ast.Name) and id(each) not in inside]
    elements = {each.id for each in ast.walk(loop.target) if isinstance(each, ast.Name)}
    if elements & {each.id for each in names_of if isinstance(each.ctx, ast.Load)}:
        return None
    try:
        body = _without_jumps(copy.deepcopy(loop.body), stop)
    except _NotOne:
        return None
    goes_on = ast.UnaryOp(op=ast.Not(), operand=ast.Name(id=stop, ctx=ast.Load()))
    is_known = ast.Compare(left=ast.Name(id=stop, ctx=ast.Load()), ops=[ast.Is()], comparators=[ast.Constant(True)])
    return [ast.If(test=goes_on, body=body, orelse=[]), ast.If(test=is_known, body=[ast.Break()], orelse=[])]


def _is_plain(bound: ast.expr) -> bool:
    """Whether a bound is a number, or an attribute of something: no tensor says it."""
    return isinstance(bound, ast.Constant) or (isinstance(bound, ast.Attribute) and isinstance(bound.value, ast.Name))


# --- break and continue -----------------------------------------------------------------------------------


def _own(block: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """All nodes of a block but those of loops within."""
    for node in block:
        yield node
        if not isinstance(node, _LOOPS):
            yield from _own(list(ast.iter_child_nodes(node)))


def jumps(block: Sequence[ast.AST]) -> bool:
    """Whether a block has a `break` or `continue` of the loop that it stands in."""
    return any(isinstance(each, (ast.Break, ast.Continue)) for each in _own(block))


def _without_jumps(block: list[ast.stmt], stop: str) -> list[ast.stmt]:
    """A block without `break` and `continue`: what follows a block that ends with one is the other block."""
    for n, statement in enumerate(block):
        if isinstance(statement, (ast.Break, ast.Continue)):
            return [*block[:n], _jump(statement, stop)]
        if not jumps([statement]):
            continue
        if not isinstance(statement, ast.If):
            raise _NotOne
        rest, body, orelse = block[n + 1 :], statement.body, statement.orelse
        if _always_jumps(body):
            body, orelse = _without_jumps(body, stop), _without_jumps([*orelse, *rest], stop)
        elif orelse and _always_jumps(orelse):
            body, orelse = _without_jumps([*body, *rest], stop), _without_jumps(orelse, stop)
        else:  # what follows belongs to whatever does not jump
            body = _without_jumps([*body, *copy.deepcopy(rest)], stop)
            orelse = _without_jumps([*orelse, *rest], stop)
        return [*block[:n], ast.copy_location(ast.If(test=statement.test, body=body, orelse=orelse), statement)]
    return block


def _jump(statement: ast.stmt, stop: str) -> ast.stmt:
    if isinstance(statement, ast.Continue):
        return ast.copy_location(ast.Pass(), statement)
    target = ast.Name(id=stop, ctx=ast.Store())
    return ast.copy_location(ast.Assign(targets=[target], value=ast.Constant(value=True)), statement)


def _always_jumps(block: Sequence[ast.stmt]) -> bool:
    last = block[-1]
    if isinstance(last, ast.If):
        return bool(last.orelse) and _always_jumps(last.body) and _always_jumps(last.orelse)
    return isinstance(last, (ast.Break, ast.Continue))


# --- names ------------------------------------------------------------------------------------------------


def _reads(node: ast.AST | None) -> set[str]:
    """The names that an expression or a statement reads, but those that it has for itself in a comprehension."""
    if node is None:
        return set()
    own = {
        each.id
        for part in ast.walk(node)
        if isinstance(part, ast.comprehension)
        for each in ast.walk(part.target)
        if isinstance(each, ast.Name)
    }
    names = [each for each in ast.walk(node) if isinstance(each, ast.Name)]
    return {each.id for each in names if isinstance(each.ctx, ast.Load)} - own


def _assigned(block: Sequence[ast.AST]) -> set[str]:
    walked = [each for statement in block for each in ast.walk(statement)]
    within = {id(each) for part in walked if isinstance(part, ast.comprehension) for each in ast.walk(part.target)}
    return {
        each.id
        for each in walked
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store) and id(each) not in within
    }


def _changed(block: Sequence[ast.AST]) -> set[str]:
    """Names of what a block writes to: `x[i] = …`, `x[i] += …`, `x.add_(…)`, `xs.append(…)`."""
    found: set[str] = set()
    for node in (each for statement in block for each in ast.walk(statement)):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            found.add(_root(node))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = node.func.attr
            if name == "append" or (name.endswith("_") and not name.endswith("__")):
                found.add(_root(node.func.value))
    return found - {""}


def _root(node: ast.AST) -> str:
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _early(block: Sequence[ast.stmt], known: set[str]) -> tuple[set[str], set[str]]:
    """The names that a block may read before it has assigned them, and those that it is sure to have assigned."""
    early: set[str] = set()
    known = set(known)
    for statement in block:
        if isinstance(statement, ast.If):
            early |= _reads(statement.test) - known
            both = [_early(each, known) for each in (statement.body, statement.orelse)]
            early |= both[0][0] | both[1][0]
            known |= both[0][1] & both[1][1]
        elif isinstance(statement, ast.For):
            early |= _reads(statement.iter) - known
            early |= _early(statement.body, known | _assigned([statement.target]))[0]
        elif isinstance(statement, ast.While):
            early |= (_reads(statement.test) - known) | _early(statement.body, known)[0]
        else:
            early |= _reads(statement) - known
            if isinstance(statement, ast.AugAssign):
                early |= {_root(statement.target)} - known
            known |= _assigned([statement])
    return early, known
