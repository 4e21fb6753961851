"""Tiles of a loop's turn whose programs run together, and synchronise once a turn.

Each has a block of the results, and holds what it multiplies for them, as a layer's weights, from turn to turn.
"""

from __future__ import annotations

from collections.abc import Set
from math import prod

from akg_core.design.algebra.index import Axis
from akg_core.design.graph.values import Reduction
from akg_core.design.nest.accesses import access_order, example
from akg_core.design.nest.nest import Nest
from akg_core.design.nest.terms import Buffer, Load, axes_of
from akg_core.design.nest.tiling import ONE, WHOLE, Step, Tiling
from akg_core.dtypes import DTYPES
from akg_core.records import Traits

_HELD = 16  # tiles of a copy that a program holds from turn to turn: half of the registers of four warps
_LEAST = 4  # results of a program: with fewer there are too many programs to wait for
_USUAL = 8  # results of a program where there is room for as many programs


def tile_persistent(nest: Nest, traits: Traits, steady: Set[Buffer]) -> Tiling | None:
    """A block of results for each program, and all that they are reduced from; None for a nest of another kind.

    `steady`: what is the same in every turn. A program may hold 64 KiB of it where a tile of a copy is 1024 elements.
    """
    sums = all(isinstance(h.of, Reduction) and h.of.kind == "sum" for h in nest.heads)
    known = all(a.extent.constant is not None for a in nest.axes) and not nest.fixed
    axis = _divided(nest, steady)
    if not traits.register_tiles or not sums or not known or axis is None:
        return None
    extent, others = axis.extent.example, example(a for a in nest.kept if a != axis)
    step = min(_USUAL, extent)
    while step < extent and others * -(-extent // step) > traits.co_resident:
        step *= 2
    each, room = _bytes(nest, steady), _HELD * traits.tile_elements * 4
    while step > _LEAST and each * step > room:
        step //= 2
    if each * step > room or -(-extent // step) > traits.co_resident:
        return None
    order = access_order(nest).order
    grid = tuple((a, ONE) for a in order if a in nest.kept and a != axis)
    return Tiling((*grid, (axis, Step(step))), (), tuple((a, WHOLE) for a in order if a in nest.reduced))


def _loads(nest: Nest) -> dict[Load, frozenset[Axis]]:
    """What is reduced, with the axes that it has."""
    axes = axes_of(nest.terms(), frozenset(nest.kept))
    return {t: axes[t] for t in axes if isinstance(t, Load) and axes[t] & nest.reduced}


def _divided(nest: Nest, steady: Set[Buffer]) -> Axis | None:
    """The axis along which each program has its own part of what is steady, and all need the same of the states."""
    loads = _loads(nest)
    states = [axes for load, axes in loads.items() if load.buffer not in steady]
    found = [a for a in nest.kept if not any(a in axes for axes in states)]
    return found[0] if len(found) == 1 and 0 < len(states) < len(loads) else None


def _bytes(nest: Nest, steady: Set[Buffer]) -> int:
    """Bytes of what is steady that one result is reduced from, as a tile has it."""
    lanes = prod(1 << (a.extent.example - 1).bit_length() for a in nest.reduced)
    return lanes * sum(DTYPES[load.dtype].size for load in _loads(nest) if load.buffer in steady)
