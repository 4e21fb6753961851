"""What a schedule moves and computes, counted while it is interpreted: the data of its roofline."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(slots=True)
class Counts:
    """Bytes and operations of one kernel, or of a whole program.

    `bytes_read`, `bytes_written`: what loads and stores move, tile by tile: a value loaded twice counts twice,
    places outside a tensor count nothing. `dot_operations`: 2 for each multiply-add of `dot`.
    `elementwise`: one for each element of a floating-point operation or reduction. `transcendental`: one for
    each element of exp, log, sqrt, sin and their like (not in `elementwise`). Integer work, that is index
    arithmetic, is not counted.
    """

    bytes_read: int = 0
    bytes_written: int = 0
    dot_operations: int = 0
    elementwise: int = 0
    transcendental: int = 0

    def add(self, other: Counts) -> None:
        for part in fields(self):
            setattr(self, part.name, getattr(self, part.name) + getattr(other, part.name))
