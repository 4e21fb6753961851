"""What the emitter knows of a Triton expression, and of an axis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from akg_core.plugin.sketch import Expr

NARROW = 2**31 - 2**22  # index arithmetic below this stays in 32 bits; what is left is for lanes that do not exist
LOOSE, SUM, PRODUCT, ATOM = range(4)  # how strongly a text holds together
RANKS = {"+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "//": PRODUCT, "%": PRODUCT}
SLOT = -1e300  # the fill that marks the variables that loops carry


@dataclass(frozen=True, slots=True)
class Term:
    """A Triton expression.

    `axes`: the axes of its shape, in the kernel's order. `dtype`: the language's; `narrow`: an i64 of the language
    that is held in 32 bits. `weak`: a number of the host. `expr`: what it is as index arithmetic over axes, dimensions
    and counters, for proofs. `fill`: what lanes that do not exist hold, when that is known. `loaded`: the dtype of the
    load that it is, or is a cast of; "" for what is computed.
    """

    text: str
    dtype: str
    axes: tuple[str, ...] = ()
    rank: int = ATOM
    weak: bool = False
    narrow: bool = False
    expr: Expr | None = None
    fill: float | None = None
    loaded: str = ""

    def __str__(self) -> str:
        return self.text

    @property
    def operand(self) -> str:
        return self.text if self.rank == ATOM else f"({self.text})"

    def beside(self, op: str, right: bool = False) -> str:
        """The text as an operand of `op`, with brackets where reading would need them."""
        rank = RANKS.get(op, LOOSE)
        return self.text if self.rank > rank or (self.rank == rank > LOOSE and not right) else f"({self.text})"

    def with_text(self, text: str, rank: int = ATOM) -> Term:
        return replace(self, text=text, rank=rank)


@dataclass(eq=False, slots=True)
class Axis:
    """An axis at hand.

    `name`: its tile of positions. `extent`, `begin`, `end`: index arithmetic. `block`: lanes of its tile, a power of
    two, or the name of a number that the launch gives. `partial`: some lanes may not exist; `mask()` names the tile
    that says which do. A `unit` axis is a scalar.
    """

    name: str
    extent: Expr
    begin: Term
    end: Callable[[], Term]
    positions: Callable[[], Term]
    mask: Callable[[], str]
    block: int | str = 1
    partial: bool = False

    @property
    def unit(self) -> bool:
        return self.block == 1


@dataclass(eq=False, slots=True)
class Scope:
    """Names at a place of the kernel, by what the sketch calls them."""

    values: dict[str, Term] = field(default_factory=dict)
    axes: dict[str, Axis] = field(default_factory=dict)

    def inner(self) -> Scope:
        return Scope(dict(self.values), dict(self.axes))
