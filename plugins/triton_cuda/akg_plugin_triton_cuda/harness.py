"""Running and timing kernels in a worker process: on the GPU, or without one by Triton's interpreter.

Core's harness for Python modules does all of it; Triton may compile when a kernel is first called, in processes.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from akg_core.judge.candidate import load_entry, profile_case, run_cases
from akg_core.records import Artifact, Case, ProfileReport, RunReport, Target, TimingPlan
from akg_core.worker.device import HOST, Device
from akg_plugin_triton_cuda.probe import probe


def run(artifact: Artifact, target: Target, cases: tuple[Case, ...]) -> RunReport:
    """Run the cases; outputs go to their files."""
    _ready(target)
    return run_cases(lambda: load_entry(artifact), cases, device_of(target), processes=True)


def profile(artifact: Artifact, target: Target, case: Case, plan: TimingPlan) -> ProfileReport:
    """Time one case on the device; simulated kernels have no time."""
    available = probe(target)
    if available.simulated:
        return ProfileReport(samples=(), timer="none", error="a simulated kernel has no time that means anything")
    _ready(target)
    return profile_case(lambda: load_entry(artifact), case, plan, device_of(target), processes=True)


def device_of(target: Target) -> Device:
    """The GPU, or the host where kernels are simulated."""
    if probe(target).device == HOST.name:
        return HOST
    from akg_plugin_triton_cuda.device import CudaDevice

    return CudaDevice()


def _ready(target: Target) -> None:
    os.environ.setdefault("TRITON_CACHE_DIR", str(Path(tempfile.gettempdir()) / "triton"))  # it may write nowhere else
    if probe(target).simulated:
        from akg_triton import simulate

        simulate.prepare()
