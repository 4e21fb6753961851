"""Whoever is timed: samples of a kernel, or of a baseline, out of the process that it has for itself.

What the process of a kernel says of time counts for nothing: on the host its keeper has the clock, on another device
the process that `akg_core.judge.timing.on_device` asks. Only where many kernels are tried in one process, and none is
believed, are samples by the clock of that process asked for.
"""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from akg_core.closing import Closing
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
class Kept(Closing):
    """A file with answers of the calls on the sets of inputs of these `numbers`. Close it, or use it as a context."""

    file: Path
    numbers: tuple[int, ...] = ()

    def close(self) -> None:
        """Remove the file."""
        self.file.unlink(missing_ok=True)


class Participant:
    """Something that can be timed: a session, and the job that takes samples in it, each call in `seconds` at most.

    The job gets the `payload` with the first of the `prepared` cases. `believed`: its process runs nothing of a
    candidate's, so that what it says of time may count.
    """

    def __init__(
        self,
        name: str,
        session: Session,
        function: str,
        payload: dict[str, Any],
        prepared: Prepared,
        seconds: float = CALL_SECONDS,
        *,
        believed: bool = False,
    ) -> None:
        self.name, self.session, self.seconds, self._prepared = name, session, seconds, prepared
        self.believed = believed
        self._function, self._payload = function, payload
        self._lost = ""  # why nothing runs in the session any more
        self.timer = ""
        self.waited = 0.0  # part of the time of the last samples in which it had no processor

    def open(self, plan: TimingPlan) -> None:
        """Have a kernel loaded before its process knows of any input; what goes wrong shows when samples are asked.

        Later on: have it hold no memory for inputs until the next sample.
        """
        none = plan.model_copy(update={"warmup": 0, "samples": 0})
        self.session.call(self._function, self._asked(none, self._prepared.opening), seconds=self.seconds)

    def warm(self, plan: TimingPlan) -> None:
        """Have it do what is done at first calls alone. Raises Unusable with the reason."""
        self.called(plan.model_copy(update={"warmup": 0, "samples": 0}))

    def called(self, plan: TimingPlan, seed: int = 0) -> ProfileReport:
        """What it reports of a call with a plan. `seed`: where forward draws random numbers.

        Raises Unusable with the reason.
        """
        if self._lost:
            raise Unusable(self._lost)
        first = self._prepared.first.case
        if seed:
            first = first.model_copy(update={"seeds": tuple(seed for _ in first.seeds)})
        return self._report(self.session.call(self._function, self._asked(plan, first), seconds=self.seconds))

    def sample(self, plan: TimingPlan) -> tuple[float, ...]:
        """Samples in seconds, as the plan says, by the clock of the process. Raises Unusable with the reason."""
        report = self.called(plan)
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
            "sized": plan.sized,
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
