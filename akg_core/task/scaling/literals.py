"""The integers that a reference file spells out, wherever they stand, and the file with others in their places."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Integer:
    """An integer in the text: alone, in a tuple, list, dict, call or product; `span` is its place.

    `scope`: the functions and classes around it, "" at module level. `name`: what the file calls it; "" where nothing.
    """

    name: str
    value: int
    span: tuple[int, int]
    scope: str = ""
    in_class: bool = False


Change = tuple[Integer, int]


def integers(source: str) -> list[Integer]:
    """All of a file's integers, in order; `2048 * 2` is one at module level, and elsewhere two, which may differ."""
    reader = _Reader(source)
    reader.statements(ast.parse(source).body)
    return sorted(reader.found, key=lambda integer: integer.span)


def constants(source: str) -> list[Integer]:
    """Those that assignments at module level spell out."""
    return [integer for integer in integers(source) if not integer.scope]


def rewritten(source: str, changes: Iterable[Change]) -> str:
    """The text with each integer replaced; every line keeps its number."""
    for integer, value in sorted(changes, key=lambda change: change[0].span, reverse=True):
        start, end = integer.span
        source = source[:start] + str(value) + "\n" * source.count("\n", start, end) + source[end:]
    return source


class _Reader:
    """Walks over a file and keeps what it finds, with the names that are around it."""

    def __init__(self, source: str) -> None:
        self.found: list[Integer] = []
        self._scope: tuple[str, ...] = ()
        self._in_class = False
        self._offset = _offsets(source)

    def statements(self, body: Iterable[ast.stmt]) -> None:
        for statement in body:
            self._statement(statement)

    def _statement(self, statement: ast.stmt) -> None:
        match statement:
            case ast.ClassDef(name=name):
                self._inside(name, statement.body, in_class=True)
            case ast.FunctionDef(name=name, args=args) | ast.AsyncFunctionDef(name=name, args=args):
                self._inside(name, statement.body, self._in_class, _defaults(args))
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if len(targets) == len(
                values
            ):
                for target, value in zip(targets, values, strict=True):
                    self._value(ast.unparse(target), value)
            case ast.Assign(targets=[target, *_], value=value):
                self._value(ast.unparse(target), value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._value(ast.unparse(target), value)
            case _ if self._scope:
                for field in ast.iter_child_nodes(statement):
                    self._anything(field)

    def _anything(self, node: ast.AST) -> None:
        if isinstance(node, ast.stmt):
            self._statement(node)
        elif isinstance(node, ast.expr):
            self._value("", node)
        else:
            for field in ast.iter_child_nodes(node):
                self._anything(field)

    def _inside(
        self, name: str, body: Iterable[ast.stmt], in_class: bool, defaults: Iterable[tuple[str, ast.expr]] = ()
    ) -> None:
        before = self._scope, self._in_class
        self._scope, self._in_class = (*self._scope, name), in_class
        for argument, value in defaults:
            self._value(argument, value)
        self.statements(body)
        self._scope, self._in_class = before

    def _value(self, name: str, node: ast.expr) -> None:
        """The integers of an expression that is called `name`."""
        value = _integer(node)
        if value is not None and (not self._scope or not _is_product(node)):
            span = (self._offset(node.lineno, node.col_offset), self._end(node))
            self.found.append(Integer(name, value, span, ".".join(self._scope), self._in_class))
            return
        match node:
            case ast.Tuple(elts=items) | ast.List(elts=items):
                for number, item in enumerate(items):
                    self._value(f"{name}[{number}]" if name else "", item)
            case ast.Dict(keys=keys, values=values):
                for key, item in zip(keys, values, strict=True):
                    self._value(f"{name}[{ast.unparse(key) if key else '**'}]" if name else "", item)
            case ast.JoinedStr():
                pass
            case _ if self._scope:
                for field in ast.iter_child_nodes(node):
                    if isinstance(field, ast.keyword):
                        self._value(field.arg or "", field.value)
                    else:
                        self._anything(field)

    def _end(self, node: ast.expr) -> int:
        return self._offset(node.end_lineno or node.lineno, node.end_col_offset or 0)


def _offsets(source: str) -> Callable[[int, int], int]:
    """From a line and a column, as ast counts them, to a place in the text."""
    lines = [line + "\n" for line in source.split("\n")]
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def offset(line: int, column: int) -> int:  # ast counts columns in bytes of UTF-8
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    return offset


def _defaults(args: ast.arguments) -> Iterator[tuple[str, ast.expr]]:
    positional = [*args.posonlyargs, *args.args]
    last = positional[len(positional) - len(args.defaults) :]
    yield from ((a.arg, d) for a, d in zip(last, args.defaults, strict=True))
    yield from ((a.arg, d) for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True) if d)


def _is_product(node: ast.expr) -> bool:
    """Whether an expression multiplies or adds integers, of which each may be a size."""
    return isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Add))


def _integer(node: ast.expr) -> int | None:
    """The value of an expression made of integer literals alone."""
    plain = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)
    if not all(isinstance(part, plain) for part in ast.walk(node)):
        return None
    try:
        value = ast.literal_eval(node) if isinstance(node, ast.Constant) else eval(ast.unparse(node), {})
    except (ArithmeticError, TypeError, ValueError):
        return None
    return value if type(value) is int else None
