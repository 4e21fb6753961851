"""What this machine offers: TileLang, CUDA's compilers, and NVIDIA GPUs. Imports no TileLang, which takes seconds."""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
from pathlib import Path

from akg_cuda import chips
from akg_cuda.chips import CHIPS, REGISTERS, capability_of
from akg_cuda.nvrtc import Compiler, find

from akg_core.plugin import Availability, Target, Traits, version_of
from akg_plugin_tilelang.headers import headers

VERSION = "0.1.15"
CURE = "`akg-core setup tilelang` installs it."


def probe(target: Target) -> Availability:
    """Whether kernels can be compiled and run here; never raises."""
    version = version_of("tilelang")
    details = {"tilelang": version or "not installed"}
    reason, cure = chips.refusal(target) or (missing(), CURE)
    if reason:
        return Availability(can_compile=False, can_run=False, reason=reason, cure=cure, details=details)
    capability = capability_of(target)
    compiler = nvrtc()
    details |= {"target": f"sm_{capability}", "nvcc": str(nvcc())} | (
        {"nvrtc": compiler.nvrtc.version} if compiler else {}
    )
    if gpu := chips.gpu_of(capability):
        return chips.on_gpu(gpu, traits(capability), details)
    reason = f"There is no GPU of sm_{capability} here: kernels are compiled for it, and their TIR is interpreted."
    return chips.simulated(reason, traits(capability), details)


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
    return Traits(
        units=chips.units_of(capability),
        lanes=32,
        on_chip_bytes=64 * 1024,
        tile_elements=1024,
        dot_tile=(64, 64, 32),
        convolution_format="tf32",
        convolution_channels=4,  # cuDNN 9 multiplies others in three dims without tensor cores
        half_tile=(128, 128, 64),
        attention_tile=(192, 128),
        window_tile=(128, 192, 64),
        register_tiles=True,
        radix=8,  # of 16 numbers the compiler takes 17 GB
        co_resident=2 * chips.units_of(capability),
        program_bytes=4 * REGISTERS + CHIPS[capability].shared_bytes,
    )


def arch_of(capability: int) -> str:
    """What CUDA's compilers call a chip, with all that only it has."""
    return f"sm_{capability}a" if capability >= 90 else f"sm_{capability}"


@functools.cache
def nvcc() -> Path | None:
    """CUDA's compiler: of the folder that CUDA_HOME names, on PATH, or as pip installs it."""
    home, *installed = _toolkits()
    found = [home / "bin/nvcc", Path(shutil.which("nvcc") or "nowhere"), *(path / "bin/nvcc" for path in installed)]
    return next((path for path in found if path.is_file()), None)


@functools.cache
def nvrtc() -> Compiler | None:
    """CUDA's compiler as a library, which takes nvcc's place unless AKG_TILELANG_NVCC says not to."""
    found = None if os.environ.get("AKG_TILELANG_NVCC") else find(_toolkits())
    return Compiler(found, headers()) if found else None


def _toolkits() -> list[Path]:
    """Where CUDA may be: the folder that CUDA_HOME names, and those of pip's packages."""
    spec = importlib.util.find_spec("nvidia")
    folders = [Path(folder) for folder in (spec.submodule_search_locations or ())] if spec else []
    return [Path(os.environ.get("CUDA_HOME", "")), *(path for folder in folders for path in sorted(folder.iterdir()))]
