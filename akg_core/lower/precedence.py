"""How strongly the text of an expression binds, so that a printer writes no more brackets than reading needs."""

from __future__ import annotations

LOOSE, SUM, PRODUCT, ATOM = range(4)
RANKS = {"+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "//": PRODUCT, "%": PRODUCT}
"""Of arithmetic operators; every other one is LOOSE."""


class Ranked:
    """A printed expression; who derives from it has its `text` and `rank` as fields."""

    __slots__ = ()
    text: str
    rank: int

    def __str__(self) -> str:
        return self.text

    @property
    def operand(self) -> str:
        """The text as an operand of anything."""
        return self.text if self.rank == ATOM else f"({self.text})"

    def beside(self, op: str, right: bool = False) -> str:
        """The text as an operand of `op`, on its right or left, with brackets where reading would need them."""
        rank = RANKS.get(op, LOOSE)
        return self.text if self.rank > rank or (self.rank == rank > LOOSE and not right) else f"({self.text})"
