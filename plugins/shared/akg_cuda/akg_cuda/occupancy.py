"""How many warps a multiprocessor keeps at once: the share that registers, shared memory and warps of a kernel leave.

The rules are those of NVIDIA's CUDA programming guide, the limits those of each compute capability (`chips.CHIPS`).
"""

from __future__ import annotations

from akg_core.plugin import Shortage
from akg_cuda.chips import LANES, REGISTERS, THREADS, Chip

_REGISTER_UNIT, _WARP_UNIT, _SHARED_UNIT = 256, 4, 128  # in which these are given out
_RESERVED_BYTES = 1024  # of shared memory, for each program


def programs_at_once(registers: int, shared_bytes: int, warps: int, chip: Chip) -> int:
    """How many programs one multiprocessor runs at the same time; 0 when not even one fits.

    `registers` are those of a thread, `shared_bytes` those of a program of `warps` warps.
    """
    by_warps = chip.warps // warps
    of_a_warp = max(_REGISTER_UNIT, -(-registers * LANES // _REGISTER_UNIT) * _REGISTER_UNIT)
    by_registers = REGISTERS // of_a_warp // _WARP_UNIT * _WARP_UNIT // warps
    taken = -(-shared_bytes // _SHARED_UNIT) * _SHARED_UNIT + _RESERVED_BYTES
    by_shared = (chip.shared_bytes + _RESERVED_BYTES) // taken
    return min(by_warps, by_registers, by_shared, chip.programs)


def occupancy(registers: int, shared_bytes: int, warps: int, chip: Chip) -> float:
    """Warps that are there at once, as a share of the most that could be."""
    return programs_at_once(registers, shared_bytes, warps, chip) * warps / chip.warps


def shortage(kernel: str, registers: int, shared_bytes: int, warps: int, chip: Chip) -> Shortage | None:
    """What one program of a kernel needs more of than a multiprocessor has; None where it fits."""
    if shared_bytes > chip.shared_bytes:
        return Shortage(kernel=kernel, of="bytes of shared memory", needs=shared_bytes, has=chip.shared_bytes)
    if warps * LANES > THREADS:
        return Shortage(kernel=kernel, of="threads", needs=warps * LANES, has=THREADS)
    if not programs_at_once(registers, shared_bytes, warps, chip):
        return Shortage(kernel=kernel, of="registers", needs=registers * warps * LANES, has=REGISTERS)
    return None
