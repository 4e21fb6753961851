"""Whoever is timed: samples of a kernel, or of a baseline, out of the process that it has for itself.

Where that process is timed from outside, its keeper has the clock, and what the process says counts for nothing. On
another device than the host the process takes its own time, which `akg_core.judge.timing.inside` then looks at from
outside.
"""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from akg_core.judge.reference.prepare import Fresh, Prepared
from akg_core.machine import last_level_cache
from akg_core.records import Case, ProfileReport, TimingPlan

if TYPE_CHECKING:
    from akg_core.worker.limits import JobResult
    from akg_core.worker.session import Session

CALL_SECONDS = 120.0
_MOST_WAITED = 0.99  # of the time
KERNEL_JOB = "akg_core.judge.candidate.jobs:profile_job"


class Unusable(Exception):
    """A participant gave no samples."""


@dataclass
class Kept:
    """A file with answers of the calls on the sets of inputs of these `numbers`. Close it, or use it as a context."""

    file: Path
    numbers: tuple[int, ...] = ()

    def __enter__(self) -> Kept:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the file."""
        self.file.unlink(missing_ok=True)


class Participant:
    """Something that can be timed: a session, and the job that takes samples in it, each call in `seconds` at most.

    The job gets the `payload` with the first of the `prepared` cases.
    """

    def __init__(
        self,
        name: str,
        session: Session,
        function: str,
        payload: dict[str, Any],
        prepared: Prepared,
        seconds: float = CALL_SECONDS,
    ) -> None:
        self.name, self.session, self.seconds, self._prepared = name, session, seconds, prepared
        self._function, self._payload = function, payload
        self._lost = ""  # why nothing runs in the session any more
        self.timer = ""
        self.warm_seconds = 0.0  # of a sample with full caches, by a clock that agreed with one outside
        self.waited = 0.0  # part of the time of the last samples in which it had no processor

    def open(self, plan: TimingPlan) -> None:
        """Have a kernel loaded before its process knows of any input; what goes wrong shows when samples are asked.

        Later on: have it hold no memory for inputs until the next sample.
        """
        none = plan.model_copy(update={"warmup": 0, "samples": 0})
        self.session.call(self._function, self._asked(none, self._prepared.opening), seconds=self.seconds)

    def warm(self, plan: TimingPlan) -> None:
        """Have it do what is done at first calls alone. Raises Unusable with the reason."""
        if not self.session.timed:
            self.sample(plan.model_copy(update={"samples": 1}))
            return
        once = self._asked(plan.model_copy(update={"samples": 0}), self._prepared.first.case)
        self._report(self.session.call(self._function, once, seconds=self.seconds))

    def sample(self, plan: TimingPlan) -> tuple[float, ...]:
        """Samples in seconds, as the plan says, by the clock of the process. Raises Unusable with the reason."""
        if self._lost:
            raise Unusable(self._lost)
        asked = self._asked(plan, self._prepared.first.case)
        report = self._report(self.session.call(self._function, asked, seconds=self.seconds))
        if len(report.samples) != plan.samples or not all(0 < sample < 1e6 for sample in report.samples):
            raise Unusable("It gave other samples than it was asked for.")
        self.timer = report.timer
        return report.samples

    def turns(self, plan: TimingPlan, fresh: Fresh, *, keep: bool = False) -> tuple[tuple[float, ...], Kept | None]:
        """Seconds of so many turns, of `plan.calls` calls each, by the keeper's clock; and one answer of each.

        The calls are given `fresh` sets of inputs, each another. Raises Unusable with the reason.
        """
        order = {
            "calls": plan.calls,
            "turns": plan.samples,
            "warmup": plan.warmup,
            "sweep": 2 * last_level_cache() if plan.cold else 0,
            "given": fresh.given,
            "step": fresh.step,
            "keep": keep,
        }
        kept = Kept(fresh.file.with_name(secrets.token_hex(8)))
        data = os.open(fresh.file, os.O_RDONLY)
        answers = os.open(kept.file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            first = self._prepared.first.case
            asked = self._asked(plan, first.model_copy(update={"seeds": tuple(fresh.seed for _ in first.seeds)}))
            files = data, answers
            result, told = self.session.call_timed(self._function, asked, order, files, self.seconds)
            if "ends" not in told:
                self._report(result)
            if "error" in told:
                raise Unusable(f"{told['error'][0].upper()}{told['error'][1:]}.")
        except BaseException:
            kept.close()
            raise
        finally:
            os.close(data)
            os.close(answers)
        self.timer = "from outside"
        self.waited = min(_MOST_WAITED, sum(told["waited"]) / sum(told["samples"]))
        kept.numbers = tuple(told["kept"])
        if not keep:
            kept.close()
        return tuple(told["samples"]), kept if keep else None

    def _report(self, result: JobResult) -> ProfileReport:
        if result.status != "ok":
            raise Unusable(result.error["message"] if result.error else result.reason)
        try:
            report = ProfileReport(**result.unwrap())
        except ValidationError:
            raise Unusable("It answered something that is no report of samples.") from None
        if report.lost:
            self._lost = f"The device stopped its work: {report.lost}."
            self.session.close()
            raise Unusable(self._lost)
        if report.error:
            raise Unusable(f"{report.error}.")
        return report

    def _asked(self, plan: TimingPlan, case: Case) -> dict[str, Any]:
        return self._payload | {"plan": plan.model_dump(mode="json"), "case": case.model_dump(mode="json")}
