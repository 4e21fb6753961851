"""Sessions that go from task to task, and who waits for one."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

from akg_core.worker.limits import Limits
from akg_core.worker.spare import Spare

LIMITS, JOB = Limits(), "module:open_job"


class Made:
    """A session that forgets its task when it is told to `go`."""

    def __init__(self, limits: Limits, function: str) -> None:
        self.limits, self.closed, self.go, self.reusable = limits, False, threading.Event(), True

    def call(self, function: str, payload: dict) -> SimpleNamespace:
        assert self.go.wait(60)
        return SimpleNamespace(status="ok", value={"reusable": self.reusable})

    def close(self) -> None:
        self.closed = True


def test_one_that_is_being_taken_back_is_waited_for_by_one_who_asks() -> None:
    with ThreadPoolExecutor() as threads:
        spare = Spare(Made, threads.submit)
        first = spare.take(LIMITS, JOB)
        spare.give(first, JOB, "module:forget_job")
        asked = threads.submit(spare.take, LIMITS, JOB)
        while spare._given[LIMITS, JOB]:  # until it has been claimed
            pass
        assert spare.take(LIMITS, JOB) is not first, "nobody waits for what another waits for"
        assert not asked.done()
        first.go.set()
        assert asked.result(60) is first


def test_who_waited_for_one_that_is_of_no_use_gets_a_new_one() -> None:
    with ThreadPoolExecutor() as threads:
        spare = Spare(Made, threads.submit)
        first = spare.take(LIMITS, JOB)
        first.reusable = False
        first.go.set()
        spare.give(first, JOB, "module:forget_job")
        assert spare.take(LIMITS, JOB) is not first and first.closed
