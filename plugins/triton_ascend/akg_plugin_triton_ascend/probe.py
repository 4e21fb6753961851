"""What this machine offers: Triton-Ascend, the compiler that takes it to HIVM, and NPUs."""

from __future__ import annotations

import functools
import importlib.util
import shutil
from pathlib import Path

from akg_core.plugin import Availability, Target, Traits, version_of
from akg_plugin_triton_ascend.chips import Chip, chip_of, refusal

SETUP = "`akg-core setup triton_ascend` makes the environment of the toolchain."


def probe(target: Target) -> Availability:
    """Whether kernels can be compiled and run here; never raises."""
    if refused := refusal(target):
        reason, cure = refused
        return Availability(can_compile=False, can_run=False, reason=reason, cure=cure)
    versions = {name: version_of(name) for name in ("triton-ascend", "ascendnpu-ir")}
    details = {name: found or "not installed" for name, found in versions.items()}
    missing = [name for name, found in versions.items() if not found]
    if missing or compiler() is None:
        reason = f"{' and '.join(missing) or 'bishengir-compile'} is not installed."
        return Availability(can_compile=False, can_run=False, reason=reason, cure=SETUP, details=details)
    chip = chip_of(target)
    assert chip is not None, "what is not refused is known"
    details |= {"target": chip.target, "hivmc": shutil.which("hivmc") or "not installed", "runs": "by simulation"}
    reason = f"Kernels are compiled to HIVM for {chip.target} and run by Triton's interpreter: no NPU is used."
    return Availability(
        can_compile=True, can_run=True, simulated=True, reason=reason, traits=traits(chip), details=details
    )


def traits(chip: Chip) -> Traits:
    """The numbers that a designer sizes tiles by.

    What a program holds lies in the unified buffer, with two of each tile that is loaded or stored, of which one moves
    while the compiler has the vector core compute on another. A quarter is left for what is not foreseen.
    """
    return Traits(
        units=chip.vectors,
        lanes=64,
        on_chip_bytes=chip.unified // 6,
        tile_elements=4096,
        dot_tile=(128, 128, 64),
        register_tiles=True,
        program_bytes=chip.unified * 3 // 4,
        spills=False,
        copies=2,
    )


@functools.cache
def compiler() -> Path | None:
    """Where `bishengir-compile` of ascendnpu-ir lies; the module itself is not imported."""
    found = importlib.util.find_spec("ascendnpuir")
    folders = [Path(place) for place in (found.submodule_search_locations or ())] if found else []
    tools = (folder / "bin" / "bishengir-compile" for folder in folders)
    return next((tool for tool in tools if tool.exists()), None)
