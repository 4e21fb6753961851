"""Where the time of a step goes."""

from __future__ import annotations

import pytest

from akg_core.agents.stopwatch import Spent, Stopwatch


@pytest.fixture
def clock(monkeypatch):
    """Pass some seconds: clock(2)."""
    now = [100.0]
    monkeypatch.setattr("akg_core.agents.stopwatch.time.monotonic", lambda: now[0])

    def passing(seconds: float) -> None:
        now[0] += seconds

    return passing


def test_a_lap_is_split_into_what_it_was_spent_on(clock):
    watch = Stopwatch()
    clock(0.25)
    for _ in range(2):
        with watch.during("model"):
            clock(3)
    with pytest.raises(ValueError), watch.during("judge"):
        clock(2)
        raise ValueError
    assert watch.lap() == Spent(model=6, judge=2, rest=0.25)
    clock(1)
    watch.count("compile", 0.75)
    assert watch.lap() == Spent(compile=0.75, rest=0.25)


def test_laps_add_up():
    assert Spent(model=1, rest=2) + Spent(compile=3, rest=4) == Spent(model=1, compile=3, rest=6)
