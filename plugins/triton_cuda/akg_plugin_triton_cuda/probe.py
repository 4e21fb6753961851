"""What this machine offers: Triton, and NVIDIA GPUs. Starts no CUDA in this process, so that it may fork afterwards."""

from __future__ import annotations

from akg_cuda import chips
from akg_cuda.chips import CHIPS, REGISTERS, capability_of
from packaging.version import Version

from akg_core.plugin import Availability, Target, Traits, version_of

OLDEST_TRITON = "3.6"
SIMULATED_TRITON = "3.7"  # whose interpreter is sound
_LONGEST_SORTED = 1024  # as many as one warp holds: between warps elements change places through memory
INSTALL = 'pip install "akg-plugin-triton-cuda[toolchain]"'


def probe(target: Target) -> Availability:
    """Whether kernels can be compiled and run here; never raises."""
    version = triton_version()
    details = {"triton": version or "not installed"}
    if refused := chips.refusal(target):
        reason, cure = refused
        return Availability(can_compile=False, can_run=False, reason=reason, cure=cure)
    if not version:
        return Availability(
            can_compile=False, can_run=False, reason="Triton is not installed.", cure=f"{INSTALL}.", details=details
        )
    if Version(version) < Version(OLDEST_TRITON):
        reason = f"Triton {version} is older than {OLDEST_TRITON}, the oldest that it works with."
        return Availability(can_compile=False, can_run=False, reason=reason, cure=f"{INSTALL}.", details=details)
    capability = capability_of(target)
    details["target"] = f"sm_{capability}"
    if gpu := chips.gpu_of(capability):
        return chips.on_gpu(gpu, traits(capability), details)
    return _simulated(capability, version, details)


def _simulated(capability: int, version: str, details: dict[str, str]) -> Availability:
    """What can be done without a GPU of this capability: compiling, and running by Triton's interpreter."""
    found = chips.gpus()
    here = f"The GPU here is a {found[0].name} (sm_{found[0].capability})" if found else "There is no NVIDIA GPU here"
    reason = f"{here}: kernels are compiled for sm_{capability} and run by Triton's interpreter."
    if Version(version) < Version(SIMULATED_TRITON):
        reason = f"{here}, and the interpreter of Triton {version} fails on loops whose bounds are loaded or passed."
        cure = f"Simulation needs Triton {SIMULATED_TRITON} or newer: {INSTALL}."
        return Availability(can_compile=True, can_run=False, reason=reason, cure=cure, details=details)
    return chips.simulated(reason, traits(capability), details)


def traits(capability: int) -> Traits:
    """The numbers that a designer sizes tiles by. Rows of up to 96 KiB stay in registers between two passes.

    What a program holds of its tiles lies in registers and shared memory, of which one may have all.
    A multiprocessor has registers for two programs of four warps, whatever they need: these certainly run together.
    """
    units = chips.units_of(capability)
    return Traits(
        units=units,
        lanes=32,
        on_chip_bytes=128 * 1024,
        tile_elements=1024,
        dot_tile=(128, 128, 32),
        convolution_format="tf32",
        convolution_channels=4,  # cuDNN 9 multiplies others in three dims without tensor cores
        half_tile=(128, 128, 64),
        register_tiles=True,
        longest_sorted=_LONGEST_SORTED,
        program_bytes=4 * REGISTERS + CHIPS[capability].shared_bytes,
        co_resident=2 * units,
    )


def triton_version() -> str:
    """The version of Triton that is installed, "" without one."""
    return version_of("triton")
