"""Ascend NPUs that kernels are made for, with the numbers of their cores.

Cores and sizes of memory are those that `bishengir-compile` 1.2.0 writes into a module it compiles for the chip
(`dlti.target_system_spec`).
"""

from __future__ import annotations

from dataclasses import dataclass

from akg_core.plugin import Target

BACKEND = "ascend"
DEFAULT = "910b4"  # compiled for where no target says otherwise


@dataclass(frozen=True, slots=True)
class Chip:
    """An NPU. Each cube core has two vector cores beside it.

    `target`: the compiler's name of it; `cubes`: cube cores. `unified`: bytes of a vector core's buffer, `l1`: of the
    memory of a cube core where the factors of products lie.
    """

    target: str
    cubes: int
    unified: int = 192 * 1024
    l1: int = 512 * 1024

    @property
    def vectors(self) -> int:
        return 2 * self.cubes


CHIPS = {
    "910b1": Chip("Ascend910B1", 24),
    "910b2": Chip("Ascend910B2", 24),
    "910b3": Chip("Ascend910B3", 20),
    "910b4": Chip("Ascend910B4", 20),
    "910_9362": Chip("Ascend910_9362", 20),
    "910_9392": Chip("Ascend910_9392", 24),
}


def chip_of(target: Target) -> Chip | None:
    """The chip that a target names, the default where it names none; None where it is not known."""
    return CHIPS.get(target.arch.lower().removeprefix("ascend") or DEFAULT) if target.backend == BACKEND else None


def refusal(target: Target) -> tuple[str, str] | None:
    """Why no kernels are made for a target, and what to choose instead; None for a chip that is known."""
    if chip_of(target):
        return None
    known = ", ".join(f"{BACKEND}:{name}" for name in CHIPS)
    if target.backend != BACKEND:
        return f"it makes kernels for {BACKEND}, not for {target}.", f"Choose one of {known}."
    return f"{target} is not an NPU that it makes kernels for.", f"Choose one of {known}."
