"""Occupancy as NVIDIA's occupancy calculator gives it."""

from __future__ import annotations

import pytest
from akg_cuda.chips import CHIPS

from akg_core.plugin.resources import occupancy, programs_at_once

KIB = 1024


@pytest.mark.parametrize(
    ("capability", "registers", "shared_bytes", "warps", "programs"),
    [
        (90, 32, 0, 4, 16),  # 64 warps: all that there can be
        (90, 16, 0, 1, 32),  # by programs
        (90, 255, 0, 4, 2),  # by registers: 8 warps of 32 * 256
        (90, 168, 0, 8, 1),  # 12 warps fit, one program of 8
        (90, 64, 100 * KIB, 4, 2),  # by shared memory: 101 KiB each of 228
        (90, 64, 227 * KIB, 4, 1),
        (90, 64, 228 * KIB, 4, 0),
        (80, 40, 0, 8, 6),  # 48 warps by registers
        (86, 16, 0, 2, 16),
        (89, 32, 0, 8, 6),  # 48 warps
    ],
)
def test_programs_of_a_multiprocessor(
    capability: int, registers: int, shared_bytes: int, warps: int, programs: int
) -> None:
    unit = CHIPS[capability].unit
    assert programs_at_once(registers, shared_bytes, warps, unit) == programs
    assert occupancy(registers, shared_bytes, warps, unit) == programs * warps / unit.warps
