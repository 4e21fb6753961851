"""What emitters share, first part: a launch of a kernel becomes an instance with every known number folded in.

`instances` gives one `Instance` for each different way in which the program launches a kernel: its Const parameters and
the dimensions that are plain numbers there are constants of the instance, so that an emitter can unroll, size
buffers and drop masks by them.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from akg_core.sketch import host
from akg_core.sketch.ast import (
    Binary,
    Call,
    Element,
    Expr,
    Kernel,
    Name,
    Number,
    SketchFile,
    TensorParameter,
    Unary,
    rewrite,
)

_INTEGER: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "and": lambda a, b: bool(a) and bool(b),
    "or": lambda a, b: bool(a) or bool(b),
}
_FLOAT = {op: _INTEGER[op] for op in ("+", "-", "*", "==", "!=", "<", "<=", ">", ">=")} | {"/": operator.truediv}
_MATH: dict[str, Callable[..., float]] = {name: getattr(math, name) for name in ("exp", "log", "sqrt", "tanh", "erf")}


@dataclass(frozen=True, slots=True)
class Instance:
    """One specialisation of a kernel.

    `symbol` is unique in the file. `dimensions` are the kernel's dimension names in order of first appearance,
    `known` the sizes of those that are folded into the kernel's tree, `open` the Consts that only a launch knows.
    """

    symbol: str
    kernel: Kernel
    dimensions: tuple[str, ...]
    known: Mapping[str, int]
    open: tuple[str, ...] = ()

    def __hash__(self) -> int:
        return hash(self.symbol)


def instances(tree: SketchFile) -> list[tuple[host.Call, Instance]]:
    """Each launch of a bound sketch with the instance that it runs; launches with equal numbers share one."""
    found: dict[tuple[str, str], Instance] = {}
    launched = []
    for call in host.calls(tree):
        constants = {name: e.value for name, e in call.constants.items() if isinstance(e, Number)}
        sizes = {name: int(e.value) for name, e in call.expressions.items() if isinstance(e, Number)}
        key = (call.kernel.name, repr((sorted(constants.items()), sorted(sizes.items()))))
        if key not in found:
            number = 1 + sum(name == call.kernel.name for name, _ in found)
            symbol = call.kernel.name if number == 1 else f"{call.kernel.name}_{number}"
            found[key] = specialise(call.kernel, constants, sizes, symbol)
        launched.append((call, found[key]))
    return launched


def specialise(kernel: Kernel, constants: Mapping[str, int | float], sizes: Mapping[str, int], symbol: str) -> Instance:
    """A bound `kernel` with the known `constants` and `sizes` put in and folded."""
    known: dict[str, int | float] = {**constants, **sizes}
    unknown = tuple(c.name for c in kernel.constants if c.name not in constants)

    def put(node: Any) -> Any:
        if isinstance(node, Name) and node.id in known:
            return Number(known[node.id], place=node.place, type=node.type)
        return fold(node)

    return Instance(symbol, rewrite(kernel, put), kernel.dimensions, dict(sizes), unknown)


def renamed(instance: Instance, reserved: Collection[str]) -> Instance:
    """The instance with another name for each tensor, dimension and Const whose own is reserved in the DSL."""
    names = [t.name for t in instance.kernel.tensors] + list(instance.dimensions) + list(instance.open)
    other: dict[str, str] = {}
    for name in names:
        if name in reserved:
            fresh = f"{name}_"
            while fresh in reserved or fresh in names:
                fresh += "_"
            other[name] = fresh

    def rename(node: Any) -> Any:
        if isinstance(node, Name) and node.id in other:
            return replace(node, id=other[node.id])
        if isinstance(node, Element) and node.tensor in other:
            return replace(node, tensor=other[node.tensor])
        if isinstance(node, TensorParameter) and node.name in other:
            return replace(node, name=other[node.name])
        return node

    if not other:
        return instance
    return Instance(
        instance.symbol,
        rewrite(instance.kernel, rename),
        tuple(other.get(name, name) for name in instance.dimensions),
        {other.get(name, name): size for name, size in instance.known.items()},
        tuple(other.get(name, name) for name in instance.open),
    )


def fold(node: Any) -> Any:
    """A node whose operands are all numbers as one number; other nodes as they are.

    Integers fold exactly; floats only where the language computes on the host in double (uniform values).
    """
    if isinstance(node, Unary) and isinstance(node.operand, Number):
        value = node.operand.value
        return _number(node, -value if node.op == "-" else not value if node.op == "not" else ~int(value))
    if isinstance(node, Binary) and isinstance(node.left, Number) and isinstance(node.right, Number):
        return _fold_binary(node, node.left.value, node.right.value)
    if isinstance(node, Binary):
        return _simplify(node)
    if isinstance(node, Call) and node.args and not node.keywords and all(isinstance(a, Number) for a in node.args):
        values = [a.value for a in node.args if isinstance(a, Number)]
        if node.op in ("maximum", "minimum") and all(isinstance(v, int) for v in values):
            return _number(node, (max if node.op == "maximum" else min)(values))
        if node.op in _MATH and node.type is not None and node.type.weak:
            try:
                return _number(node, _MATH[node.op](*values))
            except (ValueError, OverflowError):
                return node
    return node


def _number(node: Expr, value: int | float | bool) -> Number:
    return Number(value, place=node.place, type=node.type)


def _fold_binary(node: Binary, a: int | float | bool, b: int | float | bool) -> Expr:
    integers = isinstance(a, int) and isinstance(b, int)
    if node.op in ("//", "%", "/") and b == 0:
        return node
    if node.op == "**" and integers and b >= 0:
        return _number(node, a**b)
    weak = node.type is None or node.type.weak
    if integers and node.op in _INTEGER:
        return _number(node, _INTEGER[node.op](a, b))
    if weak and node.op in _FLOAT:
        return _number(node, _FLOAT[node.op](a, b))
    return node


def _simplify(node: Binary) -> Expr:
    """The integer identities that specialisation leaves behind: x*1, x+0, x//1, x%1."""
    if node.type is None or node.type.dtype != "i64":
        return node
    left, right, op = node.left, node.right, node.op
    if isinstance(left, Number) and op in "+*":
        left, right = right, left
    if not isinstance(right, Number) or left.type is None or left.type.dtype != "i64":
        return node
    if (op in ("+", "-") and right.value == 0) or (op in ("*", "//") and right.value == 1):
        return left
    if (op == "%" and right.value == 1) or (op == "*" and right.value == 0):
        return replace(right, value=0, type=node.type)
    return node
