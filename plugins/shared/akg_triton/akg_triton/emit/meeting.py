"""Programs of a grid axis that meet: each writes its part, waits for the others, and combines what all have written.

What a later meeting combines may follow from scalars that were there before this one and from its result, as the sum of
exponentials of a row follows from those of its parts and their peaks. Then each program writes these scalars, too, and
computes for all what they would bring: they meet once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from akg_core.plugin import Unsupported
from akg_core.plugin.lower import fold
from akg_core.plugin.sketch import INDEX, OPERATIONS, Assign, Binary, Call, Expr, Name, Number, Unary, ast, is_float
from akg_triton.emit.axes import START
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
    """Adds `meet_*`.

    `parts`: the rooms of what programs write for each other. `target`, `rest`: what is being assigned, and what
    follows in its block. `foreseen`: of each meeting that an earlier one makes needless, what it would combine, and
    the rooms of the names in that.
    """

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.parts: list[Room] = []
        self.target = ""
        self.rest: Sequence[ast.Statement] = ()
        self.foreseen: dict[int, tuple[Expr, dict[str, Room]]] = {}

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
        if id(call) in self.foreseen:
            return self.convert(self.of_all(call, scope), dtype)
        tile = self.strong(self.term(call.args[0], scope))
        if self.members is None:  # the only program of its axis
            return tile
        if not self.dialect.together:
            raise Unsupported(f"{call.op}: programs of this chip do not wait for each other.", "Use one program.")
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
        self.foresee(call, scope, {tile.text: room} if lanes == 1 else {})
        self.say(f"meet({counter}, {members})")
        width = 1 << (members - 1).bit_length()
        variable = self.named("members", Term(f"tl.arange(0, {width})", "i64"))
        column = f"{variable}[:{', None' * len(blocks)}]" if blocks else variable.text
        mask = f", mask={column} < {members}, other={identity(op, held)}" if width != members else ""
        pointer = f"{base} + {column} * {lanes}{self.places_of(blocks, 'None, ')}"
        all_parts = self.named(f"{call.op}_parts", Term(f'tl.load({pointer}{mask}, cache_modifier=".cg")', held))
        return self.convert(replace(self.met(op, all_parts), axes=tile.axes), dtype)

    def foresee(self, call: Call, scope: Scope, written: dict[str, Room]) -> None:
        """Write what spares later meetings of the same programs a wait; `written`: rooms by what is in them."""
        assert self.members is not None
        for later, combined in _later(self.rest, call.args[1]):
            names = {n.id for n in ast.walk(combined) if isinstance(n, Name)} - {self.target}
            found = {name: scope.values.get(name) for name in sorted(names)}
            known = {name for name, t in found.items() if t is not None and t.weak and isinstance(t.expr, Number)}
            own = {name: t for name, t in found.items() if t is not None and name not in known}
            scalars = all(not t.axes and not t.weak and t.dtype in ("f32", "f64") for t in own.values())
            if not scalars or len(known) + len(own) < len(names) or not own:
                continue
            for term in own.values():
                if term.text not in written:
                    room = written[term.text] = self.room(term.dtype, 1)
                    self.say(f"tl.store({room.name} + group * {self.members} + member, {term})")
            self.foreseen[id(later)] = combined, {name: written[term.text] for name, term in own.items()}

    def of_all(self, call: Call, scope: Scope) -> Term:
        """What a foreseen meeting gives: its tile computed for every program, then combined."""
        assert self.members is not None
        combined, rooms = self.foreseen[id(call)]
        op, inner, count = call.op.removeprefix("meet_"), scope.inner(), int(self.members.text)
        width = 1 << (count - 1).bit_length()
        extent, step = Number(count, type=INDEX), Number(width, type=INDEX)
        axis = self.open("member_of_all", inner, extent, step, START, None, width != count)
        mask = f", mask={axis.mask()}, other=0.0" if axis.partial else ""
        for name, room in rooms.items():
            pointer = f"{room.name} + group * {count} + {axis.positions()}"
            loaded = Term(f'tl.load({pointer}{mask}, cache_modifier=".cg")', room.dtype, (axis.name,))
            inner.values[name] = self.named(f"{name}_of_all", loaded)
        tile = self.strong(self.term(combined, inner))
        held = self.held(tile.dtype, op)
        tile = self.existing(self.spread(self.convert(self.wide(tile), held), [axis]), [axis], identity(op, held))
        return self.folded(op, tile, [axis])

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


def _later(rest: Sequence[ast.Statement], axis: Expr) -> Iterator[tuple[Call, Expr]]:
    """Meetings along an axis further on in a block, and what they combine in terms of names that are there before."""
    made: dict[str, Expr] = {}

    def put(node: object) -> object:
        return made.get(node.id, node) if isinstance(node, Name) else node

    for statement in rest:
        if not isinstance(statement, Assign) or len(statement.targets) != 1:
            continue
        met = [n for n in ast.walk(statement.value) if isinstance(n, Call) and n.op.startswith("meet_")]
        for call in met:
            combined = ast.rewrite(call.args[0], put)
            if call.args[1] == axis and all(map(_scalar_work, ast.walk(combined))):
                yield call, combined
        made[statement.targets[0]] = ast.rewrite(statement.value, put)


def _scalar_work(node: object) -> bool:
    """Whether a node of an expression computes at one position what it can at another."""
    if isinstance(node, Call):
        return OPERATIONS[node.op].kind in ("elementwise", "cast")
    return not isinstance(node, Expr) or isinstance(node, (Name, Number, Binary, Unary, ast.Text))
