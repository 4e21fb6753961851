"""Variants in order: one that the judge refuses is followed by the next."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from akg_core.judge.prepare import Prepared
from akg_core.judge.records import Verdict, VerdictStatus
from akg_core.pipeline import Pipeline
from akg_core.records import Artifact, Interface, KernelSource, Schedule, Sketch, Task
from akg_core.stages import Design

PREPARED = cast("Prepared", SimpleNamespace(task=None))


class Judged(Pipeline):
    """A pipeline whose judge says what the test says, and which builds nothing."""

    def __init__(self, *says: VerdictStatus) -> None:
        self.says, self.built = list(says), 0
        self.folder = cast("Any", SimpleNamespace(write=lambda name, data: None))

    def emit(self, task: Task, design: Design, schedule: Schedule) -> KernelSource:
        return cast("KernelSource", design.sketch.name)

    def compile(self, design: Design, source: KernelSource) -> Artifact:
        self.built += 1
        return Artifact(folder=Path(design.sketch.name))

    def verify(self, prepared: Prepared, artifact: Artifact) -> Verdict:
        self.verdict = Verdict(status=self.says.pop(0), reason=f"said of {artifact.folder}")
        return self.verdict


def designs(count: int) -> tuple[Design, ...]:
    return tuple(
        Design(Sketch(name=f"v{n}", text="", interface=Interface(arguments=())), (), Schedule(values={}))
        for n in range(count)
    )


FIRST = Artifact(folder=Path("v0"))


def test_the_first_that_is_correct_is_taken() -> None:
    pipeline = Judged("incorrect", "crashed", "correct")
    design, artifact = pipeline.accept(PREPARED, designs(4), FIRST)
    assert design.sketch.name == "v2" and artifact.folder == Path("v2") and pipeline.built == 2
    assert pipeline.verdict is not None and pipeline.verdict.correct
    said = ("The variant v0 was refused: said of v0", "The variant v1 was refused: said of v1")
    assert pipeline.verdict.notes == said


def test_a_correct_first_variant_is_the_only_one_built() -> None:
    pipeline = Judged("correct")
    assert pipeline.accept(PREPARED, designs(3), FIRST)[1] is FIRST and pipeline.built == 0


@pytest.mark.parametrize("status", ["cheating", "unavailable", "unsupported", "unverified"])
def test_what_another_variant_would_not_mend_ends_the_search(status: VerdictStatus) -> None:
    pipeline = Judged(status)
    pipeline.accept(PREPARED, designs(3), FIRST)
    assert pipeline.built == 0 and pipeline.verdict is not None and pipeline.verdict.status == status


def test_only_a_few_are_tried() -> None:
    pipeline = Judged(*["incorrect"] * 9)
    design, _ = pipeline.accept(PREPARED, designs(9), FIRST)
    assert design.sketch.name == "v2" and pipeline.verdict is not None and not pipeline.verdict.correct
