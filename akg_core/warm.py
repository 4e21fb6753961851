"""What the warm parents of workers import before any job comes, in layers: what most jobs need first."""

from __future__ import annotations

WARM = (
    (
        "torch",
        "torch.export._trace",
        "akg_core.task.capture",
        "akg_core.judge.reference",
        "akg_core.judge.candidate",
    ),
    (
        "akg_core.stage_jobs:design_job",
        "akg_core.stage_jobs:emit_job",
        "akg_core.design.assemble",
        "akg_core.sketch.check",
        "akg_core.sketch.host",
    ),
    ("torch._inductor.compile_fx", "akg_core.judge.baseline"),
)
