"""What this machine offers: TileLang, nvcc, and NVIDIA GPUs. Imports no TileLang, which takes seconds."""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
from pathlib import Path

from akg_cuda import chips
from akg_cuda.chips import BACKEND, CHIPS, REGISTERS, capability_of

from akg_core.plugin import Availability, Target, Traits, version_of

VERSION = "0.1.15"
TUNING_SECONDS = 30.0  # two or three rounds of a search
CURE = "`akg-core setup tilelang` installs it."


def probe(target: Target) -> Availability:
    """Whether kernels can be compiled and run here; never raises."""
    version = version_of("tilelang")
    details = {"tilelang": version or "not installed"}
    reason, cure = chips.refusal(target) or (missing(), CURE)
    if reason:
        return Availability(can_compile=False, can_run=False, reason=reason, cure=cure, details=details)
    capability = capability_of(target)
    details |= {"target": f"sm_{capability}", "nvcc": str(nvcc())}
    if gpu := chips.gpu_of(capability):
        return Availability(
            can_compile=True,
            can_run=True,
            device=BACKEND,
            memory_bytes=gpu.memory_bytes,
            tuning_seconds=TUNING_SECONDS,
            traits=traits(capability),
            details=details | {"gpu": gpu.name, "memory": gpu.memory, "driver": gpu.driver},
        )
    reason = f"There is no GPU of sm_{capability} here: kernels are compiled for it, and their TIR is interpreted."
    details["runs"] = "by simulation"
    exact = traits(capability).model_copy(update={"convolution_format": ""})  # as the host's, where the reference runs
    return Availability(can_compile=True, can_run=True, simulated=True, reason=reason, traits=exact, details=details)


def missing() -> str:
    """What kernels cannot be compiled without and is not here, in a sentence; "" where everything is."""
    version = version_of("tilelang")
    if not version:
        return "TileLang is not installed."
    if version != VERSION:
        return f"TileLang {version} is not {VERSION}, which it works with."
    return "" if nvcc() else "There is no nvcc, which TileLang compiles by."


def traits(capability: int) -> Traits:
    """The numbers that a designer sizes tiles by; rows of up to 64 KiB stay in registers between two passes."""
    units = (chips.multiprocessors() if chips.gpu_of(capability) else 0) or CHIPS[capability].units
    return Traits(
        units=units,
        lanes=32,
        on_chip_bytes=64 * 1024,
        tile_elements=1024,
        dot_tile=(64, 64, 32),
        convolution_format="tf32",
        half_tile=(128, 128, 64),
        attention_tile=(128, 128),
        register_tiles=True,
        program_bytes=4 * REGISTERS + CHIPS[capability].shared_bytes,
    )


@functools.cache
def nvcc() -> Path | None:
    """CUDA's compiler: of the folder that CUDA_HOME names, on PATH, or as pip installs it."""
    home = os.environ.get("CUDA_HOME", "")
    spec = importlib.util.find_spec("nvidia")
    folders = [*(spec.submodule_search_locations or ())] if spec else []
    installed = [path for folder in folders for path in sorted(Path(folder).glob("*/bin/nvcc"))]
    found = [Path(home, "bin", "nvcc"), Path(shutil.which("nvcc") or "nowhere"), *installed]
    return next((path for path in found if path.is_file()), None)
