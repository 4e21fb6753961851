"""Times several kernels of one task against each other, so that whatever slows the machine slows them all.

On the host they take turns, each in a process of its own. On another device, where a process takes seconds to start,
one process has them all: each is timed for a moment, and those that come near the fastest take turns.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from akg_core.judge.candidate.session import kernel_payload
from akg_core.judge.reference.prepare import Fresh, Prepared
from akg_core.judge.timing.measure import exclusively
from akg_core.judge.timing.participant import KERNEL_JOB, Participant, Unusable
from akg_core.records import Artifact, Target, TimingPlan
from akg_core.worker.limits import Limits

if TYPE_CHECKING:
    from akg_core.worker.pool import Pool
    from akg_core.worker.session import Session

ROUNDS = 7
SECONDS = 30.0  # for one call of a candidate: its import and a few runs
_NEAR, _FINALISTS = 1.15, 4  # how far from the fastest one may be to take turns with it, and how many do
_FINAL_ROUNDS = 3
_FAR, _LONG = 10.0, 0.02  # how many times as slow as the fastest, and of what seconds, is not sampled again
_ONCE = TimingPlan(warmup=1, samples=1, cold=True)
_AT_FIRST = TimingPlan(warmup=0, samples=1, cold=True)
_SHORTLY = TimingPlan(warmup=0, samples=3, cold=True)


@dataclass
class KernelTiming:
    """The samples of one kernel in seconds, or why there are none."""

    samples: list[float] = field(default_factory=list)
    failure: str = ""

    @property
    def seconds(self) -> float | None:
        """The median; None when the kernel did not run."""
        return statistics.median(self.samples) if self.samples and not self.failure else None


@dataclass(frozen=True)
class TimingContext:
    """Where a race takes place: the workers, the task's cases, and who runs kernels for which chip."""

    pool: Pool
    prepared: Prepared
    plugin: str
    target: Target

    @contextmanager
    def process(self) -> Iterator[Session]:
        """A confined process that kernels can be timed in."""
        outside = not self.prepared.lends
        limits = Limits(SECONDS, confined=True, paused=outside, timed=outside)
        with self.pool.session(limits, KERNEL_JOB) as session:
            yield session

    def participant(self, session: Session, artifact: Artifact) -> Participant:
        """A kernel that is to be timed in a process."""
        payload = kernel_payload(self.plugin, artifact, self.target)
        return Participant("candidate", session, KERNEL_JOB, payload, self.prepared, SECONDS)


def time_interleaved(
    context: TimingContext, artifacts: Sequence[Artifact], *, rounds: int = ROUNDS
) -> list[KernelTiming]:
    """A timing for each kernel; one that fails drops out. Other akg-core processes wait meanwhile."""
    return in_one_process(context, artifacts) if context.prepared.lends else in_turns(context, artifacts, rounds)


def in_turns(context: TimingContext, artifacts: Sequence[Artifact], rounds: int = ROUNDS) -> list[KernelTiming]:
    """Sample every kernel once a round, each in a process of its own."""
    timings = [KernelTiming() for _ in artifacts]
    with ExitStack() as stack:
        participants = [context.participant(stack.enter_context(context.process()), artifact) for artifact in artifacts]
        stack.enter_context(exclusively(context.target.backend))
        for number in range(-1, rounds):  # the first round is for warming up
            fresh = stack.enter_context(context.prepared.fresh(1))
            for participant, timing in zip(participants, timings, strict=True):
                if not timing.failure:
                    _turn(participant, timing, fresh, keep=number >= 0)
    return timings


def in_one_process(context: TimingContext, artifacts: Sequence[Artifact]) -> list[KernelTiming]:
    """Sample one kernel after the other, then the fastest once more in turns; samples of the turns count alone.

    What is sampled first waits for the process and the device, so that it is sampled twice. What is far slower than
    others is called once.
    """
    timings = [KernelTiming() for _ in artifacts]
    with ExitStack() as stack:
        stack.enter_context(exclusively(context.target.backend))
        process = _Process(context, stack)
        fastest = math.inf
        for artifact, timing in (
            *((first, KernelTiming()) for first in artifacts[:1]),
            *zip(artifacts, timings, strict=True),
        ):
            process.sample(artifact, timing, fastest)
            fastest = min(fastest, timing.seconds or math.inf)
        known = sorted((timing.seconds, place) for place, timing in enumerate(timings) if timing.seconds is not None)
        near = [place for seconds, place in known if seconds <= _NEAR * known[0][0]][:_FINALISTS]
        if len(near) > 1:
            timings = [KernelTiming() if place in near else timing for place, timing in enumerate(timings)]
            for place in near * _FINAL_ROUNDS:
                process.sample(artifacts[place], timings[place])
    return timings


class _Process:
    """The process that all kernels are timed in; another one after a failure, which may have spoilt the device."""

    def __init__(self, context: TimingContext, stack: ExitStack) -> None:
        self._track, self._stack = context, stack
        self._session: Session | None = None

    def sample(self, artifact: Artifact, timing: KernelTiming, fastest: float = math.inf) -> None:
        """Add a few samples to the timing of a kernel that has not failed; only one when others take far less."""
        if timing.failure:
            return
        if self._session is None:
            self._session = self._stack.enter_context(self._track.process())
        participant, first = self._track.participant(self._session, artifact), KernelTiming()
        _sample(participant, first, _AT_FIRST)
        if first.seconds is None or first.seconds > max(_LONG, _FAR * fastest):
            timing.samples, timing.failure = timing.samples + first.samples, first.failure
        else:
            _sample(participant, timing, _SHORTLY)
        if timing.failure:
            self._session.close()
            self._session = None


def _turn(participant: Participant, timing: KernelTiming, fresh: Fresh, *, keep: bool) -> None:
    try:
        samples, _ = participant.turns(_ONCE, fresh)
    except Unusable as error:
        timing.failure = str(error)
        return
    timing.samples += samples if keep else ()


def _sample(participant: Participant, timing: KernelTiming, plan: TimingPlan) -> None:
    try:
        samples = participant.sample(plan)
    except Unusable as error:
        timing.failure = str(error)
        return
    timing.samples += samples
