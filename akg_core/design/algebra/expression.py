"""Index arithmetic from the graph's sizes, and to expressions of the sketch language."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import reduce

from akg_core.design.algebra.index import Atom, Axis, Index, Quotient, Remainder, Symbol, index, position
from akg_core.notation import FUNCTIONS, SYMBOLS
from akg_core.sketch.ast import Binary, Expr, Name, Number, Unary


def parse_size(size: int | str, symbols: dict[str, int]) -> Index:
    """A dimension of the captured graph, such as 4, "s0" or "2*s0 + 1", as an Index."""
    if isinstance(size, int):
        return index(size)

    def read(node: ast.expr) -> Index:
        match node:
            case ast.Constant(value=int(value)):
                return index(value)
            case ast.Name(id=name):
                return position(Symbol(name, symbols[name]))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -read(operand)
            case ast.BinOp(left=left, op=op, right=right):
                symbol, a, b = SYMBOLS.get(type(op)), read(left), read(right)
                if symbol in ("+", "-", "*", "//", "%"):
                    return FUNCTIONS[symbol](a, b)
        raise ValueError(f"the size {size!r} is not made of + - * // %")

    return read(ast.parse(size, mode="eval").body)


def to_expr(value: Index, atom_expr: Callable[[Atom], Expr | None] = lambda atom: None) -> Expr:
    """The Index as an expression of the language; `atom_expr` may say how an atom is written."""

    def write(atom: Atom) -> Expr:
        known = atom_expr(atom)
        if known is not None:
            return known
        if isinstance(atom, (Symbol, Axis)):
            return Name(atom.name)
        if isinstance(atom, (Quotient, Remainder)):
            op = "//" if isinstance(atom, Quotient) else "%"
            return Binary(op, to_expr(atom.top, atom_expr), to_expr(atom.bottom, atom_expr))
        raise ValueError(f"{atom} cannot be written")

    total: Expr | None = None
    for monomial, coefficient in sorted(value.terms, key=lambda t: (t[1] < 0, not t[0])):
        factors = [write(a) for a in monomial]
        if abs(coefficient) != 1 or not factors:
            factors.append(Number(abs(coefficient)))
        term = reduce(lambda a, b: Binary("*", a, b), factors)
        if total is None:
            total = term if coefficient > 0 else Unary("-", term)
        else:
            total = Binary("+" if coefficient > 0 else "-", total, term)
    return total if total is not None else Number(0)
