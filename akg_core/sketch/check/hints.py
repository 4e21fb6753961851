"""Hints never change the meaning: what is unknown or strange about one is a warning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from akg_core.records import Finding
from akg_core.sketch import ast
from akg_core.sketch.codes import finding, near
from akg_core.sketch.ops import HINTS, LOOP_HINTS, OPERATIONS

_VALUES = {
    "count": "a positive whole number or a Tune of them",
    "flag": "True or False",
    "word": "a word in quotes",
    "axes": "axes: [m, n]",
}


def check_hints(kernel: ast.Kernel) -> list[Finding]:
    """SK901 and SK902 for hints, SK903 for variables that nothing reads."""
    found: list[Finding] = []
    nodes = list(ast.walk(kernel.body))
    for node in nodes:
        match node:
            case ast.Grid() | ast.Tiles() | ast.Range() | ast.Whole():
                kind = type(node).__name__.lower()
                found += _hints(kind, node.hints, LOOP_HINTS[kind], (), node.place)
            case ast.Call(op=op, keywords=keywords) if op in OPERATIONS:
                operation = OPERATIONS[op]
                hints = tuple((name, value) for name, value in keywords if name not in operation.keywords)
                found += _hints(op, hints, operation.hints, operation.keywords, node.place)
    return found + list(_unused(nodes))


def check_products(kernel: ast.Kernel) -> Iterable[Finding]:
    """SK904 for products in f32 of 16-bit factors, which are as exact without casts; `kernel` has types."""
    nodes = list(ast.walk(kernel.body))
    casts = {n.targets[0]: n.value for n in nodes if isinstance(n, ast.Assign) and len(n.targets) == 1}

    def narrow(factor: ast.Expr) -> bool:
        if isinstance(factor, ast.Name):
            factor = casts.get(factor.id, factor)
        if isinstance(factor, ast.Call) and factor.op == "cast" and factor.type and factor.type.dtype == "f32":
            factor = factor.args[0]
        return factor.type is not None and factor.type.dtype in ("f16", "bf16")

    for node in nodes:
        if isinstance(node, ast.Call) and node.op == "dot" and all(map(narrow, node.args)):
            kinds = {factor.type.dtype for factor in node.args if factor.type}
            if "f32" in kinds:
                message = "The factors of this product have 16 bits and are cast to f32, in which it is slow."
                cure = "Leave out the casts: `dot` sums f16 and bf16 in f32."
                yield finding("SK904", node.place, message, cure, "warning")


def _hints(
    where: str, hints: ast.Hints, known: tuple[str, ...], keywords: tuple[str, ...], place: ast.Place
) -> Iterable[Finding]:
    for name, value in hints:
        at = value.place if value.place.line else place
        if name not in known:
            takes = ", ".join((*keywords, *known)) or "none"
            cure = near(name, (*keywords, *known), f"`{where}` takes: {takes}.")
            yield finding("SK901", at, f"`{where}` has no hint `{name}`; it is ignored.", cure, "warning")
        elif not _fits(HINTS[name][0], value):
            message = f"The hint `{name}` has a strange value; it is ignored."
            yield finding("SK902", at, message, f"Give {_VALUES[HINTS[name][0]]}.", "warning")


def _fits(kind: str, value: ast.Expr) -> bool:
    match value:
        case ast.Name():
            return True  # an axis, or a Tune parameter
        case ast.Number(value=bool()):
            return kind in ("flag", "count")
        case ast.Number(value=int(number)):
            return kind == "count" and number > 0
        case ast.Tune(choices=choices):
            return kind in ("count", "word") and all(isinstance(c, int) == (kind == "count") for c in choices)
        case ast.Text():
            return kind == "word"
        case ast.AxisList() | ast.Group():
            return kind == "axes"
    return False


def _unused(nodes: Sequence[object]) -> Iterable[Finding]:
    reads = Counter(node.id for node in nodes if isinstance(node, ast.Name))
    for node in nodes:
        if isinstance(node, ast.Assign) and not any(reads[target] for target in node.targets):
            names = ", ".join(node.targets)
            yield finding("SK903", node.place, f"Nothing reads `{names}`.", "Drop it, or use it.", "warning")
