from __future__ import annotations

from types import SimpleNamespace

import pytest

from akg_core.judge.timing import Unusable
from akg_core.records import Target, TimingPlan
from akg_core.search import race as races


class Runner:
    """Stands for a contestant: gives its times one after the other, or fails at a call."""

    def __init__(self, times, fails_at=None):
        self.times, self.fails_at, self.calls = iter(times), fails_at, 0

    def sample(self, plan: TimingPlan):
        self.calls += 1
        if self.calls == self.fails_at:
            raise Unusable("It crashed.")
        return (next(self.times),)


@pytest.fixture
def run(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def run(*runners, rounds=3):
        queue = list(runners)
        monkeypatch.setattr(races, "_contestant", lambda *_: queue.pop(0))
        return races.race(
            SimpleNamespace(), SimpleNamespace(), "toy", list(runners), Target(backend="x"), rounds=rounds
        )

    return run


def test_the_warm_up_does_not_count(run):
    (lap,) = run(Runner([99, 1, 2, 3]))
    assert lap.samples == [1, 2, 3] and lap.seconds == 2


def test_one_that_fails_drops_out_and_the_others_go_on(run):
    bad, good = Runner([5, 5, 5, 5], fails_at=2), Runner([7, 7, 7, 7])
    first, second = run(bad, good)
    assert first.failure == "It crashed." and first.seconds is None and bad.calls == 2
    assert second.seconds == 7 and good.calls == 4
