"""Programs of a grid axis that meet: each writes its part, waits for the others, and combines what all have written.

What a later meeting combines may follow from scalars that were there before this one and from its result, as the sum of
exponentials of a row follows from those of its parts and their peaks. Then each program writes these scalars, too, and
computes for all what they would bring: they meet once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from akg_core.plugin import Unsupported
from akg_core.plugin.lower import Axis, Op, fold
from akg_core.plugin.sketch import INDEX, OPERATIONS, Binary, Call, Expr, Name, Number, Unary, numerics, walk
from akg_core.plugin.tile import replaced
from akg_triton.emit.combine import combiner, folded, held_dtype
from akg_triton.emit.expression import ExpressionPrinter
from akg_triton.emit.function import Room
from akg_triton.emit.terms import Term, cast, literal, strong, wide

if TYPE_CHECKING:
    from akg_triton.emit.region import RegionPrinter


class Meetings:
    """The meetings of one region. `rooms`: memory for what programs write for each other."""

    def __init__(self, printer: RegionPrinter) -> None:
        self.printer, self.programs = printer, printer.programs
        self.parts: list[Room] = []
        self.foreseen: dict[str, tuple[Expr, dict[str, Room]]] = {}  # by what a later meeting combines

    def place(self) -> tuple[str, str]:
        """The names of the group of programs that meet, and of the program's number in it."""
        group, member = self.programs.group, self.programs.member
        assert group is not None and member is not None
        return group.id, member.id

    def rooms(self) -> tuple[Room, ...]:
        """What a launch allocates: the parts of each meeting, and a counter a meeting for each group."""
        if not self.parts:
            return ()
        count = fold(Binary("*", self.programs.count, Number(len(self.parts), type=INDEX), type=INDEX))
        return (Room("arrived", "i32", count, zeroed=True), *self.parts)

    def met(self, op: Op, rest: Sequence[Op], alone: bool) -> Term:
        """What all programs have together; `rest`: the ops that follow in the block, which is `alone` in no loop."""
        printer, terms = self.printer, self.printer.terms
        assert op.expr is not None and op.target is not None
        function, dtype = numerics.function_of(op.function), op.target.dtype
        if op.target.name in self.foreseen:
            return cast(self.of_all(op), dtype)
        tile = strong(terms.term(op.expr))
        if not self.programs.members:  # the only program of its axis
            return tile
        lanes_known = all(terms.body.axes[axis].lanes is not None for axis in tile.axes)
        if not alone or self.programs.members < 0 or not lanes_known:
            raise Unsupported(
                f"{op.function} inside of a loop, or of sizes that only the launch knows, has no form in Triton.",
                "Meet outside of loops, with a fixed number of programs and tiles of a fixed size.",
            )
        held = held_dtype(op.function, tile.dtype)
        tile = printer.named(f"{op.function}_part", cast(wide(tile), held))
        blocks = [terms.body.axes[axis].lanes or 1 for axis in tile.axes]
        lanes, members = math.prod(blocks), self.programs.members
        group, member = self.place()
        room = self.room(held, lanes)
        base = f"{room.name} + {group} * {members * lanes}"
        number = len(self.parts) - 1
        ahead = f"{number} * {terms.term(self.programs.count).operand} + " if number else ""
        counter = f"arrived + {ahead}{group}"
        printer.say(f"tl.store({base} + {member} * {lanes}{_places(blocks)}, {tile})")
        self.foresee(op, rest, {tile.text: room} if lanes == 1 else {})
        terms.needs.add("meet")
        printer.say(f"meet({counter}, {members})")
        width = 1 << (members - 1).bit_length()
        variable = printer.named("members", Term(f"tl.arange(0, {width})", "i64"))
        column = f"{variable}[:{', None' * len(blocks)}]" if blocks else variable.text
        none = literal(numerics.identity(op.function, held), held)
        mask = f", mask={column} < {members}, other={none}" if width != members else ""
        pointer = f"{base} + {column} * {lanes}{_places(blocks, 'None, ')}"
        parts = printer.named(f"{op.function}_parts", Term(f'tl.load({pointer}{mask}, cache_modifier=".cg")', held))
        return cast(Term(_over_members(terms, function, parts.text, held), held, tile.axes), dtype)

    def foresee(self, op: Op, rest: Sequence[Op], written: dict[str, Room]) -> None:
        """Write what spares later meetings of the same programs a wait; `written`: rooms by what is in them."""
        printer, terms = self.printer, self.printer.terms
        assert op.target is not None
        group, member = self.place()
        for later, combined in _later(rest, op):
            names = sorted({n.id for n in walk(combined) if isinstance(n, Name)} - {op.target.name})
            found = {name: terms.values.get(name) for name in names}
            own = {name: t for name, t in found.items() if t is not None and not t.number}
            scalars = all(not t.axes and t.dtype in ("f32", "f64") for t in own.values())
            if not scalars or None in found.values() or not own:
                continue
            for term in own.values():
                if term.text not in written:
                    room = written[term.text] = self.room(term.dtype, 1)
                    printer.say(f"tl.store({room.name} + {group} * {self.programs.members} + {member}, {term})")
            assert later.target is not None
            self.foreseen[later.target.name] = combined, {name: written[term.text] for name, term in own.items()}

    def of_all(self, op: Op) -> Term:
        """What a foreseen meeting gives: its tile computed for every program, then combined."""
        printer, terms = self.printer, self.printer.terms
        assert op.target is not None
        combined, rooms = self.foreseen[op.target.name]
        group, _ = self.place()
        function, count = numerics.function_of(op.function), self.programs.members
        width = 1 << (count - 1).bit_length()
        extent = Number(count, type=INDEX)
        name = terms.body.unique("member_of_all")
        axis = Axis(name, extent, Number(0, type=INDEX), extent, None, lanes=width, partial=width != count)
        terms.body.axes[name] = axis
        terms.body.bounds.extents[name] = extent
        terms.order.append(name)
        printer.say(f"{name} = tl.arange(0, {width})")
        printer.say(f"{name}_in = {name} < {count}")
        mask = f", mask={name}_in, other=0.0" if axis.partial else ""
        around = dict(terms.values)
        for value, room in rooms.items():
            pointer = f"{room.name} + {group} * {count} + {name}"
            loaded = Term(f'tl.load({pointer}{mask}, cache_modifier=".cg")', room.dtype, (name,))
            terms.values[value] = printer.named(f"{value}_of_all", loaded)
        found = strong(terms.term(combined))
        held = held_dtype(op.function, found.dtype)
        found = terms.spread(cast(wide(found), held), [name])
        if axis.partial:
            none = literal(numerics.identity(op.function, held), held)
            found = found.with_text(f"tl.where({name}_in, {found}, {none})")
        terms.values.update({value: around[value] for value in rooms})
        return folded(terms, function, found, [name])

    def room(self, dtype: str, lanes: int) -> Room:
        """A new room for the parts of one meeting."""
        count = fold(Binary("*", self.programs.count, Number(lanes, type=INDEX), type=INDEX))
        self.parts.append(Room(f"parts{len(self.parts) + 1}", dtype, count))
        return self.parts[-1]


def _places(blocks: Sequence[int], first: str = "") -> str:
    """Where each lane of a tile lies in its part, as what is added to a pointer; `first`: dimensions before."""
    text = ""
    for dim, block in enumerate(blocks):
        stride = math.prod(blocks[dim + 1 :])
        shape = ", ".join(":" if d == dim else "None" for d in range(len(blocks)))
        at = f"tl.arange(0, {block})"
        at = f"({at} * {stride})" if stride != 1 else at
        text += f" + {at}[{first}{shape}]" if len(blocks) > 1 or first else f" + {at}"
    return text


def _over_members(terms: ExpressionPrinter, function: str, tile: str, dtype: str) -> str:
    """A tile of parts reduced over its first dimension."""
    return (
        f"tl.sum({tile}, axis=0)" if function == "sum" else f"tl.reduce({tile}, 0, {combiner(terms, function, dtype)})"
    )


def _later(rest: Sequence[Op], op: Op) -> Iterator[tuple[Op, Expr]]:
    """Meetings along the same axis further on, and what they combine in terms of values that are there before."""
    made: dict[str, Expr] = {}
    for later in rest:
        if later.target is None or later.expr is None:
            continue
        combined = replaced(later.expr, made)
        if later.kind == "meet":
            if later.over == op.over and all(map(_scalar_work, walk(combined))):
                yield later, combined
            made.pop(later.target.name, None)
        elif later.kind == "map":
            made[later.target.name] = combined


def _scalar_work(node: object) -> bool:
    """Whether a node of an expression computes at one position what it can at another."""
    if isinstance(node, Call):
        return node.op == "where" or OPERATIONS[node.op].kind in ("elementwise", "cast")
    return not isinstance(node, Expr) or isinstance(node, (Name, Number, Binary, Unary)) or hasattr(node, "value")
