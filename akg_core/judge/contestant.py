"""One that is timed: a session, and the job that takes samples in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from akg_core.records import Case, ProfileReport, TimingPlan

if TYPE_CHECKING:
    from akg_core.judge.prepare import Prepared
    from akg_core.worker.session import Session

CALL_SECONDS = 120.0
KERNEL_JOB = "akg_core.judge.jobs:profile_job"


class Unusable(Exception):
    """A contestant gave no samples."""


class Contestant:
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

    def open(self, plan: TimingPlan) -> None:
        """Have a kernel loaded before its process knows of any input; what goes wrong shows when samples are asked.

        Later on: have it hold no memory for inputs until the next sample.
        """
        none = plan.model_copy(update={"warmup": 0, "samples": 0})
        self.session.call(self._function, self._asked(none, self._prepared.opening), seconds=self.seconds)

    def sample(self, plan: TimingPlan) -> tuple[float, ...]:
        """Samples in seconds, as the plan says. Raises Unusable with the reason."""
        if self._lost:
            raise Unusable(self._lost)
        asked = self._asked(plan, self._prepared.first.case)
        result = self.session.call(self._function, asked, seconds=self.seconds)
        if result.status != "ok":
            message = result.error["message"] if result.error else result.reason
            raise Unusable(message)
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
        if len(report.samples) != plan.samples or not all(0 < sample < 1e6 for sample in report.samples):
            raise Unusable("It gave other samples than it was asked for.")
        self.timer = report.timer
        return report.samples

    def _asked(self, plan: TimingPlan, case: Case) -> dict[str, Any]:
        return self._payload | {"plan": plan.model_dump(mode="json"), "case": case.model_dump(mode="json")}
