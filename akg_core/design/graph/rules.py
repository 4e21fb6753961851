"""The register of operator rules, and what a rule sees of the operator that it rewrites.

A rule turns one captured operator into values (`akg_core.design.graph.values`). A family of operators is a file of
functions marked with `@rule`; `akg_core.design.trace` lists the families.
"""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from akg_core.design.algebra.expression import parse_size
from akg_core.design.algebra.index import Index
from akg_core.design.graph.values import Iota, Shape, Value, arithmetic, cast, literal, wide
from akg_core.dtypes import DTYPES, promote
from akg_core.errors import UnsupportedOperator
from akg_core.notation import SYMBOLS
from akg_core.records import Node

Rule = Callable[["Call"], "Value | tuple[Value | None, ...]"]
RULES: dict[str, Rule] = {}
_RANK = {"bool": 0, "int": 1, "float": 2}
_NUMBERS = {bool: "bool", int: "i64", float: "f64"}  # a bool is an int, too


def rule(*names: str, namespace: str = "aten") -> Callable[[Rule], Rule]:
    """Register a function as the rule of these operators; "add" stands for every overload of aten.add."""

    def register(function: Rule) -> Rule:
        for name in names:
            RULES[f"{namespace}.{name}"] = function
        return function

    return register


def rules(table: Mapping[str, Rule]) -> None:
    """Register rules by the names of their operators, which stand side by side."""
    for names, function in table.items():
        rule(*names.split())(function)


def formula(*names: str) -> Callable[[Callable[..., Value]], Callable[..., Value]]:
    """Register a function of the arguments of operators: tensors come in the dtype of the result, numbers as they are.

    Of arguments that are not given it has defaults.
    """

    def register(function: Callable[..., Value]) -> Callable[..., Value]:
        count = len(inspect.signature(function).parameters)

        @functools.wraps(function)
        def apply(c: Call) -> Value:
            given = takewhile(lambda n: c.arg(n) is not None, range(count))
            operands = map(c.operand, given)
            return function(*(cast(each, c.wide) if isinstance(each, Value) else each for each in operands))

        rule(*names)(apply)
        return function

    return register


def find_rule(op: str) -> Rule | None:
    """The rule of "aten.sum.dim_IntList", or the one of all overloads of aten.sum."""
    return RULES.get(op) or RULES.get(op.rpartition(".")[0])


SEED = "drawn:seed"
"""The origin of the source that holds the seed of a call, an i64 without dims."""


@dataclass(frozen=True, slots=True)
class Stream:
    """Where an operator's random numbers come from: the call's seed, and which of the operators that draw it is."""

    seed: Value
    number: int


@dataclass(frozen=True, slots=True)
class Choices:
    """What a chip and a variant decide before operators become values.

    `longest_attended`: how long the values that attention sums may be for it to be one kernel; `longest_attended_half`:
    those of 16 bits; `longest_sorted`: how long a row that a program puts in order at once; `partial_sorts`: whether
    that takes less where only its first are stored; `radix`: of how many numbers it writes out the Fourier transform.
    `rounding`: the format that factors of f32 convolutions are rounded to, "" for none, and in three dims only where
    the channels of a group come in multiples of `rounded_channels`; `halved`: whether f16 may stand for it. `joined`:
    whether products cost less than stores. `repeatable`: whether floats are to be added in the same order in each call.
    `held_bytes`: of weights that all `units` together hold near them from turn to turn of a loop, 0 where all that its
    turns read is multiplied before it.
    """

    longest_attended: int = 0
    longest_attended_half: int = 0
    longest_sorted: int = 0
    partial_sorts: bool = False
    radix: int = 16
    rounding: str = ""
    rounded_channels: int = 1
    joined: bool = False
    halved: bool = False
    repeatable: bool = False
    units: int = 1
    held_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Call:
    """One operator at hand. `values`: the results of those before it; `symbols`: the example sizes.

    `stream`: of an operator that draws random numbers.
    """

    node: Node
    values: dict[str, tuple[Value | None, ...]]
    symbols: dict[str, int]
    choices: Choices = Choices()
    stream: Stream | None = None

    @property
    def op(self) -> str:
        return self.node.op

    @property
    def name(self) -> str:
        """The operator without namespace and overload: "sum"."""
        return self.op.split(".")[1]

    @property
    def dtype(self) -> str:
        """The dtype of the first result."""
        return self.node.dtypes[0]

    @property
    def wide(self) -> str:
        """The dtype that the first result is computed in."""
        return wide(self.dtype)

    @property
    def shape(self) -> Shape:
        return self.shape_of(0)

    def shape_of(self, result: int) -> Shape:
        return tuple(parse_size(d, self.symbols) for d in self.node.shapes[result])

    def arg(self, position: int, default: Any = None) -> Any:
        return self.node.args[position] if position < len(self.node.args) else default

    def option(self, name: str, default: Any = None) -> Any:
        return self.node.kwargs.get(name, default)

    def raw(self, position: int) -> Value:
        """A tensor argument as it is."""
        return self.refer(self.arg(position))

    def value(self, position: int) -> Value:
        """A tensor argument, narrow floats widened."""
        value = self.raw(position)
        return cast(value, wide(value.dtype))

    def computed(self, position: int) -> Value:
        """A tensor argument in the dtype that the first result is computed in."""
        return cast(self.value(position), self.wide)

    def maybe(self, position: int) -> Value | None:
        """A tensor argument that may be None."""
        return None if self.arg(position) is None else self.value(position)

    def operand(self, position: int) -> Value | bool | int | float:
        """A tensor, widened, or a number; a size that is known only at launch becomes a value."""
        argument = self.arg(position)
        if isinstance(argument, str) and not argument.startswith("%"):
            return self.number(argument)
        return self.value(position) if isinstance(argument, str) else argument

    def each(self, position: int, rank: int, default: Any = None) -> list[int]:
        """A number for each of so many dims; one for all stands alone."""
        given = self.arg(position, default)
        listed = [given] if isinstance(given, int) else list(given)
        return listed * rank if len(listed) == 1 else listed

    def size(self, argument: int | str) -> Index:
        return parse_size(argument, self.symbols)

    def refer(self, reference: Any) -> Value:
        """A tensor by its name; a number in the place of one is a tensor without dims."""
        if isinstance(reference, (bool, int, float)):
            return literal(reference, next(dtype for kind, dtype in _NUMBERS.items() if isinstance(reference, kind)))
        if not isinstance(reference, str) or not reference.startswith("%"):
            raise self.unsupported(f"with {reference!r} in the place of a tensor")
        name, _, result = reference.removeprefix("%").partition(":")
        value = self.values[name][int(result or 0)]
        assert value is not None
        return value

    def number(self, text: str) -> Value:
        """A number that sizes make, such as "s0 * 2" or "(s0 ** 0.5)", as a scalar."""

        def read(node: ast.expr) -> Value:
            match node:
                case ast.BinOp(left=left, op=op, right=right) if _fractional(node):
                    return arithmetic(SYMBOLS[type(op)], read(left), read(right), dtype="f32")
                case ast.Constant(value=float(value)):
                    return literal(value, "f32")
            return size_value(parse_size(ast.unparse(node), self.symbols))

        return read(ast.parse(text, mode="eval").body)

    def common(self, *values: Value) -> str:
        """The dtype that tensors meet in: one without dims counts only when its kind outranks the others'."""
        strong = [v.dtype for v in values if v.shape] or [v.dtype for v in values]
        found = strong[0]
        for dtype in strong[1:]:
            found = promote(found, dtype)
        for value in values:
            if _RANK[DTYPES[value.dtype].kind] > _RANK[DTYPES[found].kind]:
                found = value.dtype
        return found

    def dims(self, argument: int | list[int] | None, rank: int) -> tuple[int, ...]:
        """Dims as non-negative numbers; None and [] mean all."""
        if argument is None or argument == []:
            return tuple(range(rank))
        listed = [argument] if isinstance(argument, int) else argument
        return tuple(sorted({d % rank for d in listed})) if rank else ()

    def position(self, argument: int | str, size: Index) -> Index:
        """A start or a place along a dim of `size`, counted from the end when negative."""
        at = self.size(argument)
        return at + size if at.constant is not None and at.constant < 0 else at

    def unsupported(self, detail: str = "", cure: str = "") -> UnsupportedOperator:
        """The error for what has no rule: which operator, as the file calls it, where, and the way out."""
        where = f" ({self.node.where})" if self.node.where else ""
        what = f"{',' * detail.startswith('which')} {detail}" if detail else ""
        return UnsupportedOperator(
            f"The builtin designer has no rule for `{self.node.wrote or self.name.lstrip('_')}`{what}{where}.",
            cure or "Write it with other operators, or write a sketch by hand and pass it with --sketch.",
        )


def _fractional(node: ast.AST) -> bool:
    return any(
        isinstance(n, (ast.Div, ast.Pow)) or (isinstance(n, ast.Constant) and isinstance(n.value, float))
        for n in ast.walk(node)
    )


def size_value(size: Index) -> Value:
    """A size as a scalar value."""
    if size.constant is not None:
        return literal(size.constant, "i64")
    return Iota(lambda at: size, shape=(), dtype="i64")
