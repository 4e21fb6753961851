"""Where generated code stands: nested C++ scopes, what is known in each, and which axis runs along the lanes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from akg_core.plugin.lower import Block, Lines
from akg_core.plugin.sketch import Expr


@dataclass(frozen=True, slots=True)
class Lane:
    """The loop along the lanes: its axis, the length of its segments, and the name that says which lanes count."""

    axis: str
    segment: Expr | None = None
    part: str = "part"
    unroll: str = "u"


@dataclass(frozen=True, slots=True)
class Term:
    """A C++ expression: its dtype, whether it is a vector, and whether it needs brackets in a product."""

    text: str
    dtype: str
    vector: bool = False
    atomic: bool = True

    def __str__(self) -> str:
        return self.text

    @property
    def operand(self) -> str:
        return self.text if self.atomic else f"({self.text})"


@dataclass(eq=False, slots=True)
class Scope:
    """One C++ block. `names`: sketch names (axes, counters, values in registers) that are variables of this block.

    `ranges`: first position and end of axes that a loop around has cut into blocks. `fixed`: nothing may be moved out
    of it (a branch).
    """

    lines: Lines
    block: Block
    parent: Scope | None = None
    lane: Lane | None = None
    names: dict[str, Term] = field(default_factory=dict)
    known: dict[Expr, Term] = field(default_factory=dict)
    fixed: bool = False
    ranges: dict[str, tuple[str, str]] = field(default_factory=dict)

    def inner(self, block: Block | None = None, lane: Lane | None = None, fixed: bool = False) -> Scope:
        """A scope inside this one; its opening line has just been written."""
        return Scope(self.lines.nest(), block or self.block, self, lane or self.lane, fixed=fixed, ranges=self.ranges)

    def over(self, axis: str, block: Block | None = None, lane: Lane | None = None) -> Scope:
        """A scope inside this one, of a loop whose variable is the position on an axis."""
        inner = self.inner(block, lane)
        inner.names[axis] = Term(axis, "i64")
        return inner

    def along(self, axes: Collection[str]) -> bool:
        """Whether the lanes run along one of these axes."""
        return self.lane is not None and self.lane.axis in axes

    def find(self, name: str) -> Term | None:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.parent
        return None

    def home(self, names: set[str]) -> Scope:
        """The outermost scope in which all of `names` are known, to which a computation may move."""
        scope = self
        while scope.parent is not None and not scope.fixed and not names & scope.names.keys():
            scope = scope.parent
        return scope

    def recall(self, expr: Expr, names: Collection[str] = ()) -> Term | None:
        """The variable that already holds `expr`, whose `names` mean the same there."""
        scope: Scope | None = self
        while scope is not None:
            if expr in scope.known:
                return scope.known[expr]
            scope = scope.parent if scope.names.keys().isdisjoint(names) else None
        return None

    def declare(self, text: str, line: int) -> None:
        """Add a declaration for the code at hand: here, or before the inner block that is being written."""
        self.lines.before_open_block(text, line)
