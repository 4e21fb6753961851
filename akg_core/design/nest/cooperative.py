"""Tiles of long rows that are read again after they have been reduced: several programs hold a row together.

Each keeps its part of the row, reduces it, all-reduces that with the others', and goes on with its part:
the row is read once. That needs programs that run at the same time, and that hold their tiles.
"""

from __future__ import annotations

from akg_core.design.algebra.index import Axis, index
from akg_core.design.graph.values import Reduction
from akg_core.design.nest.accesses import access_order, example
from akg_core.design.nest.nest import Nest, fused, parted
from akg_core.design.nest.terms import Load, axes_of
from akg_core.design.nest.tiling import ONE, WHOLE, Step, Tiling, power_below
from akg_core.dtypes import DTYPES
from akg_core.records import Traits

_HELD = 8  # tiles of a copy that a program holds of a row
_KINDS = ("sum", "max", "min", "moments", "online_softmax")  # what can be all-reduced


def tile_cooperative(nest: Nest, traits: Traits) -> tuple[Nest, Tiling] | None:
    """A nest of long rows cut into parts that stay in registers, and its tiles; None for one of another kind."""
    if not traits.register_tiles or not traits.co_resident or not _rows(nest):
        return None
    *outer, inner = (a for a in access_order(nest).order if a in nest.reduced)
    part = _part(nest, inner, traits)
    if inner.extent.constant is None or any(a.extent.constant is None for a in outer):
        return None
    size = part
    while outer and size and inner.extent.constant % size:
        size //= 2
    if not size or 8 * size < part or not size < example(nest.reduced) <= size * traits.co_resident:
        return None
    if inner.extent.constant % size == 0 and inner.extent.constant != size:
        nest, (coarse, inner) = parted(nest, inner, index(size))
        outer.append(coarse)
    kept = tuple((a, ONE) for a in access_order(nest).order if a not in nest.reduced)
    if not outer:  # the last part of a row may be shorter
        return nest, Tiling((*kept, (inner, Step(size))), (), ((inner, WHOLE),), cooperative=inner)
    before = set(nest.reduced)
    nest = fused(nest, outer)
    (cooperative,) = nest.reduced - before or {outer[0]}
    return nest, Tiling((*kept, (cooperative, ONE)), (), ((inner, WHOLE),), cooperative=cooperative)


def _part(nest: Nest, inner: Axis, traits: Traits) -> int:
    """How much of a row one program can hold."""
    axes = axes_of(nest.terms(), frozenset(nest.kept))
    held = sum(DTYPES[t.dtype].size for t in axes if isinstance(t, Load) and inner in axes[t])
    return power_below(_HELD * traits.tile_elements * 4 // held)


def _rows(nest: Nest) -> bool:
    """Whether a nest reduces rows of memory and then stores something for each of their positions, and only that."""
    walked = access_order(nest)
    kinds = all(isinstance(h.of, Reduction) and h.of.kind in _KINDS for h in nest.heads)
    along = walked.lane is not None and walked.lane in nest.reduced and not nest.fixed
    stored = all(nest.reduced <= {a for p in s.at for a in p.axes()} for s in nest.stores)
    return bool(nest.heads) and bool(nest.stores) and kinds and along and stored
