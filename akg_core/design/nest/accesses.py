"""How a nest goes through memory: the order of its axes there, what it holds of a position, how often it comes by."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

from akg_core.design.algebra.index import Axis, Index, position
from akg_core.design.graph.values import Reduction
from akg_core.design.nest.nest import Nest, segments
from akg_core.design.nest.terms import Load, Result, axes_of, below
from akg_core.dtypes import DTYPES


def example(axes: Iterable[Axis]) -> int:
    return prod(a.extent.example for a in axes)


@dataclass(frozen=True, slots=True)
class AccessOrder:
    """Axes by how far apart in memory their positions are; `lane`: neighbours; `cross`: so in another tensor."""

    order: tuple[Axis, ...]
    lane: Axis | None
    cross: Axis | None


def access_order(nest: Nest) -> AccessOrder:
    """The order of the biggest tensor walked; a store decides between equals when nothing is reduced."""
    accesses: list[tuple[int, int, tuple[Index, ...]]] = []
    for store in nest.stores:
        found = tuple(s.offset for s in segments(store.at, store.buffer.shape))
        accesses.append((_span(found), 1 - bool(nest.reduced), found))
    for term in nest.terms():
        if isinstance(term, Load):
            found = tuple(s.offset for s in segments(term.at, term.buffer.shape))
            accesses.append((_span(found), int(bool(nest.reduced)), found))
    accesses.sort(key=lambda a: (-a[0], -a[1]))
    strides: dict[Axis, tuple[int, int]] = {}
    lanes: list[Axis] = []
    for _, _, offsets in accesses:
        for depth, offset in enumerate(offsets):
            for axis in sorted(offset.axes(), key=lambda a: a.name):
                size = _stride(offset, axis)
                strides.setdefault(axis, (-depth, size))
                # Another tensor's neighbours matter only where it is walked along this one's too.
                apart = not lanes or any(lanes[0] in o.axes() for o in offsets)
                if depth == len(offsets) - 1 and size == 1 and axis not in lanes and apart:
                    lanes.append(axis)
    positions = {a: n for n, a in enumerate(nest.axes)}
    order = sorted(nest.axes, key=lambda a: (*(-s for s in strides.get(a, (1, 0))), positions[a]))
    wide = [a for a in lanes if a.extent.example > 1]
    return AccessOrder(tuple(order), wide[0] if wide else None, wide[1] if len(wide) > 1 else None)


def _stride(offset: Index, axis: Axis) -> int:
    """How far apart in memory positions along an axis are, at the example sizes: inside of a quotient or a remainder at
    least as far as this is counted."""
    linear = offset.coefficient(axis)
    if linear is not None:
        return abs(linear.example)
    counted = [
        prod((abs(position(atom).example) for atom in monomial if axis not in position(atom).axes()), start=abs(factor))
        for monomial, factor in offset.terms
        if any(axis in position(atom).axes() for atom in monomial)
    ]
    return max(min(counted), 1)


def _span(offsets: tuple[Index, ...]) -> int:
    return example({a for o in offsets for a in o.axes()})


def live_bytes(nest: Nest) -> int:
    """Bytes on the chip for each position over the reduced axes: what is loaded there, and one working tile."""
    axes = axes_of(nest.terms(), frozenset(nest.kept))
    loads = [t for t in axes if isinstance(t, Load) and axes[t] & nest.reduced]
    return 4 + sum(DTYPES[t.dtype].size for t in loads)


def shared(nest: Nest, axis: Axis) -> bool:
    """Whether something is read along reduced axes that is the same for all positions of `axis`."""
    axes = axes_of(nest.terms(), frozenset(nest.kept))
    return any(isinstance(t, Load) and axes[t] & nest.reduced and axis not in axes[t] for t in axes)


def passes(nest: Nest) -> int:
    """How often a kernel that cannot keep its tiles goes over the reduced axes."""
    stages = max((stage_of(nest).values()), default=0)
    last = any(p.axes() & nest.reduced for s in nest.stores for p in s.at)
    return stages + last


def stage_of(nest: Nest) -> dict[Reduction, int]:
    """For each reduction the pass it is made in, from 1: after those that its argument needs."""
    stages: dict[Reduction, int] = {}
    for head in nest.heads:
        if isinstance(head.of, Reduction):
            inner = [t.head for t in below(list(head.args)) if isinstance(t, Result)]
            stages[head.of] = 1 + max((stages[h] for h in inner if isinstance(h, Reduction)), default=0)
    return stages
