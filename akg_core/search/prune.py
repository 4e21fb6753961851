"""Which candidates are not worth timing: they cannot fit, no machine runs them as fast as others, or they spill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from akg_core.judge.timing.floor import Machine
from akg_core.lower.resources.work import Work
from akg_core.records import Scalar

NEAREST = 4.0
"""How many times faster bytes may come from a cache beside a core than any sweep of memory was measured to be."""

SPILLED_BYTES = 256
"""Of a thread; what spills more is not timed while there is anything that spills less."""


def least_seconds(launches: Sequence[Work], machine: Machine, units: int) -> float:
    """No kernels that do this, one after the other, take less; `units`: how many programs really run at once."""
    rate = NEAREST * max(machine.bytes_per_second.values())
    return sum(
        each.turns
        * max(each.bytes / rate, each.operations / machine.operations_per_second / min(1.0, each.programs / units))
        for each in launches
    )


def too_slow(least: Sequence[float], best: float | None) -> list[str]:
    """Why each schedule of one sketch cannot win, by the least time that it takes; "" where it may.

    `best` is the fastest time so far; without one, it is what the most promising of them will likely take: what is not
    counted in one schedule of a sketch is not counted in the others.
    """
    limit = best or NEAREST * min(least, default=0.0)
    return [f"Its bytes and products alone take {each * 1e3:.3g} ms." if each > limit else "" for each in least]


def too_large(held: Sequence[int], room: int) -> list[str]:
    """Why each schedule of one sketch cannot fit, by the bytes of tiles that a program holds; "" where it may.

    `room`: what a program may hold, 0 where nothing limits that.
    """
    return [
        f"A program would hold {each} bytes of tiles; there are {room}." if each > room > 0 else "" for each in held
    ]


def spilling(details: Sequence[Mapping[str, Scalar]]) -> list[str]:
    """Why each of some built candidates is not timed, by what their compiler tells of registers; "" where it is."""
    spilled = [
        max((float(v) for key, v in each.items() if key.endswith(".spilled_bytes") and v is not None), default=0.0)
        for each in details
    ]
    limit = max(SPILLED_BYTES, min(spilled, default=0.0))
    return [f"A thread spills {each:.0f} bytes." if each > limit else "" for each in spilled]
