"""Views that a program takes of its tensors, as Python, and those that a loop takes turn by turn.

Where each turn takes another of the parts that a tensor falls into, all parts are made before the loop, in one call of
the library: a view costs the host about as much as a launch does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from akg_core.sketch import ast
from akg_core.sketch.check.shapes import sized, unfolded
from akg_core.sketch.program import turns

Dims = tuple[ast.Expr, ...]

_UNUSED = 4  # times as many parts as a loop turns may be made for it


@dataclass(frozen=True, slots=True)
class Part:
    """One of the parts of `length` that a tensor falls into along its dimension `position`: which one, from 0."""

    tensor: str
    length: int
    position: int
    number: ast.Expr


def viewed(node: ast.View, dims: Dims) -> Dims:
    """The dimensions of a view of a tensor with dimensions `dims`."""
    if node.op == "permute":
        return tuple(dims[int(a.value)] for a in node.args if isinstance(a, ast.Number))
    if node.op == "floats":
        return dims
    if node.op == "unfold":
        return unfolded(node.args, dims) or dims
    if node.op == "narrow":
        position = node.args[0].value if isinstance(node.args[0], ast.Number) else -1
        return tuple(node.args[2] if i == position else dim for i, dim in enumerate(dims))
    return node.args


def view(
    node: ast.View, tensor: str, text: Callable[[ast.Expr], str], shape: Callable[[Sequence[ast.Expr]], str]
) -> str:
    """A view as an expression on the Python name of its tensor. `text`, `shape`: of a size, and of several."""
    arguments = shape(node.args) if node.op in ("reshape", "expand") else ", ".join(map(text, node.args))
    if node.op == "narrow" and len(node.args) == 4:
        position, start, length, step = map(text, node.args)
        part = f"slice({start}, {start} + ({length}) * ({step}), {step})"
        return f"{tensor}[(slice(None),) * {position} + ({part},)]"
    return f"{tensor}.{'view' if node.op == 'reshape' else node.op}({arguments})"


def parts_of(loop: ast.Range, dims: Mapping[str, Dims]) -> dict[str, Part]:
    """By name, the views in the body of a loop that are parts of tensors from outside of it."""
    inside = {node.target for node in _assigned(loop.body)}
    found = {}
    for node in loop.body:
        if isinstance(node, ast.View) and node.op == "narrow" and node.tensor not in inside:
            part = _part(node, loop, dims[node.tensor])
            if part is not None:
                found[node.target] = part
    return found


def _assigned(body: Sequence[ast.Statement]) -> Iterator[ast.View | ast.Allocate]:
    for node in body:
        if isinstance(node, (ast.View, ast.Allocate)):
            yield node
        elif isinstance(node, ast.Range):
            yield from _assigned(node.body)


def _part(node: ast.View, loop: ast.Range, dims: Dims) -> Part | None:
    """The part that a narrow view is; None where it may begin elsewhere, or there are too many parts."""
    position, start, length = node.args[0], sized(node.args[1]), sized(node.args[2]).constant
    if len(node.args) != 3 or not isinstance(position, ast.Number) or not length:
        return None
    whole = sized(dims[int(position.value)]).constant
    if whole is None or whole > length * _UNUSED * turns(loop):
        return None
    number: ast.Expr | None = None
    for product, factor in start.terms:
        if product not in ((), (ast.Name(loop.variable),)) or factor % length:
            return None
        term: ast.Expr = ast.Number(factor // length)
        if product:
            term = product[0] if factor == length else ast.Binary("*", product[0], term)
        number = term if number is None else ast.Binary("+", number, term)
    return Part(node.tensor, length, int(position.value), number or ast.Number(0))
