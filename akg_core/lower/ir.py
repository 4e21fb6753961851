"""The tile IR: the body of a kernel as ops that can be scheduled.

An op does one thing over one set of axes: it maps tiles to a tile, reduces, scans, contracts, stores, or is a loop or
a branch with ops inside. Elementwise expressions stay whole; whatever must see a whole axis first is an op of its own.
`build` makes ops of statements, `loops` arranges them into loop nests.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from akg_core.sketch import numerics
from akg_core.sketch.affine import Bounds
from akg_core.sketch.ast import (
    NOWHERE,
    Binary,
    Call,
    Element,
    Expr,
    Kernel,
    Name,
    Number,
    Place,
    TensorParameter,
    Unary,
    rewrite,
    walk,
)
from akg_core.sketch.names import fresh
from akg_core.sketch.ops import OPERATIONS


@dataclass(eq=False, slots=True)
class Axis:
    """A named run of positions [begin, end) inside [0, extent).

    `capacity` is the most positions that its tile holds, None when that is known at launch only. An axis of one
    position is `unit`: a scalar in all but name. `cooperative`: the programs along it run at the same time and combine
    results. For languages of tiles: `lanes` of its tile, None when a launch knows; `partial`: some of them may be no
    positions; `single`: a thread takes one element of each access along it; `aligned`: its tile begins at a multiple of
    its lanes.
    """

    name: str
    extent: Expr
    begin: Expr
    end: Expr
    capacity: int | None
    place: Place = NOWHERE
    cooperative: bool = False
    step: Expr | None = None
    hints: Mapping[str, Expr] = field(default_factory=dict)
    lanes: int | None = None
    partial: bool = False
    single: bool = False
    aligned: bool = False

    @property
    def unit(self) -> bool:
        return self.capacity == 1

    @property
    def tile_size(self) -> Expr:
        """`step` of an axis in tiles."""
        assert self.step is not None
        return self.step

    @property
    def has_one_tile(self) -> bool:
        """Whether its tile certainly holds all of it."""
        extent, step = self.extent, self.step
        return step is None or (isinstance(extent, Number) and isinstance(step, Number) and extent.value <= step.value)


@dataclass(eq=False, slots=True)
class Value:
    """A tile or scalar of the kernel: assigned once, or `mutable` when a loop or a branch assigns it again.

    A `definition` makes it virtual: it is computed wherever it is used, which costs less than to keep it.
    """

    name: str
    axes: frozenset[str]
    dtype: str
    mutable: bool = False
    definition: Expr | None = None

    def __repr__(self) -> str:
        return f"{self.name}:{self.dtype}{{{','.join(sorted(self.axes))}}}"


@dataclass(eq=False, slots=True)
class Op:
    """One step of a kernel.

    kind       what it does
    map        target = expr, for each position of its axes; also the write of a mutable value
    reduce     target = function over the axes `over` of expr (reduce_*, argmax, argmin, first, last)
    scan       target = running function of expr along over[0], backwards when `reverse`
    sort       target = expr along over[0], the least first; the hint `bitonic`: expr rises, then falls
    dot        target = (target when `accumulate`) + product of expr and other over `over`
    regroup    target = expr with its lanes, of axes over[0] and over[1], as those of over[2] and over[3]
    positions  target = expr + the number of each lane of `axis`, which its tile begins at
    begin      target = expr * step of `axis`: where the tile of a program begins
    end        target = expr + step of `axis`, or other where that is less: where its tile ends
    all_reduce target = function of expr over all programs of the grid axis over[0]
    barrier    all programs of the grid axis over[0] wait for each other
    wait       a barrier written out: the programs of a group count at `element`, up to what bounds say
    store      element = expr where `mask`, or everywhere; atomics too, by `function`
    tiles      body for each tile of `axis`, backwards when `reverse`; bounds are start, stop
    range      body for each value of the scalar `target`; bounds are start, stop, step
    if         body when expr, else orelse

    `iterates`: the axes that loops around it must open; `blocked`: those among its axes that no loop around it
    may open, because it needs the whole tile (a matrix product). `depth`: loops and branches around it in the sketch.
    `start`: what the accumulator of a reduction or scan begins with, in the dtype in which it is held.
    """

    kind: str
    place: Place
    function: str = ""
    target: Value | None = None
    expr: Expr | None = None
    other: Expr | None = None
    over: tuple[str, ...] = ()
    element: Element | None = None
    accumulate: bool = False
    reverse: bool = False
    hints: Mapping[str, Expr] = field(default_factory=dict)
    axis: Axis | None = None
    bounds: tuple[Expr, ...] = ()
    body: list[Op] = field(default_factory=list)
    orelse: list[Op] = field(default_factory=list)
    mask: Expr | None = None
    depth: int = 0
    start: Number | None = None
    iterates: frozenset[str] = frozenset()
    blocked: frozenset[str] = frozenset()
    reads: frozenset[Value] = frozenset()
    writes: frozenset[Value] = frozenset()
    loaded: frozenset[str] = frozenset()
    stored: frozenset[str] = frozenset()

    @property
    def compound(self) -> bool:
        return self.kind in ("tiles", "range", "if")

    @property
    def result(self) -> Value:
        """The target of an op of a kind that has one."""
        assert self.target is not None
        return self.target

    @property
    def operand(self) -> Expr:
        """`expr` of an op of a kind that has one."""
        assert self.expr is not None
        return self.expr

    @property
    def second(self) -> Expr:
        """`other` of an op of a kind that has one."""
        assert self.other is not None
        return self.other

    @property
    def destination(self) -> Element:
        """`element` of an op of a kind that has one."""
        assert self.element is not None
        return self.element

    @property
    def tiled(self) -> Axis:
        """`axis` of an op of a kind that has one."""
        assert self.axis is not None
        return self.axis

    @property
    def finds_place(self) -> bool:
        """Whether it reduces to the position of an extreme."""
        return self.function in ("argmax", "argmin")

    @property
    def joins(self) -> str:
        """What combines two partial results: "sum", "prod", "max", "min", "any", "all"; "first" and "last" pick."""
        return numerics.function_of(self.function)

    def expressions(self) -> Iterator[Expr]:
        """Every expression that it evaluates itself."""
        for expr in (self.expr, self.other, self.element, self.mask, *self.bounds):
            if expr is not None:
                yield expr

    def touches(self) -> set[str]:
        """The tensors that it loads from or stores to itself."""
        return {node.tensor for expr in self.expressions() for node in walk(expr) if isinstance(node, Element)}

    def loads(self) -> set[str]:
        """The tensors that it loads from itself."""
        return replace(self, element=None).touches()

    def rewrite(self, change: Callable[[Any], Any]) -> None:
        """Apply `change` to every node of the expressions that it evaluates itself, children before parents."""
        self.expr, self.other, self.element, self.mask = (
            rewrite(part, change) for part in (self.expr, self.other, self.element, self.mask)
        )
        self.bounds = rewrite(self.bounds, change)

    def inside(self) -> Iterator[Op]:
        """Itself and every op below it."""
        yield self
        for op in (*self.body, *self.orelse):
            yield from op.inside()


def inside(ops: Iterable[Op]) -> Iterator[Op]:
    """Ops, and those inside of each after it."""
    return (inner for op in ops for inner in op.inside())


@dataclass(slots=True)
class Region:
    """A parallel loop nest over `grid` axes, outermost first; without axes, code that runs once."""

    grid: tuple[Axis, ...]
    ops: list[Op]

    def inside(self) -> Iterator[Op]:
        """Every op, those inside of others after them."""
        return inside(self.ops)

    def updated(self) -> set[str]:
        """The tensors that its ops both load from and store to."""
        stored = {op.element.tensor for op in self.inside() if op.element is not None}
        return stored & {tensor for op in self.inside() for tensor in op.loads()}


@dataclass(slots=True)
class Body:
    """A kernel in ops: its parallel regions in order, its values and axes by their unique names.

    `workspace`: tensors that a launch allocates beside those of the kernel.
    """

    kernel: Kernel
    regions: list[Region]
    values: dict[str, Value]
    axes: dict[str, Axis]
    bounds: Bounds
    taken: set[str] = field(default_factory=set)
    workspace: dict[str, TensorParameter] = field(default_factory=dict)

    @property
    def tensors(self) -> dict[str, TensorParameter]:
        """The tensors that the kernel takes, and those of its workspace, by name."""
        return {t.name: t for t in self.kernel.tensors} | self.workspace

    def fresh(self, name: str, axes: Iterable[str], dtype: str, *, mutable: bool = False) -> Value:
        """A new value, under this name or one like it that nobody has."""
        value = Value(self.unique(name), frozenset(axes), dtype, mutable)
        self.values[value.name] = value
        return value

    def unique(self, name: str) -> str:
        """A name that nobody has, this one if possible."""
        return fresh(name, self.taken, 2)

    def ops(self) -> Iterator[Op]:
        """Every op, those inside of others after them."""
        return (op for region in self.regions for op in region.inside())

    def rewrite_blocks(self, change: Callable[[Op], list[Op]]) -> None:
        """Put what `change` makes of each op in its place, in inner blocks before outer ones."""

        def block(ops: list[Op]) -> list[Op]:
            made: list[Op] = []
            for op in ops:
                op.body, op.orelse = block(op.body), block(op.orelse)
                made += change(op)
            return made

        for region in self.regions:
            region.ops = block(region.ops)

    def lanes_of(self, axes: Iterable[str], unknown: int = 1024) -> int:
        """Elements of a padded tile along `axes`, with so many for what only the launch knows."""
        return math.prod(self.axes[axis].lanes or unknown for axis in axes)

    def axes_of(self, expr: Expr) -> frozenset[str]:
        """The axes (units left out) along which an expression of an op really varies."""
        found: set[str] = set()
        for node in walk(expr):
            if isinstance(node, Name):
                if node.id in self.values:
                    value = self.values[node.id]
                    found |= value.axes if value.definition is None else self.axes_of(value.definition)
                elif node.id in self.axes and not self.axes[node.id].unit:
                    found.add(node.id)
        return frozenset(found)

    def values_of(self, expr: Expr) -> Iterator[Value]:
        """The values that an expression reads; those behind virtual ones instead of these."""
        for node in walk(expr):
            if isinstance(node, Name) and node.id in self.values:
                value = self.values[node.id]
                if value.definition is None:
                    yield value
                else:
                    yield from self.values_of(value.definition)

    def names_of(self, expr: Expr) -> Iterator[str]:
        """The names that decide where an expression can be computed: what it reads, and the axes of that."""
        for node in walk(expr):
            if isinstance(node, Name):
                value = self.values.get(node.id)
                if value is not None and value.definition is not None:
                    yield from self.names_of(value.definition)
                else:
                    yield node.id
                    yield from value.axes if value is not None else ()

    def loads_of(self, expr: Expr) -> Iterator[Call]:
        """The loads in an expression, those of virtual values included."""
        for node in walk(expr):
            if isinstance(node, Call) and node.op == "load":
                yield node
            elif isinstance(node, Name) and node.id in self.values:
                definition = self.values[node.id].definition
                if definition is not None:
                    yield from self.loads_of(definition)

    def elements_of(self, expr: Expr) -> Iterator[Element]:
        """What the loads in an expression read."""
        return (load.args[0] for load in self.loads_of(expr) if isinstance(load.args[0], Element))

    def cost(self, expr: Expr) -> int:
        """Roughly how many instructions a vector of `expr` takes."""
        total = 0
        for node in walk(expr):
            if isinstance(node, Call):
                total += 12 if node.op in _COSTLY else 3 if node.op in ("sqrt", "rsqrt", "reciprocal") else 1
            elif isinstance(node, Binary):
                floating = node.type is not None and node.type.dtype in ("f16", "bf16", "f32", "f64")
                total += 12 if node.op == "**" else 4 if floating and node.op in ("/", "%", "//") else 1
            elif isinstance(node, Unary):
                total += 1
            elif isinstance(node, Name) and node.id in self.values:
                definition = self.values[node.id].definition
                total += 0 if definition is None else self.cost(definition)
        return total


def element_of(load: Call) -> Element:
    """What a load reads."""
    element = load.args[0]
    assert isinstance(element, Element)
    return element


def dtype_of(expr: Expr) -> str:
    """The dtype of an explicit expression; what has none, such as the size of a tensor, is index arithmetic."""
    return expr.type.dtype if expr.type else "i64"


_COSTLY = frozenset(
    name
    for name, operation in OPERATIONS.items()
    if (operation.kind == "elementwise" and operation.dtype == "float") or name in ("rand", "fmod", "remainder")
) - {"sqrt", "rsqrt", "reciprocal"}
