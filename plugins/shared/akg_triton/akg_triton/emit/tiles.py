"""The tile of an axis at hand: its bounds, positions, and which lanes exist, each printed where it is first needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from akg_core.plugin.lower import Axis, Lines
from akg_core.plugin.sketch import Number
from akg_triton.emit.terms import Term


@dataclass(slots=True)
class Tile:
    """An axis with its place in the text.

    `begin`: where positions begin; `first`: the least of them that exists, where that may lie after `begin`; `limit`:
    what they end before, `size` the positions of a tile; `lanes`: as text or number; `exact`: the last tile is whole.
    """

    axis: Axis
    begin: Term
    first: Term | None
    limit: Callable[[], Term]
    size: Term
    lanes: int | str
    exact: bool
    narrow: bool
    place: Lines
    line: int
    made: dict[str, Term] = field(default_factory=dict)

    def positions(self) -> Term:
        """The positions of the lanes: a scalar where there is one."""
        if self.axis.unit:
            return self.first or self.begin
        if "at" not in self.made:
            text = f"tl.arange(0, {self.lanes})"
            text = text if self.begin.text == "0" else f"{self.begin.operand} + {text}"
            text = f"tl.max_contiguous({text}, 1)" if self.axis.single else text
            self.made["at"] = self._say(self.axis.name, text, (self.axis.name,))
        return self.made["at"]

    def end(self) -> Term:
        """One past the last position."""
        if "end" not in self.made:
            past = f"{self.begin.operand} + {self.size.operand}" if self.begin.text != "0" else self.size.text
            past = past if self.exact else f"tl.minimum({past}, {self.limit()})"
            self.made["end"] = self._say(f"{self.axis.name}_end", past)
        return self.made["end"]

    def mask(self) -> str:
        """Which lanes are positions."""
        if "mask" not in self.made:
            at, step = self.positions(), self.axis.step or self.axis.extent
            known = [int(e.value) for e in (step, self.axis.extent) if isinstance(e, Number)]
            full = isinstance(step, Number) and self.axis.lanes == min(known)
            once = len(known) == 2 and known[1] <= known[0]
            last = self.limit() if full or once or step == self.axis.extent else self.end()
            conditions = [f"{at} < {last.operand}"]
            conditions += [f"{at} >= {self.first}"] if self.first is not None else []
            text = conditions[0] if len(conditions) == 1 else " & ".join(f"({c})" for c in conditions)
            self.made["mask"] = self._say(f"{self.axis.name}_in", text, (self.axis.name,))
        return self.made["mask"].text

    def _say(self, name: str, text: str, axes: tuple[str, ...] = ()) -> Term:
        self.place.add(f"{name} = {text}", self.line)
        return Term(name, "i64", axes, narrow=self.narrow)
