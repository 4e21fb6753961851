"""How many programs a unit runs at once: the share that registers, near memory and warps of a kernel leave."""

from __future__ import annotations

from akg_core.lower.resources.limits import UnitLimits
from akg_core.records import Shortage


def programs_at_once(registers: int, on_chip_bytes: int, warps: int, unit: UnitLimits) -> int:
    """How many programs one unit runs at the same time; 0 when not even one fits.

    `registers` are those of a thread, `on_chip_bytes` those of a program of `warps` warps.
    """
    granules = unit.granules
    of_a_warp = max(granules["registers"], _up(registers * unit.lanes, granules["registers"]))
    by_registers = unit.registers // of_a_warp // granules["warps"] * granules["warps"] // warps
    taken = _up(on_chip_bytes, granules["bytes"]) + unit.reserved_bytes
    by_bytes = (unit.on_chip_bytes + unit.reserved_bytes) // taken
    return min(unit.warps // warps, by_registers, by_bytes, unit.programs)


def occupancy(registers: int, on_chip_bytes: int, warps: int, unit: UnitLimits) -> float:
    """Warps that are there at once, as a share of the most that could be."""
    return programs_at_once(registers, on_chip_bytes, warps, unit) * warps / unit.warps


def shortage(kernel: str, registers: int, on_chip_bytes: int, warps: int, unit: UnitLimits) -> Shortage | None:
    """What one program of a kernel needs more of than a unit has; None where it fits."""
    if on_chip_bytes > unit.on_chip_bytes:
        return Shortage(kernel=kernel, of="bytes of shared memory", needs=on_chip_bytes, has=unit.on_chip_bytes)
    if warps * unit.lanes > unit.threads:
        return Shortage(kernel=kernel, of="threads", needs=warps * unit.lanes, has=unit.threads)
    if not programs_at_once(registers, on_chip_bytes, warps, unit):
        needs = registers * warps * unit.lanes
        return Shortage(kernel=kernel, of="registers", needs=needs, has=unit.registers)
    return None


def _up(number: int, granule: int) -> int:
    return -(-number // granule) * granule
