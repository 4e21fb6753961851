"""The tree of a sketch: frozen nodes, each with its place in the text.

`akg_core.sketch.parse` makes it, `check` fills in the `type` of every expression, `show` prints it,
`interpret` runs it and the emitters of plugins lower it. docs/sketch.md is the language's reference.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

from akg_core.notation import COMPARISONS, Notation


@dataclass(frozen=True, slots=True)
class Place:
    """Where a node stands in the sketch's text: 1-based line, 1-based column."""

    line: int = 0
    column: int = 0


NOWHERE = Place()


@dataclass(frozen=True, slots=True)
class Type:
    """What an expression is, known after checking.

    A tile has named `axes` and a `dtype`; a scalar is a tile without axes. `uniform` says that the value
    is known to the host at launch (made of constants, dimensions and Const parameters only). A `weak` value
    (a literal, a uniform float) takes the dtype of the tile that it meets; the host computes it in double.
    """

    axes: frozenset[str] = frozenset()
    dtype: str = "i64"
    uniform: bool = False
    weak: bool = False


# --- expressions -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Expr(Notation):
    place: Place = field(default=NOWHERE, compare=False)
    type: Type | None = field(default=None, compare=False)

    def combined(self, op: str, *operands: Expr | int | float) -> Expr:
        """An operator or an operation, by its name in the language; typed as this is, where it has a type."""
        kind = self.type and Type(dtype=self.type.dtype)
        made = call(op, *(e if isinstance(e, Expr) else Number(e, place=self.place, type=kind) for e in operands))
        return replace(made, place=self.place, type=kind and Type(dtype="bool") if op in COMPARISONS else kind)

    @property
    def dtype(self) -> str:
        """The dtype that checking found."""
        assert self.type is not None
        return self.type.dtype


@dataclass(frozen=True, slots=True)
class Number(Expr):
    """A literal: an int, a float (inf and nan included) or a bool. It takes the dtype of what it meets."""

    value: int | float | bool


@dataclass(frozen=True, slots=True)
class Text(Expr):
    """A string literal: a dtype or a precision."""

    value: str


@dataclass(frozen=True, slots=True)
class Name(Expr):
    """A variable, an axis (its tile of positions), a dimension, a Const or a Tune parameter."""

    id: str


@dataclass(frozen=True, slots=True)
class Unary(Expr):
    """`op` is one of `-`, `not`, `~`."""

    op: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class Binary(Expr):
    """`op` is one of `+ - * / // % ** & | ^ << >> == != < <= > >= and or`; comparisons do not chain."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Call(Expr):
    """An operation of the language: `exp(x)`, `reduce_sum(t, n)`, `dot(a, b, over=k)`, `load(x[m, n], other=0)`."""

    op: str
    args: tuple[Expr, ...]
    keywords: tuple[tuple[str, Expr], ...] = ()


@dataclass(frozen=True, slots=True)
class Element(Expr):
    """`x[m, n]`: the places of a tensor that a load, a store or an atomic touches. No indices: a 0-d tensor."""

    tensor: str
    indices: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class AxisList(Expr):
    """`[m, n]`: axes by name, the shape of `zeros` and `full`."""

    axes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Group(Expr):
    """`(B, OH, OW)`: several expressions, the sizes of `split` or several axes."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Tune(Expr):
    """`Tune[a, b, c]` in place of a constant. `key` names the choice in a schedule: "kernel.place.keyword"."""

    choices: tuple[int | str, ...]
    key: str = ""


def call(op: str, *args: Expr) -> Expr:
    """An operation or an operator as an expression."""
    if op in ("neg", "not", "~"):
        return Unary("-" if op == "neg" else op, args[0])
    return Call(op, args) if op[0].isalpha() else Binary(op, args[0], args[1])


# --- statements of a kernel -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    place: Place = field(default=NOWHERE, compare=False)


Hints = tuple[tuple[str, Expr], ...]


@dataclass(frozen=True, slots=True)
class Assign(Statement):
    """`t = …`, or `a, b = …` for operations with several results (split, split_float)."""

    targets: tuple[str, ...]
    value: Expr


@dataclass(frozen=True, slots=True)
class Effect(Statement):
    """`store(y[m], t)`, `atomic_add(y[m], t)` and their like: a call for what it does."""

    call: Call


@dataclass(frozen=True, slots=True)
class Grid(Statement):
    """`for m in grid(extent, step, **hints)`: one program per tile of `step` positions, in parallel."""

    axis: str
    extent: Expr
    step: Expr
    body: tuple[Statement, ...]
    hints: Hints = ()


@dataclass(frozen=True, slots=True)
class Tiles(Statement):
    """`for k in tiles(extent, step, start=, stop=, reverse=, **hints)`: tile by tile, in order."""

    axis: str
    extent: Expr
    step: Expr
    body: tuple[Statement, ...]
    start: Expr | None = None
    stop: Expr | None = None
    reverse: bool = False
    hints: Hints = ()


@dataclass(frozen=True, slots=True)
class Range(Statement):
    """`for i in range(start, stop, step, **hints)`: a scalar counter, in order."""

    variable: str
    start: Expr
    stop: Expr
    step: Expr
    body: tuple[Statement, ...]
    hints: Hints = ()


@dataclass(frozen=True, slots=True)
class Whole(Statement):
    """`n = whole(extent)`: an axis that covers all of `extent` in one tile."""

    axis: str
    extent: Expr
    hints: Hints = ()


@dataclass(frozen=True, slots=True)
class If(Statement):
    """`if scalar: … else: …`."""

    condition: Expr
    body: tuple[Statement, ...]
    orelse: tuple[Statement, ...] = ()


# --- declarations -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TensorParameter:
    """`x: In["f32", "M", "N"]`. `role`: In, Out, InOut, Scratch (kernels), In, Param (programs).

    `dims` are expressions over dimension names; `source` is the qualified name of a Param.
    """

    name: str
    role: str
    dtype: str
    dims: tuple[Expr, ...]
    source: str = ""
    place: Place = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class ConstParameter:
    """`S: Const = 1`: a compile-time number that the program's call may set. `default` None: must be set."""

    name: str
    default: int | float | None
    place: Place = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class TuneParameter:
    """`BM: Tune[1, 2, 4] = 2`: a choice left to tuning; without a default the first choice is it."""

    name: str
    choices: tuple[int | str, ...]
    default: int | str
    place: Place = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Kernel:
    name: str
    tensors: tuple[TensorParameter, ...]
    constants: tuple[ConstParameter, ...]
    tunes: tuple[TuneParameter, ...]
    body: tuple[Statement, ...]
    doc: str = ""
    place: Place = field(default=NOWHERE, compare=False)

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The names of dimensions, in order of first appearance; Const and Tune parameters are none."""
        given = {p.name for p in self.constants} | {p.name for p in self.tunes}
        return tuple(name for name in _dimensions(self.tensors) if name not in given)


# --- programs ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Allocate(Statement):
    """`y = empty("f32", M, N)`; `fill`: None, a number (`zeros`, `full`), or one computed: `full("f64", 1 - beta)`."""

    target: str
    dtype: str
    dims: tuple[Expr, ...]
    fill: int | float | Expr | None = None


@dataclass(frozen=True, slots=True)
class View(Statement):
    """`z = reshape(y, A, B)`, `permute(y, 1, 0)`, `narrow(y, dim, start, length[, step])`, `expand(y, A, B)`,
    `floats(y)`.

    No data moves. Only a contiguous view (reshape) may be handed to a kernel; any may be returned. An i64
    tensor without dimensions may stand for a number in the length of a narrow, and in a reshape of that.
    """

    target: str
    op: str
    tensor: str
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Launch(Statement):
    """`kernel(x, y, S=2, once=True)`: run a kernel. `once`: again only when a Param that it depends on has changed."""

    kernel: str
    tensors: tuple[str, ...]
    constants: tuple[tuple[str, Expr], ...] = ()
    once: bool = False


@dataclass(frozen=True, slots=True)
class Return(Statement):
    tensors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Program:
    name: str
    tensors: tuple[TensorParameter, ...]
    body: tuple[Statement, ...]
    doc: str = ""
    place: Place = field(default=NOWHERE, compare=False)

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The names of dimensions, in order of first appearance."""
        return _dimensions(self.tensors)


@dataclass(frozen=True, slots=True)
class SketchFile:
    """A whole sketch. With one kernel and no `@program`, the program that only calls it is implied."""

    kernels: tuple[Kernel, ...]
    program: Program | None = None
    doc: str = ""

    def kernel(self, name: str) -> Kernel:
        """The kernel called `name`; KeyError when there is none."""
        return {kernel.name: kernel for kernel in reversed(self.kernels)}[name]


class _Held(dict[type, tuple[str, ...] | None]):
    """By the kind of a node: the fields in which it may hold others, in the order of the text; None for what is no
    node. Fields of words and numbers hold none."""

    _PLAIN = frozenset(("str", "int", "float", "bool", "None", "tuple"))

    def __missing__(self, kind: type) -> tuple[str, ...] | None:
        self[kind] = None
        if is_dataclass(kind) and not issubclass(kind, (Place, Type)):
            named = [part for part in fields(kind) if part.name not in ("place", "type")]
            self[kind] = tuple(p.name for p in named if set(re.findall(r"\w+", str(p.type))) - self._PLAIN)
        return self[kind]


HELD = _Held()


def walk(node: object) -> Iterator[object]:
    """Every node at and below `node`, parents first, in the order of the text."""
    waiting = [node]
    while waiting:
        first = waiting.pop()
        if isinstance(first, tuple):
            waiting.extend(reversed(first))
        elif (names := HELD[type(first)]) is not None:
            yield first
            waiting.extend([getattr(first, name) for name in reversed(names)])


def _dimensions(tensors: tuple[TensorParameter, ...]) -> tuple[str, ...]:
    names = (node.id for tensor in tensors for node in walk(tensor.dims) if isinstance(node, Name))
    return tuple(dict.fromkeys(names))


def rewrite(node: Any, change: Callable[[Any], Any]) -> Any:
    """The tree with `change` applied to every node, children before parents; places and types are kept."""
    if isinstance(node, tuple):
        items = tuple([rewrite(item, change) for item in node])
        return node if all(a is b for a, b in zip(items, node, strict=True)) else items
    names = HELD[type(node)]
    if names is None:
        return node
    changed = {}
    for name in names:
        part = getattr(node, name)
        if (rewritten := rewrite(part, change)) is not part:
            changed[name] = rewritten
    return change(replace(node, **changed) if changed else node)
