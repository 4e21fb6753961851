"""What a chip has: the numbers that all of `resources` asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from akg_core.lower.products import DotStrategies, DotStrategy


@dataclass(frozen=True, slots=True)
class ProgramLimits:
    """What one program has. `on_chip_bytes`: memory beside its unit, for loads that are under way and for factors of
    products; `lanes`: threads of a warp; `warps`: at most; `elements`: f32 values that a warp holds comfortably in
    registers; `stages`: of a loop with a product; `unrolled`: turns of a counted loop that are written out, whatever
    is asked for; `dot_strategies`: how products of f32 are made.
    """

    on_chip_bytes: int
    lanes: int = 32
    warps: int = 16
    elements: int = 1024
    stages: int = 3
    unrolled: int = 4
    dot_strategies: DotStrategies = field(
        default_factory=lambda: {"ieee": DotStrategy(exact=True), "split3": DotStrategy(), "fast": DotStrategy()}
    )


@dataclass(frozen=True, slots=True)
class UnitLimits:
    """What one unit has: 32-bit `registers`, `on_chip_bytes` that a program may take and `reserved_bytes` that each
    costs besides, `warps` and `programs` at once, `threads` of a program, `lanes` of a warp.

    `granules`: what registers of a warp, warps that registers are given to, and near bytes are rounded up to.
    """

    registers: int
    on_chip_bytes: int
    warps: int
    programs: int
    threads: int = 1024
    lanes: int = 32
    reserved_bytes: int = 0
    granules: Mapping[str, int] = field(default_factory=lambda: {"registers": 256, "warps": 4, "bytes": 128})
