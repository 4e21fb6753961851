"""Programs of a grid axis that meet: each writes its part, waits for the others, and combines what all have written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from akg_core.errors import Unsupported
from akg_core.sketch.ast import Binary, Call, Expr, Number
from akg_core.sketch.dtypes import is_float
from akg_core.sketch.lower import fold
from akg_core.sketch.lower_index import INDEX
from akg_triton.emit.grids import tiles_of
from akg_triton.emit.loops import LoopWriter
from akg_triton.emit.memory import identity
from akg_triton.emit.source import Source
from akg_triton.emit.terms import ATOM, Scope, Term


@dataclass(frozen=True, slots=True)
class Room:
    """Memory that a launch allocates beside the sketch's tensors: `count` elements, all 0 when `zeroed`."""

    name: str
    dtype: str
    count: Expr
    zeroed: bool = False


class MeetingWriter(LoopWriter):
    """Adds `meet_*`. `parts`: the room of each meeting."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.parts: list[Room] = []

    @property
    def total(self) -> Expr:
        """How many programs there are."""
        total: Expr = Number(1, type=INDEX)
        for extent, step in self.programs:
            total = fold(Binary("*", total, tiles_of(extent, step), type=INDEX))
        return total

    def rooms(self) -> tuple[Room, ...]:
        """What a launch allocates: the parts of each meeting, and a counter a meeting for each group."""
        if not self.parts:
            return ()
        count = fold(Binary("*", self.total, Number(len(self.parts), type=INDEX), type=INDEX))
        return (Room("arrived", "i32", count, zeroed=True), *self.parts)

    def meeting(self, call: Call, scope: Scope, dtype: str) -> Term:
        op = call.op.removeprefix("meet_")
        tile = self.strong(self.term(call.args[0], scope))
        if self.members is None:  # the only program of its axis
            return tile
        blocks = [self.axes[axis].block for axis in tile.axes]
        known = self.members.text.isdigit() and all(isinstance(block, int) for block in blocks)
        if self.repeating or not known:
            raise Unsupported(
                f"{call.op} inside of a loop, or of sizes that only the launch knows, has no form in Triton.",
                "Meet outside of loops, with a fixed number of programs and tiles of a fixed size.",
            )
        held = self.held(tile.dtype, op)
        tile = self.named(f"{call.op}_part", self.convert(self.wide(tile), held))
        lanes, members = math.prod(int(block) for block in blocks), int(self.members.text)
        room = self.room(held, lanes)
        base = f"{room.name} + group * {members * lanes}"
        number = len(self.parts) - 1
        counter = f"arrived + {number} * {self.size(self.total).operand} + group" if number else "arrived + group"
        self.say(f"tl.store({base} + member * {lanes}{self.places_of(blocks)}, {tile})")
        self.say(f"meet({counter}, {members})")
        width = 1 << (members - 1).bit_length()
        variable = self.named("members", Term(f"tl.arange(0, {width})", "i64"))
        column = f"{variable}[:{', None' * len(blocks)}]" if blocks else variable.text
        mask = f", mask={column} < {members}, other={identity(op, held)}" if width != members else ""
        pointer = f"{base} + {column} * {lanes}{self.places_of(blocks, 'None, ')}"
        all_parts = self.named(f"{call.op}_parts", Term(f'tl.load({pointer}{mask}, cache_modifier=".cg")', held))
        return self.convert(replace(self.met(op, all_parts), axes=tile.axes), dtype)

    def room(self, dtype: str, lanes: int) -> Room:
        """A new room for the parts of one meeting."""
        count = fold(Binary("*", self.total, Number(lanes, type=INDEX), type=INDEX))
        self.parts.append(Room(f"parts{len(self.parts) + 1}", dtype, count))
        self.taken.add(self.parts[-1].name)
        return self.parts[-1]

    def places_of(self, blocks: Sequence[int | str], first: str = "") -> str:
        """Where each lane of a tile lies in its part, as what is added to a pointer; `first`: dimensions before."""
        text = ""
        for dim, block in enumerate(blocks):
            stride = math.prod(int(b) for b in blocks[dim + 1 :])
            shape = ", ".join(":" if d == dim else "None" for d in range(len(blocks)))
            at = f"tl.arange(0, {block})"
            at = f"({at} * {stride})" if stride != 1 else at
            text += f" + {at}[{first}{shape}]" if len(blocks) > 1 or first else f" + {at}"
        return text

    def met(self, op: str, tile: Term) -> Term:
        """A tile of parts reduced over its first dimension."""
        floats = is_float(tile.dtype)
        names = {"max": "maximum" if floats else "larger", "min": "minimum" if floats else "smaller"}
        text = f"tl.sum({tile}, axis=0)" if op == "sum" else f"tl.reduce({tile}, 0, {names[op]})"
        return replace(tile, text=text, rank=ATOM)
