"""What distinguishes the variants of a design."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from akg_core.design.graph.split_precision import SplitPrecision
from akg_core.records import Traits


@dataclass(frozen=True, slots=True)
class Policy:
    """What a variant insists on: whether programs share what is reduced, and rows that are added to; whether what they
    reduce stays on the chip, whether attention is one kernel, whether a convolution goes tap by tap, whether its
    factors are rounded as the reference's are, and whether products of f32 may be made of halves, and those of rounded
    factors in f16.
    """

    split: bool | None = None
    on_chip: bool | None = None
    attend: bool | None = None
    by_taps: bool = False
    rounded: bool = False
    halves: bool = True

    def halving(self, traits: Traits) -> SplitPrecision | None:
        """Which products of f32 are made of halves; None for none."""
        return SplitPrecision(traits.half_tile, traits.units) if self.halves and traits.half_tile is not None else None

    def longest_attended(self, traits: Traits) -> tuple[int, int]:
        """How long the values may be that attention sums in one kernel, and how long those of 16 bits.

        A tile of results has to stay on the chip.
        """
        if self.attend is not None:
            return (sys.maxsize, sys.maxsize) if self.attend else (0, 0)
        longest = traits.on_chip_bytes // 512
        return longest, max(longest, 2 * traits.attention_tile[1]) if traits.attention_tile else longest
