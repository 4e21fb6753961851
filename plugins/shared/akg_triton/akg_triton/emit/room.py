"""Shared memory that a loop with products takes: loads of several turns at once, and factors that are computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from akg_core.plugin.sketch import DTYPES
from akg_triton.emit.terms import Term

_PARTS = {"bf16x3": 2, "bf16x6": 3, "tf32x3": 2}  # narrow tiles that a factor of f32 is split into


@dataclass(frozen=True, slots=True)
class Factors:
    """What a product multiplies: `left` may be in registers, `right` is in shared memory; `way`: how f32 is done."""

    left: Term
    right: Term
    way: str

    def kept(self, axis: str, lanes: Callable[[Sequence[str]], int]) -> int:
        """Bytes of what the product reads there and no turn of a loop along `axis` loads as it is."""
        total = 0
        for factor, in_registers in ((self.left, True), (self.right, False)):
            direct = factor.loaded == factor.dtype and not self.parts
            if direct and axis in factor.axes:
                continue
            if direct or self.parts or not in_registers:
                total += self.bytes_of(factor, lanes)
        return total

    @property
    def parts(self) -> int:
        """Into how many parts each factor is split, 0 where they are multiplied as they are."""
        return _PARTS.get(self.way, 0) if self.left.dtype == "f32" else 0

    def bytes_of(self, factor: Term, lanes: Callable[[Sequence[str]], int]) -> int:
        size = 4 if self.way.startswith("tf32") else 2
        return lanes(factor.axes) * (self.parts * size if self.parts else DTYPES[factor.dtype].size)


def stages_that_fit(
    most: int,
    loaded: int,
    axis: str,
    factors: Sequence[Factors],
    lanes: Callable[[Sequence[str]], int],
    room: int,
) -> int:
    """Stages, `most` at most, of a loop along `axis` that loads so many bytes a turn into `room` bytes.

    What a product reads as it was loaded is kept until it has been read, so that it takes a stage more than the rest.
    """
    direct = {
        f.text: lanes(f.axes) * DTYPES[f.dtype].size
        for pair in factors
        for f in (pair.left, pair.right)
        if not pair.parts and f.loaded == f.dtype and axis in f.axes
    }
    longer = min(sum(direct.values()), loaded)
    kept = max((pair.kept(axis, lanes) for pair in factors), default=0)
    stages = max(1, min(most, room // max(loaded, 1)))
    while stages > 1 and longer * stages + (loaded - longer) * (stages - 1) + kept > room:
        stages -= 1
    return stages
