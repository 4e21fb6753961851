"""Variants in order: one that the judge refuses is followed by the next."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from akg_core.judge.candidate.session import CandidateSession
from akg_core.judge.records import CaseVerdict, Timing, TimingStatus, Verdict, VerdictStatus
from akg_core.judge.reference.prepare import Prepared
from akg_core.pipeline.choosing import following
from akg_core.pipeline.pipeline import Pipeline
from akg_core.records import Artifact, CompileResult, Interface, KernelSource, Schedule, Sketch, Task
from akg_core.stages.stages import Candidate, Design, Request
from akg_core.stages.variants import Defaults

PREPARED = cast("Prepared", SimpleNamespace(task=None))


class Judged(Pipeline):
    """A pipeline whose judge says what the test says, and which builds nothing."""

    right: tuple[bool, ...] = ()  # by case

    def __init__(self, *says: VerdictStatus) -> None:
        self.says, self.built, self.refused, self.unbuilt, self.told = list(says), 0, (), (), ()
        self.request = Request(reference=Path("r.py"), plugin="toy", target=None)
        self.pool = cast("Any", None)
        self.folder = cast(
            "Any", SimpleNamespace(write=lambda name, data: None, kernel=Path("run"), adopt=lambda folder: None)
        )

    def emit(self, task: Task, design: Design, schedule: Schedule) -> KernelSource:
        return cast("KernelSource", design.sketch.name)

    def compile(self, design: Design, source: KernelSource, said: str = "") -> CompileResult:
        self.built += 1
        return CompileResult(ok=True, seconds=0.0, artifact=Artifact(folder=Path(design.sketch.name)))

    def verify(self, prepared: Prepared, artifact: Artifact, session: CandidateSession | None = None) -> Verdict:
        cases = tuple(CaseVerdict(name="drawn", ok=ok) for ok in self.right)
        self.verdict = Verdict(status=self.says.pop(0), reason=f"said of {artifact.folder}", cases=cases)
        return self.verdict


def design(name: str, rounds: str = "") -> Design:
    sketch = Sketch(name=name, text="", interface=Interface(arguments=()), rounds=rounds)
    return Design(sketch=sketch, space=(), default=Schedule(values={}))


def variants(count: int) -> list[Candidate]:
    return list(Defaults([design(f"v{number}") for number in range(count)]))


FIRST = replace(variants(1)[0], artifact=Artifact(folder=Path("v0")))


def test_the_first_that_is_correct_is_taken() -> None:
    pipeline = Judged("incorrect", "crashed", "correct")
    taken = pipeline.accept(PREPARED, variants(4), FIRST)
    assert taken.design.sketch.name == "v2" and taken.artifact == Artifact(folder=Path("v2")) and pipeline.built == 2
    assert pipeline.verdict is not None and pipeline.verdict.correct
    said = ("The variant v0 was refused: said of v0", "The variant v1 was refused: said of v1")
    assert pipeline.verdict.notes == said


def test_a_correct_first_variant_is_the_only_one_built() -> None:
    pipeline = Judged("correct")
    assert pipeline.accept(PREPARED, variants(3), FIRST) is FIRST and pipeline.built == 0


@pytest.mark.parametrize("status", ["cheating", "unavailable", "unsupported", "unverified"])
def test_what_another_variant_would_not_mend_ends_the_search(status: VerdictStatus) -> None:
    pipeline = Judged(status)
    pipeline.accept(PREPARED, variants(3), FIRST)
    assert pipeline.built == 0 and pipeline.verdict is not None and pipeline.verdict.status == status


def test_only_a_few_are_tried() -> None:
    pipeline = Judged(*["incorrect"] * 9)
    taken = pipeline.accept(PREPARED, variants(9), FIRST)
    assert taken.design.sketch.name == "v2" and pipeline.verdict is not None and not pipeline.verdict.correct


def test_one_at_a_time_each_call_goes_on_after_those_that_were_refused() -> None:
    pipeline = Judged("incorrect", "incorrect", "correct")
    taken = []
    for _ in range(3):
        candidate = following(variants(4), pipeline.refused, ())
        assert candidate is not None
        taken.append(pipeline.accept(PREPARED, variants(4), replace(candidate, artifact=FIRST.artifact), tries=1))
    assert [each.design.sketch.name for each in taken] == ["v0", "v1", "v2"] and pipeline.built == 0
    assert pipeline.verdict is not None and pipeline.verdict.correct and len(pipeline.verdict.notes) == 2


@pytest.mark.parametrize(
    ("times", "judged"),
    [
        (["ok"], ["v0"]),
        (["incorrect", "ok"], ["v0", "v1"]),
        (["incorrect"] * 9, ["v0", "v1", "v2"]),
        (["cheating"], ["v0"]),
    ],
)
def test_one_that_is_wrong_while_it_is_timed_is_followed_by_another(
    times: list[TimingStatus], judged: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = Judged(*["correct"] * 9)
    timed: list[str] = []

    def time(prepared: Prepared, artifact: Artifact, baselines: object) -> Timing:
        timed.append(str(artifact.folder))
        return Timing(status=times.pop(0), reason="While it was timed, it was wrong.")

    monkeypatch.setattr(pipeline, "time", time)
    monkeypatch.setattr(Judged, "simulated", False)
    pipeline.judge(PREPARED, variants(9), cast("Any", None), FIRST)
    assert (
        timed == judged and [each.design.sketch.name for each, _ in pipeline.refused] == judged[: len(pipeline.refused)]
    )
    if len(judged) == 2:
        assert pipeline.verdict is not None
        assert pipeline.verdict.notes == ("The variant v0 was refused: While it was timed, it was wrong.",)


def test_when_enough_were_refused_none_follows() -> None:
    pipeline = Judged(*["incorrect"] * 9)
    pipeline.accept(PREPARED, variants(9), FIRST)
    assert following(variants(9), pipeline.refused, ()) is None
    with pytest.raises(ValueError, match="none of the candidates is left"):
        pipeline.accept(PREPARED, variants(9), FIRST)


def test_after_a_refusal_another_sketch_comes_before_another_schedule_of_the_same() -> None:
    one, other = design("v0"), design("v1")
    schedules = [Schedule(values={"k.B": size}) for size in (1, 2)]
    ranked = [*(Candidate(one, schedule) for schedule in schedules), Candidate(other, other.default)]
    pipeline = Judged("incorrect", "incorrect", "correct")
    taken = pipeline.accept(PREPARED, ranked)
    assert taken.schedule == schedules[1], "the first sketch's other schedule, once the other sketch was refused, too"
    assert [(each.design.sketch.name, verdict.status) for each, verdict in pipeline.refused] == [
        ("v0", "incorrect"),
        ("v1", "incorrect"),
    ]


def test_what_a_search_has_built_is_taken_over_as_it_is() -> None:
    pipeline = Judged("correct")
    built = Candidate(design("v0"), Schedule(), folder=Path("there"), artifact=Artifact(folder=Path("there/kernel")))
    assert pipeline.accept(PREPARED, [built]).artifact == Artifact(folder=Path("run")) and pipeline.built == 0


@pytest.mark.parametrize(
    ("right", "second"),
    [((False, False), "exact"), ((True, False, False), "exact"), ((True, True, False), "tf32")],
)
def test_where_rounding_is_mostly_not_exact_enough_no_other_sketch_that_rounds_comes_next(
    right: tuple[bool, ...], second: str
) -> None:
    pipeline = Judged("incorrect", "correct")
    pipeline.right = right
    offered = list(Defaults([design("f16", "tf32"), design("tf32", "tf32"), design("exact")]))
    assert pipeline.accept(PREPARED, offered).design.sketch.name == second


def test_with_one_try_left_a_sketch_that_does_not_round_comes_next() -> None:
    pipeline = Judged("incorrect", "incorrect", "correct")
    pipeline.right = (True, True, False)
    offered = list(Defaults([*(design(f"v{number}", "tf32") for number in range(4)), design("exact")]))
    assert pipeline.accept(PREPARED, offered).design.sketch.name == "exact"


def test_where_one_that_does_not_round_was_refused_none_comes_next_that_does() -> None:
    pipeline = Judged("incorrect", "correct")
    offered = list(Defaults([design("compensated"), design("tf32", "tf32"), design("plain")]))
    assert pipeline.accept(PREPARED, offered).design.sketch.name == "plain"
