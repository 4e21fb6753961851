"""Running kernels in a worker process, by Triton's interpreter on tensors of the host, through core's harness."""

from __future__ import annotations

from akg_core.plugin import HOST, Artifact, Case, Device, ProfileReport, RunReport, Target, TimingPlan
from akg_core.plugin.harness import load_entry, run_cases

NO_TIME = "a simulated kernel has no time that means anything"


def run(artifact: Artifact, target: Target, cases: tuple[Case, ...]) -> RunReport:
    """Run the cases; outputs go to their files."""
    from akg_triton import simulate

    from akg_plugin_triton_ascend.emit import dialect

    simulate.prepare(dialect(target).functions)
    return run_cases(lambda: load_entry(artifact), cases, HOST)


def profile(artifact: Artifact, target: Target, case: Case, plan: TimingPlan) -> ProfileReport:
    """Refuse: simulated kernels have no time."""
    return ProfileReport(samples=(), timer="none", error=NO_TIME)


def device_of(target: Target) -> Device:
    """Where kernels run: the host, which simulates them."""
    return HOST
