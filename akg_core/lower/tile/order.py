"""The order of a region's axes: which one is the first dimension of its tiles, and which the last.

Neighbouring lanes run along the dimension that a compiler can prove contiguous, wherever that stands. Where it cannot
(digits of an index), they run along dimension 0: so an axis of that kind goes first, and an axis that is contiguous for
certain goes last, as in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from akg_core.dtypes import DTYPES
from akg_core.lower.access import place, step
from akg_core.lower.ir import Body, Op, Region, inside
from akg_core.lower.products import DotStrategies, is_matrix_product, precision_of, strategy_of
from akg_core.sketch.affine import Polynomial
from akg_core.sketch.ast import AxisList, Binary, Call, Element, Expr, Name, Number, Unary, rewrite, walk

RUN = 32.0  # neighbours that one access of a warp takes
WISHED = 1e12  # counts more than any access
ROWS = 64  # of a product on matrix units, at least
TURNS = 16.0  # what an access one loop further in counts more


@dataclass(frozen=True, slots=True)
class Access:
    """One access to memory.

    `steps`: how far apart in memory neighbours along each axis are, None where that varies; `last`: the innermost index
    where it is arithmetic; `depth`: loops around; `size`: bytes of an element.
    """

    axes: frozenset[str]
    steps: Mapping[str, Polynomial | None] = field(compare=False)
    last: Expr | None
    stores: bool
    depth: int
    size: int

    @property
    def contiguous(self) -> frozenset[str]:
        """The axes along which neighbours are neighbours in memory."""
        return frozenset(a for a, gain in self.steps.items() if gain is not None and gain.constant == 1)


def accesses(body: Body, ops: Iterable[Op]) -> list[Access]:
    """What ops, and those inside of them, load and store, in their order."""
    found = []
    for op in inside(ops):
        loads = [n.args[0] for e in op.expressions() for n in walk(e) if isinstance(n, Call) and n.op == "load"]
        found += [_access(body, op, element, False) for element in loads if isinstance(element, Element)]
        if op.element is not None:
            found.append(_access(body, op, op.element, True))
    return found


def _access(body: Body, op: Op, element: Element, stores: bool) -> Access:
    tensor = body.tensors[element.tensor]
    flat, axes = place(element.indices, tensor.dims), body.axes_of(element)
    runs = {name: Number(body.axes[name].lanes or 0) for name in axes if body.axes[name].aligned}
    steps = {name: step(body, flat, name, runs.get(name)) for name in axes}
    last = _arithmetic(body, element.indices[-1]) if element.indices else None
    return Access(axes, steps, last, stores, op.depth, DTYPES[tensor.dtype].size)


def _arithmetic(body: Body, expr: Expr) -> Expr | None:
    """An index with values put in by their formulas; None where it is no arithmetic over axes and sizes."""
    known = rewrite(expr, lambda n: body.bounds.formulas.get(n.id, n) if isinstance(n, Name) else n)
    for node in walk(known):
        plain = isinstance(node, (Name, Number, Binary, Unary)) or (isinstance(node, Call) and node.op in _PLAIN)
        if not plain or (isinstance(node, Name) and node.id in body.values and body.values[node.id].axes):
            return None
    return known


_PLAIN = ("maximum", "minimum", "where")


@dataclass(frozen=True, slots=True)
class Pairing:
    """A product on matrix units: the axes that each operand has alone, those contracted, and the lanes of the former.

    `across`: both operands are read as they are in memory, which such units do along contracted axes only.
    """

    own: tuple[tuple[str, ...], tuple[str, ...]]
    over: tuple[str, ...]
    lanes: tuple[int, int]
    across: bool


def pairings(body: Body, region: Region, ways: DotStrategies) -> list[Pairing]:
    """The products of a region on matrix units."""
    found = []
    for op in (inner for inner in region.inside() if is_matrix_product(inner)):
        a, b = (body.axes_of(e) for e in (op.operand, op.second))
        if strategy_of(op, ways).exact:
            continue
        left, right = (tuple(n for n in body.axes if n in own) for own in (a - b, b - a))
        lanes = body.lanes_of(left), body.lanes_of(right)
        across = op.operand.dtype == "f32" and precision_of(op) == "fast"
        found.append(Pairing((left, right), op.over, lanes, across))
    return found


def order(body: Body, region: Region, pairings: Iterable[Pairing] = (), row: int = 1) -> list[str]:
    """The axes of a region in the order of dimensions.

    `row`: lanes of the last dimension that a chip's vector unit takes at once, of which a shorter one leaves some idle.
    """
    opened = [axis.name for axis in body.axes.values() if axis.step is None or axis in region.grid]
    opened += [op.axis.name for op in region.inside() if op.axis is not None]
    opened += [name for op in region.inside() if op.kind == "regroup" for name in op.over[2:]]
    axes = [name for name in body.axes if name in set(opened)]
    found = accesses(body, region.ops)
    wishes = _wishes(body, region)
    short = {axis for axis in axes if body.lanes_of([axis]) < row}.difference(*wishes)
    return _rows_first(_by_access(found, axes, wishes, short), found, pairings)


def _by_access(
    found: Sequence[Access], axes: Sequence[str], wishes: Sequence[Sequence[str]], short: set[str]
) -> list[str]:
    """`axes`, given from the outermost loop to the innermost, by what accesses gain.

    `wishes`: orders that the sketch asks for; the last axis of each is to run along the lanes. `short`: axes that are
    last where no other one gains.
    """
    even, conflicting = dict.fromkeys(axes, 0.0), dict.fromkeys(axes, 0.0)
    for access in found:
        weight = TURNS**access.depth * (1.5 if access.stores else 1.0)
        for axis, gain in access.steps.items():
            if gain is not None and gain.constant == 1:
                even[axis] += weight
            elif gain is None and access.last is not None:
                conflicting[axis] += weight * _run(access.last, axis) / RUN
    for wish in wishes:
        for rank, axis in enumerate(wish, 1):
            (conflicting if rank == len(wish) and conflicting[axis] > even[axis] else even)[axis] += rank * WISHED
    first = sorted((a for a in axes if conflicting[a] > even[a]), key=lambda a: -conflicting[a])
    rest = [a for a in axes if conflicting[a] <= even[a]]
    last = sorted(rest, key=lambda a: (even[a] > 0 and a not in short, even[a]))
    return [*first, *last]


def _wishes(body: Body, region: Region) -> list[list[str]]:
    """The orders of axes that hints ask for."""
    hints = [axis.hints.get("order") for axis in body.axes.values()]
    for op in region.inside():
        hints.append(op.hints.get("order"))
        calls = [n for e in op.expressions() for n in walk(e) if isinstance(n, Call)]
        hints += [dict(call.keywords).get("order") for call in calls]
    found = []
    for hint in hints:
        names = list(hint.axes) if isinstance(hint, AxisList) else []
        names += [n.id for n in walk(hint) if isinstance(n, Name)] if hint is not None else []
        found.append([name for name in names if name in body.axes])
    return [wish for wish in found if wish]


def _rows_first(order: Sequence[str], found: Sequence[Access], pairings: Iterable[Pairing]) -> list[str]:
    """`order` with the rows of products, which may come from registers, before their columns.

    Rows are the operand that does not run along the contracted axes in memory, or else that which fills matrix units.
    """
    axes = list(order)
    for pairing in pairings:
        across = [pairing.across and _across(found, own, pairing.over) for own in pairing.own]
        if across[0] == across[1]:
            if min(pairing.lanes) >= ROWS or pairing.lanes[0] == pairing.lanes[1]:
                continue
            rows, columns = pairing.own if pairing.lanes[0] > pairing.lanes[1] else pairing.own[::-1]
        else:
            rows, columns = pairing.own if across[0] else pairing.own[::-1]
        if min(map(axes.index, columns)) < max(map(axes.index, rows)):
            axes = [axis for axis in axes if axis not in rows]
            at = min(map(axes.index, columns))
            axes[at:at] = sorted(rows, key=list(order).index)
    return axes


def _across(found: Sequence[Access], own: Sequence[str], over: Sequence[str]) -> bool:
    """Whether an operand lies in memory along one of its own axes, not along a contracted one."""
    loads = [a for a in found if not a.stores and a.axes & set(own) and a.axes & set(over)]
    even = frozenset[str]().union(*(access.contiguous for access in loads))
    return bool(even & set(own)) and not even & set(over)


def gathers(found: Iterable[Access]) -> bool:
    """Whether some access finds no neighbours: it steps unevenly along an axis, and by one along no other."""
    return any(None in access.steps.values() and not access.contiguous for access in found)


def _run(index: Expr, axis: str) -> float:
    """How many neighbours along an axis lie in a row, by the digit of it that the innermost index has; at most RUN."""
    for node in walk(index):
        if isinstance(node, Binary) and node.op == "%" and node.left == Name(axis):
            return min(RUN, float(node.right.value) if isinstance(node.right, Number) else RUN)
    return 0.0
