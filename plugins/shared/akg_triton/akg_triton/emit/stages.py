"""The keywords of `tl.range`: stages as far as they fit into shared memory, and unrolling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from akg_core.plugin import Unsupported
from akg_core.plugin.lower import Body, Op
from akg_core.plugin.sketch import DTYPES, Call, Expr, Name, Number, is_float, show_expression
from akg_core.plugin.tile import accesses, gathers
from akg_triton.dialect import Dialect
from akg_triton.emit.combine import precision_of
from akg_triton.emit.expression import ExpressionPrinter

_PARTS = {"bf16x3": 2, "bf16x6": 3, "tf32x3": 2}  # narrow tiles that a factor of f32 is split into


@dataclass(frozen=True, slots=True)
class Factor:
    """What a product multiplies. `loaded`: the dtype of the load that it is, or is a cast of; "" if computed."""

    key: str
    axes: frozenset[str]
    dtype: str
    loaded: str


@dataclass(frozen=True, slots=True)
class Factors:
    """The factors of a product: `left` may be in registers, `right` is in shared memory; `way`: how f32 is done."""

    left: Factor
    right: Factor
    way: str

    @property
    def parts(self) -> int:
        """Into how many parts each factor is split, 0 where they are multiplied as they are."""
        return _PARTS.get(self.way, 0) if self.left.dtype == "f32" else 0

    def bytes_of(self, factor: Factor, lanes: int) -> int:
        size = 4 if self.way.startswith("tf32") else 2
        return lanes * (self.parts * size if self.parts else DTYPES[factor.dtype].size)

    def kept(self, axis: str, terms: ExpressionPrinter) -> int:
        """Bytes of what the product reads there and no turn of a loop along `axis` loads as it is."""
        total = 0
        for factor, in_registers in ((self.left, True), (self.right, False)):
            direct = factor.loaded == factor.dtype and not self.parts
            if direct and axis in factor.axes:
                continue
            if direct or self.parts or not in_registers:
                total += self.bytes_of(factor, terms.lanes_of(factor.axes))
        return total


def options_of(body: Body, dialect: Dialect, op: Op, terms: ExpressionPrinter) -> tuple[str, int, int]:
    """The keywords of a loop's `tl.range`, its stages, and how many turns it takes in a row."""
    options, most = "", 1
    wanted, unroll = op.hints.get("stages"), op.hints.get("unroll")
    stages = int(wanted.value) if isinstance(wanted, Number) else 0
    if op.kind == "tiles":
        found = accesses(body, op.body)
        inside = [inner for each in op.body for inner in each.inside()]
        products = any(inner.kind == "dot" or "over" in inner.hints for inner in inside)
        if not stages and products:  # a gather is better prefetched by many warps than by stages
            stages = 1 if gathers(found) else dialect.stages
        if stages:
            loaded = sum(a.size * terms.lanes_of(a.axes) for a in found if not a.stores and len(a.axes) > 1)
            pairs = [factors_of(body, dialect, inner, terms) for inner in inside if inner.kind == "dot"]
            name = op.axis.name if op.axis else ""
            stages = _fitting(stages, loaded, name, [p for p in pairs if p], terms, dialect.shared_bytes)
    if stages:
        options += f", num_stages={stages}"
    if isinstance(unroll, Number) and unroll.value > 1:
        options += f", loop_unroll_factor={int(unroll.value)}"
        most = int(unroll.value)
    return options, max(1, stages), most


def factors_of(body: Body, dialect: Dialect, op: Op, terms: ExpressionPrinter) -> Factors | None:
    """The factors of a product of floats; raises Unsupported where one is too large in itself."""
    assert op.expr is not None and op.other is not None and op.target is not None
    if not is_float(op.target.dtype):
        return None
    left, right = (_factor(body, expr) for expr in (op.expr, op.other))
    every = terms.ordered(left.axes | right.axes)
    own = [
        next(a for a in every if a in one.axes and a not in other.axes) for one, other in ((left, right), (right, left))
    ]
    if every.index(own[0]) > every.index(own[1]):
        left, right = right, left
    found = Factors(left, right, dialect.precisions[precision_of(op)])
    sizes = [found.bytes_of(factor, terms.lanes_of(factor.axes, unknown=1)) for factor in (left, right)]
    least = max(sizes)
    if least > dialect.shared_bytes:
        large, other = (left, right) if sizes[0] == least else (right, left)
        axes = [a for a in terms.ordered(large.axes) if a not in other.axes] + list(op.over)
        longest = max(axes, key=lambda name: terms.lanes_of([name]))
        raise Unsupported(
            f"A factor of a product takes {least} bytes of shared memory, and there are {dialect.shared_bytes}.",
            f"Make the tile of the axis {longest} smaller.",
        )
    return found


def _factor(body: Body, expr: Expr) -> Factor:
    assert expr.type is not None
    return Factor(show_expression(expr), body.axes_of(expr), expr.type.dtype, _loaded(body, expr))


def _loaded(body: Body, expr: Expr) -> str:
    if isinstance(expr, Name) and expr.id in body.values and not body.values[expr.id].mutable:
        made = next((op for op in body.ops() if op.target is body.values[expr.id]), None)
        return _loaded(body, made.expr) if made is not None and made.kind == "map" and made.expr is not None else ""
    if isinstance(expr, Call) and expr.op == "cast":
        return _loaded(body, expr.args[0])
    if isinstance(expr, Call) and expr.op == "load" and expr.type is not None:
        return expr.type.dtype
    return ""


def _fitting(most: int, loaded: int, axis: str, factors: Sequence[Factors], terms: ExpressionPrinter, room: int) -> int:
    """Stages, `most` at most, of a loop along `axis` that loads so many bytes a turn into `room` bytes.

    What a product reads as it was loaded is kept until it has been read, so that it takes a stage more than the rest.
    """
    direct = {
        f.key: terms.lanes_of(f.axes) * DTYPES[f.dtype].size
        for pair in factors
        for f in (pair.left, pair.right)
        if not pair.parts and f.loaded == f.dtype and axis in f.axes
    }
    longer = min(sum(direct.values()), loaded)
    kept = max((pair.kept(axis, terms) for pair in factors), default=0)
    stages = max(1, min(most, room // max(loaded, 1)))
    while stages > 1 and longer * stages + (loaded - longer) * (stages - 1) + kept > room:
        stages -= 1
    return stages
