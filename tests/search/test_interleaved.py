from __future__ import annotations

from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from akg_core.judge.timing.participant import Unusable
from akg_core.records import Artifact, Target, TimingPlan
from akg_core.search.interleaved import TimingContext, time_interleaved


class Runner:
    """Stands for a kernel: gives its times one after the other, or fails at a call."""

    def __init__(self, times, fails_at=None):
        self.times, self.fails_at, self.calls = iter(times), fails_at, 0

    def turns(self, plan: TimingPlan, fresh: object):
        assert fresh == "1 set"
        return self.sample(plan), None

    def sample(self, plan: TimingPlan):
        self.calls += 1
        if self.calls == self.fails_at:
            raise Unusable("It crashed.")
        return tuple(next(self.times) for _ in range(plan.samples))


class Practice(TimingContext):
    """A context whose processes are only counted; the runner of an artifact is found by its folder's name."""

    def __init__(self, runners, lends):
        prepared = SimpleNamespace(lends=lends, fresh=lambda count: nullcontext(f"{count} set"))
        super().__init__(SimpleNamespace(), prepared, "toy", Target(backend="x"))
        self.__dict__.update(runners=runners, processes=[])

    @contextmanager
    def process(self):
        session = SimpleNamespace(closed=False)
        session.close = lambda: setattr(session, "closed", True)
        self.processes.append(session)
        yield session

    def participant(self, session, artifact):
        assert not session.closed
        return self.runners[int(artifact.folder.name)]


@pytest.fixture
def run(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def run(*runners, lends=False):
        context = Practice(runners, lends)
        artifacts = [Artifact(folder=Path(str(number))) for number, _ in enumerate(runners)]
        return time_interleaved(context, artifacts, rounds=3), context

    return run


def test_the_warm_up_does_not_count(run):
    (timing,), _ = run(Runner([99, 1, 2, 3]))
    assert timing.samples == [1, 2, 3] and timing.seconds == 2


def test_one_that_fails_drops_out_and_the_others_go_on(run):
    bad, good = Runner([5, 5, 5, 5], fails_at=2), Runner([7, 7, 7, 7])
    (first, second), context = run(bad, good)
    assert first.failure == "It crashed." and first.seconds is None and bad.calls == 2
    assert second.seconds == 7 and good.calls == 4 and len(context.processes) == 2


def test_on_a_device_one_process_times_all_and_the_fastest_take_turns(run):
    near, nearer, far = Runner([40] * 4 + [11] * 4 + [10] * 12), Runner([10] * 4 + [10.5] * 12), Runner([20] * 99)
    timings, context = run(near, nearer, far, lends=True)
    assert len(context.processes) == 1
    assert [timing.seconds for timing in timings] == [10, 10.5, 20]
    assert (near.calls, nearer.calls, far.calls) == (10, 8, 2), "what comes first waits for the device: once more"


def test_on_a_device_what_is_far_slower_is_called_once(run):
    good, hopeless, short = Runner([0.001] * 99), Runner([0.5] * 99), Runner([0.015] * 99)
    timings, _ = run(good, hopeless, short, lends=True)
    assert timings[1].samples == [0.5] and hopeless.calls == 1
    assert len(timings[2].samples) == 3, "a first call may well take so long"


def test_on_a_device_a_failure_costs_its_process_and_nobody_else(run):
    bad, good, other = Runner([1] * 4, fails_at=3), Runner([7] * 99), Runner([99] * 99)
    timings, context = run(bad, good, other, lends=True)
    assert timings[0].failure == "It crashed." and timings[0].seconds is None
    assert timings[1].seconds == 7 and timings[2].seconds == 99
    assert [session.closed for session in context.processes] == [True, False]
    assert run(lends=True)[0] == []
