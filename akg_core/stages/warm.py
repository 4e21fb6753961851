"""What the warm parents of workers import before any job comes, in layers: what most jobs need first."""

from __future__ import annotations

from collections.abc import Iterable

from akg_core.registry import installed

_FIRST = (
    "torch",
    "torch.export._trace",
    "akg_core.task.capture",
    "akg_core.judge.reference.process",
    "akg_core.judge.reference.written",
    "akg_core.judge.reference.timed_inputs",
    "akg_core.judge.reference.turns_on_device",
    "akg_core.judge.candidate.harness",
)
TOOLCHAIN_JOBS = (
    "akg_core.stages.stage_jobs:probe_job",
    "akg_core.stages.stage_jobs:compile_job",
    "akg_core.stages.stage_jobs:compile_all_job",
    "akg_core.stages.stage_jobs:check_then_compile_job",
    "akg_core.judge.candidate.jobs:run_job",
    "akg_core.judge.candidate.jobs:profile_job",
)
"""What needs a plugin's toolchain, wherever that is."""
_ON_DEVICE = (
    "akg_core.judge.timing.floor:measure_job",
    "akg_core.judge.timing.idle:turn_job",
    "akg_core.judge.reference.turns_on_device:idle_job",
    "akg_core.judge.reference.process:open_job",
)
_LATER = (
    (
        "akg_core.stages.stage_jobs:design_job",
        "akg_core.stages.stage_jobs:emit_job",
        "akg_core.design.program.assemble",
        "akg_core.sketch.check",
        "akg_core.lower.host.module",
    ),
    ("torch._inductor.compile_fx", "akg_core.judge.timing.baseline"),
)
_HARNESS = (
    "torch",
    "torch._dynamo",  # once imported, it has changed torch
    "akg_core.judge.candidate.harness",
)
WARM = (_FIRST, *_LATER)


def warm_for(plugin: str) -> tuple[tuple[str, ...], ...]:
    """The layers for jobs of one plugin, which find its own modules imported. Raises PluginError."""
    info = installed().select(plugin).info
    return (_FIRST, (*info.warm, *TOOLCHAIN_JOBS, *_ON_DEVICE), *_LATER) if info and info.warm else WARM


def warm_in_environment(plugin: str, jobs: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """The layers for `jobs` of one plugin in an environment of its own. Raises PluginError.

    The first is empty: of a later one, what cannot be imported there is said by the job that needs it.
    """
    info = installed().select(plugin).info
    return ((), (*_HARNESS, *(info.warm if info else ()), *jobs))
