"""Stages of loops: how many turns' loads are under way at once, by the memory beside a unit and what products keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from akg_core.dtypes import DTYPES
from akg_core.errors import Unsupported
from akg_core.lower.ir import Body, Op, Region, inside
from akg_core.lower.products import DotStrategy, is_matrix_product, strategy_of
from akg_core.lower.resources.limits import ProgramLimits
from akg_core.lower.tile.order import accesses, gathers
from akg_core.sketch.ast import Call, Expr, Name, Number
from akg_core.sketch.show import show_expression


@dataclass(frozen=True, slots=True)
class DotOperand:
    """What a product multiplies. `lanes`: elements of its tile; `loaded`: the dtype of the load that it is, or is a
    cast of; "" if computed."""

    key: str
    axes: frozenset[str]
    lanes: int
    dtype: str
    loaded: str


@dataclass(frozen=True, slots=True)
class DotOperands:
    """The factors of a product: `left` may be in registers, `right` is in memory beside the unit."""

    left: DotOperand
    right: DotOperand
    way: DotStrategy

    def bytes_of(self, factor: DotOperand, lanes: int) -> int:
        return lanes * (self.way.parts * self.way.bytes or DTYPES[factor.dtype].size)

    def direct(self, factor: DotOperand) -> bool:
        """Whether the product reads a factor as it was loaded."""
        return not self.way.parts and factor.loaded == factor.dtype

    def kept(self, axis: str) -> int:
        """Bytes of what the product reads there and no turn of a loop along `axis` loads as it is."""
        total = 0
        for factor, in_registers in ((self.left, True), (self.right, False)):
            direct = self.direct(factor)
            if not (direct and axis in factor.axes) and (direct or self.way.parts or not in_registers):
                total += self.bytes_of(factor, factor.lanes)
        return total


def pipeline(body: Body, region: Region, order: Sequence[str], limits: ProgramLimits) -> tuple[int, int]:
    """Have each loop of a region say its stages (`stages`), or that it is written out (`unrolled`).

    Gives the most stages of a loop, and the most turns that one takes in a row.
    """
    most, in_a_row = 1, 1
    for op in (inner for inner in region.inside() if inner.kind in ("tiles", "range")):
        unroll = op.hints.get("unroll")
        turns = int(unroll.value) if isinstance(unroll, Number) else 1
        numbers = [int(bound.value) for bound in op.bounds if isinstance(bound, Number)]
        counted = len(range(*numbers)) if op.kind == "range" and len(numbers) == 3 else None
        if counted is not None and (counted <= limits.unrolled or (unroll and counted <= turns)):
            op.hints = {**op.hints, "unrolled": Number(True)}
            continue
        stages = stages_of(body, order, op, limits)
        op.hints = {**op.hints, "stages": Number(stages)}
        most, in_a_row = max(most, stages), max(in_a_row, turns)
    return most, in_a_row


def stages_of(body: Body, order: Sequence[str], op: Op, limits: ProgramLimits) -> int:
    """The stages of a loop, as many as are asked for and fit; 0 where nothing asks. `order`: axes, rows first."""
    wanted = op.hints.get("stages")
    stages = int(wanted.value) if isinstance(wanted, Number) else 0
    if op.kind != "tiles":
        return stages
    found = accesses(body, op.body)
    every = list(inside(op.body))
    if not stages and any(inner.kind == "dot" or "over" in inner.hints for inner in every):
        stages = 1 if gathers(found) else limits.stages  # a gather is better prefetched by many warps than by stages
    if not stages:
        return 0
    loaded = sum(a.size * body.lanes_of(a.axes) for a in found if not a.stores and len(a.axes) > 1)
    pairs = [operands_of(body, order, inner, limits) for inner in every if is_matrix_product(inner)]
    return _fitting(stages, loaded, op.axis.name if op.axis else "", pairs, limits.on_chip_bytes)


def operands_of(body: Body, order: Sequence[str], op: Op, limits: ProgramLimits) -> DotOperands:
    """The factors of a product of floats; raises Unsupported where one is too large in itself."""
    left, right = (_factor(body, expr) for expr in (op.operand, op.second))
    every = [axis for axis in order if axis in left.axes | right.axes]
    rows, columns = (
        next(a for a in every if a in one.axes and a not in other.axes) for one, other in ((left, right), (right, left))
    )
    if every.index(rows) > every.index(columns):
        left, right = right, left
    found = DotOperands(left, right, strategy_of(op, limits.dot_strategies))
    sizes = [found.bytes_of(factor, body.lanes_of(factor.axes, unknown=1)) for factor in (left, right)]
    least = max(sizes)
    if least > limits.on_chip_bytes:
        large, other = (left, right) if sizes[0] == least else (right, left)
        axes = [a for a in every if a in large.axes and a not in other.axes] + list(op.over)
        longest = max(axes, key=lambda name: body.lanes_of([name]))
        raise Unsupported(
            f"A factor of a product takes {least} bytes of shared memory, and there are {limits.on_chip_bytes}.",
            f"Make the tile of the axis {longest} smaller.",
        )
    return found


def _factor(body: Body, expr: Expr) -> DotOperand:
    axes = body.axes_of(expr)
    return DotOperand(show_expression(expr), axes, body.lanes_of(axes), expr.dtype, _loaded(body, expr))


def _loaded(body: Body, expr: Expr) -> str:
    if isinstance(expr, Name) and expr.id in body.values and not body.values[expr.id].mutable:
        made = next((op for op in body.ops() if op.target is body.values[expr.id]), None)
        return _loaded(body, made.expr) if made is not None and made.kind == "map" and made.expr is not None else ""
    if isinstance(expr, Call) and expr.op == "cast":
        return _loaded(body, expr.args[0])
    if isinstance(expr, Call) and expr.op == "load" and expr.type is not None:
        return expr.type.dtype
    return ""


def _fitting(most: int, loaded: int, axis: str, factors: Sequence[DotOperands], room: int) -> int:
    """Stages, `most` at most, of a loop along `axis` that loads so many bytes a turn into `room` bytes.

    What a product reads as it was loaded is kept until it has been read, so that it takes a stage more than the rest.
    """
    direct = {
        f.key: f.lanes * DTYPES[f.dtype].size
        for pair in factors
        for f in (pair.left, pair.right)
        if pair.direct(f) and axis in f.axes
    }
    longer = min(sum(direct.values()), loaded)
    kept = max((pair.kept(axis) for pair in factors), default=0)
    stages = max(1, min(most, room // max(loaded, 1)))
    while stages > 1 and longer * stages + (loaded - longer) * (stages - 1) + kept > room:
        stages -= 1
    return stages
