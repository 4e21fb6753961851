"""Times several kernels in turns, each in a process of its own, so that whatever slows the machine slows them all."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from akg_core.judge.prepare import Prepared
from akg_core.judge.timing import Contestant, Unusable, exclusively
from akg_core.records import Artifact, Target, TimingPlan
from akg_core.worker.limits import Limits

if TYPE_CHECKING:
    from akg_core.worker.pool import Pool

ROUNDS = 7
SECONDS = 30.0  # for one call of a candidate: its import and a few runs


@dataclass
class Lap:
    """The samples of one kernel in seconds, or why there are none."""

    samples: list[float] = field(default_factory=list)
    failure: str = ""

    @property
    def seconds(self) -> float | None:
        """The median; None when the kernel did not run."""
        return statistics.median(self.samples) if self.samples and not self.failure else None


def race(
    pool: Pool, prepared: Prepared, plugin: str, artifacts: Sequence[Artifact], target: Target, *, rounds: int = ROUNDS
) -> list[Lap]:
    """Sample every kernel once a round; one that fails drops out. Other akg-core processes wait meanwhile."""
    laps = [Lap() for _ in artifacts]
    plan = TimingPlan(warmup=1, samples=1, cold=True)
    with ExitStack() as stack:
        contestants = [_contestant(stack, pool, prepared, plugin, artifact, target) for artifact in artifacts]
        stack.enter_context(exclusively(target.backend))
        for number in range(-1, rounds):  # the first round is for warming up
            for contestant, lap in zip(contestants, laps, strict=True):
                if not lap.failure:
                    _sample(contestant, lap, plan, keep=number >= 0)
    return laps


def _contestant(
    stack: ExitStack, pool: Pool, prepared: Prepared, plugin: str, artifact: Artifact, target: Target
) -> Contestant:
    session = stack.enter_context(pool.session(Limits(seconds=SECONDS, confined=True)))
    payload = {
        "plugin": plugin,
        "artifact": artifact.model_dump(mode="json"),
        "target": target.model_dump(mode="json"),
        "case": prepared.first.case.model_dump(mode="json"),
    }
    return Contestant("candidate", session, "akg_core.judge.jobs:profile_job", payload, SECONDS)


def _sample(contestant: Contestant, lap: Lap, plan: TimingPlan, *, keep: bool) -> None:
    try:
        samples = contestant.sample(plan)
    except Unusable as error:
        lap.failure = str(error)
        return
    lap.samples += samples if keep else ()
