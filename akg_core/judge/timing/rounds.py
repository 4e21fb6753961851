"""Samples are taken in rounds, in which all that are timed have a turn, until medians and ratios are known closely."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

from akg_core.judge.records import TimingStatus
from akg_core.judge.reference.prepare import Comparison, Prepared
from akg_core.judge.timing import statistics
from akg_core.judge.timing.entrants import KERNEL
from akg_core.judge.timing.participant import Participant

FEWEST, MOST = 4, 40
LOOKS = 8  # rounds, after so many of which each time the intervals are looked at
QUICK = 0.02  # seconds; what is quicker gets several samples a round
_NARROW = 0.03  # of a median or ratio: an interval that needs no more rounds, whether or not it holds 1
_CHECKS, _CHECK_SECONDS = (2, 12), 0.5  # answers that are compared: at least and at most, and for about how long
_EXACT = 6.0  # times as long as eager that a comparison takes, about

Rounds = dict[str, list[tuple[float, ...]]]
"""Samples in seconds by participant and round."""


@dataclass
class Sampled:
    """What came of taking samples; `missing` says why a baseline has none.

    `waited`: by participant, the part of its time in which it was ready to run and had no processor. `resolution`:
    seconds by which a sample may be off that the clock itself adds. `unqueued`: whose calls could not be queued on a
    device, as `Timing` has it. `timers`: who took the time, where that is not the kernel's clock.
    """

    rounds: Rounds = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    status: TimingStatus = "ok"
    reason: str = ""
    waited: dict[str, float] = field(default_factory=dict)
    resolution: float = 0.0
    unqueued: tuple[str, ...] = ()
    timers: dict[str, str] = field(default_factory=dict)


def in_turn(participants: Sequence[Participant], number: int) -> list[Participant]:
    """The order of a round: another one begins each time."""
    turn = number % len(participants)
    return [*participants[turn:], *participants[:turn]]


def are_narrow(rounds: Rounds, resolution: float = 0.0) -> bool:
    """Whether everybody's median, and every ratio to the kernel's, is known closely: or as well as a clock can tell.

    `resolution`: seconds by which the clock itself varies.
    """
    medians = [statistics.interval(samples) for samples in rounds.values()]
    ratios = (statistics.ratio(samples, rounds[KERNEL]) for name, samples in rounds.items() if name != KERNEL)
    enough = max(_NARROW, resolution / min(middle for middle, _, _ in medians))
    return all(high - low < enough * middle for middle, low, high in itertools.chain(medians, ratios))


def answers_compared(prepared: Prepared) -> int:
    """How many answers are compared at most, by how long that takes."""
    least, most = _CHECKS
    return max(least, min(most, int(_CHECK_SECONDS / max(1e-6, _EXACT * prepared.ready().eager_seconds))))


def fault_of(found: Comparison) -> str:
    """What is wrong with an answer of a call that was timed; "" when nothing is."""
    if found.error:
        return f"What it answered while it was timed cannot be read: {found.error}."
    if found.unexpected:
        return f"While it was timed it changed {', '.join(found.unexpected)}."
    if wrong := next((output for output in found.outputs if not output.ok), None):
        return f"While it was timed, {wrong.name} was wrong: {wrong.reason}."
    return ""
