"""A kernel for a reference file, built once to be judged many times."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from akg_core.pipeline.pipeline import Pipeline
from akg_core.records import Artifact, Target, Task
from akg_core.runs import RunFolder
from akg_core.stages.progress import Progress
from akg_core.stages.stages import Candidate, Request
from akg_core.stages.variants import Defaults
from akg_core.worker.pool import Pool

ROOT = Path(__file__).parents[1]
PLUGIN, TARGET = "cpp_cpu", Target(backend="cpu")


@dataclass
class Built:
    """What building a reference file for the host gives; `first` is the first of `candidates` that can be built."""

    pipeline: Pipeline
    task: Task
    candidates: Defaults
    first: Candidate

    @property
    def artifact(self) -> Artifact:
        """The kernel."""
        assert self.first.artifact is not None
        return self.first.artifact


def build(pool: Pool, reference: Path, folder: Path, scale: float) -> Built:
    """Capture, design, emit and compile in `folder`. Raises an AkgError with the reason when that fails."""
    pipeline = Pipeline(Request(reference.resolve(), PLUGIN, TARGET, scale=scale), pool, RunFolder(folder), Progress())
    task = pipeline.capture()
    candidates = Defaults(pipeline.design(task))
    first = pipeline.build(task, candidates)
    assert first is not None, "that none can be built is raised"
    return Built(pipeline, task, candidates, first)
