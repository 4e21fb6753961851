"""All-reductions along a cooperative grid axis: each program writes its part to a workspace, waits at a barrier, and
combines what all have written. Barriers of the sketch: a group counts on and on, up to what is due at each.

What a later all-reduction combines may follow from scalars that were there before this one and from its result, as the
sum of exponentials of a row follows from those of its parts and their maxima. Then each program writes these scalars,
too, and computes what all of them give: one barrier serves both.

wait                    a barrier, by a counter that all members of a group add to; what each wrote before, all can read
load(…, coherent=True)  of what other programs of the launch have written
lane(n)                 the number of each lane of the tile of n
ordered=True            a hint of a reduction: parts are combined as they lie, in no order that a compiler likes better
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from akg_core.errors import Unsupported
from akg_core.lower.explicit import cast
from akg_core.lower.fold import fold
from akg_core.lower.ir import Axis, Body, Op, Region, Value
from akg_core.lower.substitute import replaced
from akg_core.lower.tile.programs import ZERO, Programs
from akg_core.sketch import numerics
from akg_core.sketch.affine import INDEX
from akg_core.sketch.ast import Binary, Call, Element, Expr, Name, Number, TensorParameter, Type, Unary, walk
from akg_core.sketch.ops import OPERATIONS

_COUNT = Type(dtype="i32")
_FIXED = "Let the number of programs be fixed, and tiles have fixed sizes."
_LINE = 32  # numbers in a line of memory: groups that count in lines of their own do not wait for each other


@dataclass(frozen=True, slots=True)
class Workspace:
    """Memory that a launch allocates beside the sketch's tensors: `count` elements, all 0 when `zeroed`, of which
    programs see `dims`."""

    name: str
    dtype: str
    count: Expr
    dims: tuple[Expr, ...]
    zeroed: bool = False


@dataclass(frozen=True, slots=True)
class AllReduced:
    """`workspaces`: what a launch allocates, counters first; `axes`: of members, the first dimensions of tiles."""

    workspaces: tuple[Workspace, ...] = ()
    axes: tuple[str, ...] = ()


def lower_all_reduce(body: Body, region: Region, programs: Programs) -> AllReduced:
    """Write out the all-reductions and barriers of a region whose tiles are open."""
    writer = _Writer(body, programs)
    region.ops = writer.block(region.ops, {}, alone=True)
    if writer.due is not None:
        place = body.kernel.place
        region.ops.insert(0, Op("map", place, target=writer.due, expr=Number(0, type=_COUNT)))
        _coherent(region)
    workspaces = writer.workspaces()
    body.workspace |= {
        workspace.name: TensorParameter(workspace.name, "Scratch", workspace.dtype, workspace.dims)
        for workspace in workspaces
    }
    return AllReduced(workspaces, tuple(writer.axes))


class _Writer:
    def __init__(self, body: Body, programs: Programs) -> None:
        self.body, self.programs = body, programs
        self.parts: list[Workspace] = []
        self.axes: list[str] = []
        self.due: Value | None = None  # how many arrivals the next barrier waits for, where there is one
        self.foreseen: dict[str, tuple[Expr, dict[str, Workspace]]] = {}  # by what a later one combines

    def workspaces(self) -> tuple[Workspace, ...]:
        found, total = list(self.parts), self.programs.count
        if self.parts:
            number = Number(len(self.parts), type=INDEX)
            count = fold(Binary("*", total, number, type=INDEX))
            found.insert(0, Workspace("arrived", "i32", count, (number, total), zeroed=True))
        if self.due is not None:
            line = Number(_LINE, type=INDEX)
            count = fold(Binary("*", self.groups, line, type=INDEX))
            found.insert(0, Workspace("arrivals", "i32", count, (self.groups, line), zeroed=True))
        return tuple(found)

    @property
    def groups(self) -> Expr:
        """How many groups of members there are."""
        return fold(Binary("//", self.programs.count, Number(self.programs.members, type=INDEX), type=INDEX))

    def block(self, ops: Sequence[Op], known: dict[str, Op], *, alone: bool) -> list[Op]:
        """The ops of a block; `known`: what made the values that are there, `alone`: it is in no loop."""
        known, made = dict(known), list[Op]()
        for number, op in enumerate(ops):
            if op.kind == "all_reduce":
                made += self.written_out(op, ops[number + 1 :], known, alone)
            elif op.kind == "barrier":
                made += self.barrier(op)
            else:
                inner = alone and op.kind != "range"
                op.body = self.block(op.body, known, alone=inner)
                op.orelse = self.block(op.orelse, known, alone=inner)
                made.append(op)
            if op.target is not None:
                known[op.target.name] = op
        return made

    def written_out(self, op: Op, rest: Sequence[Op], known: dict[str, Op], alone: bool) -> list[Op]:
        """What gives all programs the combined value."""
        if op.result.name in self.foreseen:
            return self.of_all(op)
        if not self.programs.members:  # the only program of its axis
            op.kind, op.over, op.function = "map", (), ""
            return [op]
        axes = [name for name in self.body.axes if name in self.body.axes_of(op.operand)]
        lanes = [self.body.axes[name].lanes for name in axes]
        if not alone or self.programs.members < 0 or None in lanes:
            raise Unsupported(
                f"{op.function} inside of a loop, or of sizes that only the launch knows, has no form here.",
                f"Put it outside of loops. {_FIXED}",
            )
        dtype, made = self.held(op), list[Op]()
        part = op.operand
        if not isinstance(part, Name) or part.dtype != dtype:
            value = self.body.fresh(f"{op.function}_part", axes, dtype)
            made.append(Op("map", op.place, target=value, expr=cast(op.operand, dtype)))
            part = Name(value.name, type=Type(dtype=dtype))
        workspace = self.workspace(dtype, [each or 1 for each in lanes])
        own = tuple(Call("lane", (Name(name, type=INDEX),), type=INDEX) for name in axes)
        group, member = self.programs.group, self.programs.member
        assert group is not None and member is not None
        counter = Element("arrived", (Number(len(self.parts) - 1, type=INDEX), group))
        made.append(Op("store", op.place, "store", expr=part, element=Element(workspace.name, (group, member, *own))))
        made += self.foresee(op, rest, known, {part.id: workspace} if not axes else {})
        made.append(Op("wait", op.place, element=counter, bounds=(Number(self.programs.members, type=INDEX),)))
        name, exists = self.members(op, "members", made)
        none = numerics.identity(op.function, dtype)
        every = self.loaded(op, workspace, name, own, none, exists, made)
        combined = self.combined(op, every, name)
        combined.hints = {"ordered": Number(True)}
        return [*made, combined]

    def barrier(self, op: Op) -> list[Op]:
        """A wait until all members have come here as often as this program."""
        members, group = self.programs.members, self.programs.group
        if not members:  # the only program of its axis
            return []
        if members < 0:
            raise Unsupported("A barrier of as many programs as only the launch knows has no form here.", _FIXED)
        assert group is not None
        if self.due is None:
            self.due = self.body.fresh("due", (), "i32", mutable=True)
        due = Name(self.due.name, type=_COUNT)
        more = Binary("+", due, Number(members, type=_COUNT), type=_COUNT)
        counted = Op("map", op.place, target=self.due, expr=more)
        return [counted, Op("wait", op.place, element=Element("arrivals", (group, ZERO)), bounds=(due,))]

    def held(self, op: Op) -> str:
        found = numerics.reduction_dtype(op.function, op.operand.dtype)
        return "i32" if found == "bool" else found

    def combined(self, op: Op, every: Expr, axis: str) -> Op:
        function = f"reduce_{op.joins}"
        return Op("reduce", op.place, function, target=op.target, expr=every, over=(axis,))

    def members(self, op: Op, name: str, made: list[Op]) -> tuple[str, Expr | None]:
        """A new axis whose positions are the members of a group, and which of its lanes are such."""
        count = self.programs.members
        extent, lanes = Number(count, type=INDEX), 1 << (count - 1).bit_length()
        name = self.body.unique(name)
        axis = Axis(name, extent, ZERO, extent, None, op.place, lanes=lanes, partial=lanes != count)
        self.body.axes[name], self.body.bounds.extents[name] = axis, extent
        self.axes.append(name)
        at = self.body.values[name] = Value(name, frozenset((name,)), "i64")
        made.append(Op("positions", op.place, target=at, expr=ZERO, axis=axis))
        if not axis.partial:
            return name, None
        exists = self.body.fresh(f"{name}_in", (name,), "bool")
        here = Binary("<", Name(name, type=INDEX), extent, type=Type(dtype="bool"))
        made.append(Op("map", op.place, target=exists, expr=here))
        return name, Name(exists.name, type=Type(dtype="bool"))

    def loaded(
        self,
        op: Op,
        workspace: Workspace,
        at: str,
        own: Sequence[Expr],
        other: float,
        exists: Expr | None,
        made: list[Op],
    ) -> Name:
        """What all members have written to a workspace."""
        kind = Type(dtype=workspace.dtype)
        assert self.programs.group is not None
        place = Element(workspace.name, (self.programs.group, Name(at, type=INDEX), *own))
        mask = () if exists is None else (("other", Number(other, type=kind)), ("mask", exists))
        load = Call("load", (place,), (*mask, ("coherent", Number(True))), type=kind)
        value = self.body.fresh(f"{workspace.name}_tile", self.body.axes_of(load), workspace.dtype)
        made.append(Op("map", op.place, target=value, expr=load))
        return Name(value.name, type=kind)

    def foresee(self, op: Op, rest: Sequence[Op], known: dict[str, Op], written: dict[str, Workspace]) -> Iterator[Op]:
        """Write what spares later all-reductions a barrier; `written`: workspaces by what is in them."""
        group, member = self.programs.group, self.programs.member
        assert group is not None and member is not None
        for later, combined in _later(rest, op):
            names = sorted({n.id for n in walk(combined) if isinstance(n, Name)} - {op.result.name})
            values = [self.body.values[name] for name in names if name in known and not _is_number(known[name])]
            scalars = all(not value.axes and value.dtype in ("f32", "f64") for value in values)
            if not scalars or not values or any(name not in known for name in names):
                continue
            for value in values:
                if value.name not in written:
                    workspace = written[value.name] = self.workspace(value.dtype, [])
                    own = Name(value.name, type=Type(dtype=value.dtype))
                    yield Op("store", op.place, "store", expr=own, element=Element(workspace.name, (group, member)))
            self.foreseen[later.result.name] = combined, {value.name: written[value.name] for value in values}

    def of_all(self, op: Op) -> list[Op]:
        """What a foreseen all-reduction gives: its tile computed for every program, then combined."""
        combined, workspaces = self.foreseen[op.result.name]
        made: list[Op] = []
        at, exists = self.members(op, "member_of_all", made)
        names: dict[str, Expr] = {
            name: self.loaded(op, workspace, at, (), 0.0, exists, made) for name, workspace in workspaces.items()
        }
        dtype = self.held(op)
        every = cast(replaced(combined, names), dtype)
        if exists is not None:
            none = Number(numerics.identity(op.function, dtype), type=Type(dtype=dtype))
            every = Call("where", (exists, every, none), type=Type(dtype=dtype))
        return [*made, self.combined(op, every, at)]

    def workspace(self, dtype: str, lanes: Sequence[int]) -> Workspace:
        """A new workspace for the parts of one all-reduction."""
        total, each = self.programs.count, Number(prod(lanes), type=INDEX)
        dims = (self.groups, *(Number(size, type=INDEX) for size in (self.programs.members, *lanes)))
        count = fold(Binary("*", total, each, type=INDEX))
        self.parts.append(Workspace(f"parts{len(self.parts) + 1}", dtype, count, dims))
        return self.parts[-1]


def _coherent(region: Region) -> None:
    """Let loads of what the region stores see what other programs have stored before a barrier."""
    ops = list(region.inside())
    stored = {op.element.tensor for op in ops if op.kind == "store" and op.element is not None}

    def change(node: Any) -> Any:
        match node:
            case Call(op="load", args=(Element(tensor=tensor), *_), keywords=keywords) if tensor in stored:
                return replace(node, keywords=(*keywords, ("coherent", Number(True))))
        return node

    for op in ops:
        op.rewrite(change)


def _later(rest: Sequence[Op], op: Op) -> Iterator[tuple[Op, Expr]]:
    """All-reductions along the same axis further on, and what they combine in terms of values that are there before."""
    made: dict[str, Expr] = {}
    for later in rest:
        if later.target is None or later.expr is None:
            continue
        combined = replaced(later.expr, made)
        if later.kind == "all_reduce":
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


def _is_number(op: Op) -> bool:
    return op.kind == "map" and isinstance(op.expr, Number) and op.target is not None and not op.target.mutable
