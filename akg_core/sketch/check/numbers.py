"""Whole numbers that no kernel can hold or compute: beyond 64 bits, or divided by a constant 0."""

from __future__ import annotations

from collections.abc import Iterator

from akg_core.dtypes import is_integer
from akg_core.notation import FUNCTIONS
from akg_core.records import Finding
from akg_core.sketch import ast
from akg_core.sketch.codes import finding

LOWEST, HIGHEST = -(1 << 63), (1 << 63) - 1
_COMPUTED = ("+", "-", "*")
_DIVISIONS = ("//", "%")
_DIVIDING = ("fmod", "remainder")


def check_numbers(tree: ast.SketchFile) -> list[Finding]:
    """SK704 and SK705 in all expressions of a typed tree."""
    check = _Numbers()
    check.visit(tree)
    return check.findings


class _Numbers:
    def __init__(self) -> None:
        self.findings: list[Finding] = []

    def visit(self, node: object) -> int | None:
        """Look at `node` and what is below it; the whole number that it is, where that is known."""
        below = [self.visit(part) for part in _parts(node)]
        match node:
            case ast.Number(value=bool()):
                return None
            case ast.Number(value=int(value)):
                return self._held(value, node)
            case ast.Unary(op="-"):
                return None if below[0] is None else self._held(-below[0], node)
            case ast.Binary(op=op, left=left):
                return self._binary(node, op, left, *below)
            case ast.Call(op=op, args=(first, *_)) if op in _DIVIDING and len(below) > 1 and below[1] == 0:
                self._divided(node, op, first)
        return None

    def _binary(self, node: ast.Binary, op: str, left: ast.Expr, a: int | None, b: int | None) -> int | None:
        if op in _DIVISIONS and b == 0:
            self._divided(node, op, left)
        elif a is None or b is None:
            return None
        elif op in _COMPUTED:
            return self._held(FUNCTIONS[op](a, b), node)
        elif op in _DIVISIONS:
            return int(FUNCTIONS[op](a, b))
        elif op == "**" and b >= 0:
            # A power that is certainly too large is not computed.
            return self._held(a**b if abs(a) < 2 or b < 64 else HIGHEST + 1, node)
        elif op == "<<" and b >= 0:
            return self._held(a << min(b, 64), node)
        return None

    def _held(self, value: int, node: ast.Expr) -> int | None:
        if LOWEST <= value <= HIGHEST:
            return value
        cure = "Write a float (1e23), or a number that 64 bits hold."
        self.findings.append(finding("SK705", node.place, "A whole number here does not fit in 64 bits.", cure))
        return None

    def _divided(self, node: ast.Expr, op: str, left: ast.Expr) -> None:
        if left.type is None or is_integer(left.type.dtype):
            cure = "Divide by a number other than 0."
            self.findings.append(finding("SK704", node.place, f"`{op}` divides a whole number by 0.", cure))


def _parts(node: object) -> Iterator[object]:
    """The nodes right below `node`, in the order of the text; a tuple's items count as its owner's."""
    below = node if isinstance(node, tuple) else [getattr(node, name) for name in ast.HELD[type(node)] or ()]
    for item in below:
        if isinstance(item, tuple):
            yield from _parts(item)
        elif ast.HELD[type(item)] is not None:
            yield item
