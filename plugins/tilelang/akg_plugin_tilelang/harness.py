"""Running and timing kernels in a worker process: on the GPU, or without one by interpreting their TIR.

On a GPU, TileLang compiles when a kernel is first called, unless it was compiled ahead; what was lies beside the kernel
and is copied to where this process may write.
"""

from __future__ import annotations

import functools
import os
import shutil
import tempfile
from pathlib import Path

from akg_cuda import chips

from akg_core.plugin import HOST, Artifact, Case, Device, ProfileReport, RunReport, Target, TimingPlan
from akg_core.plugin.harness import load_entry, profile_case, run_cases
from akg_plugin_tilelang.ahead import CACHE
from akg_plugin_tilelang.probe import probe


def run(artifact: Artifact, target: Target, cases: tuple[Case, ...]) -> RunReport:
    """Run the cases; outputs go to their files."""
    device = _ready(artifact, target)
    return run_cases(lambda: load_entry(artifact), cases, device, jit=device is not HOST)


def profile(artifact: Artifact, target: Target, case: Case, plan: TimingPlan) -> ProfileReport:
    """Time one case on the device; simulated kernels have no time."""
    if probe(target).simulated:
        return ProfileReport(samples=(), timer="none", error="a simulated kernel has no time that means anything")
    return profile_case(lambda: load_entry(artifact), case, plan, _ready(artifact, target), jit=True)


@functools.cache
def device_of(target: Target) -> Device:
    """The GPU, or the host where kernels are simulated. Raises ToolchainError where torch cannot use the GPU.

    The reference process asks, too, which finds no TileLang: it is not in the toolchain's environment.
    """
    gpu = chips.gpu_of(chips.capability_of(target))
    if gpu is None:
        return HOST
    from akg_cuda import device

    return device.device_of(gpu)


def _ready(artifact: Artifact, target: Target) -> Device:
    """Make ready for the kernel's first call, and say where it runs."""
    device = device_of(target)
    if device is HOST:
        from akg_plugin_tilelang import simulate

        simulate.prepare()
    else:
        _bring_compiled(artifact.folder / CACHE)
    return device


@functools.cache
def _bring_compiled(compiled: Path) -> None:
    """Copy what was compiled ahead to where TileLang keeps what it compiles in this process."""
    cache = Path(tempfile.gettempdir()) / "tilelang"
    os.environ |= {"TILELANG_CACHE_DIR": str(cache), "TILELANG_PRINT_ON_COMPILATION": "0"}
    if compiled.is_dir():
        shutil.copytree(compiled, cache, dirs_exist_ok=True)
