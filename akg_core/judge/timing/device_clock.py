"""The clock of a device, as whoever has times taken asks for them: a turn of one call, queued or made.

Another process holds it, which works on the device between two turns and runs nothing of those that are timed: see
`akg_core.judge.reference.turns_on_device`.
"""

from __future__ import annotations

import itertools
import math
import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import TimeoutError as TakesLonger
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from akg_core.judge.timing.participant import Unusable
from akg_core.records import DeviceTurn, ProfileReport, TimingPlan

if TYPE_CHECKING:
    from akg_core.worker.pool import Pool
    from akg_core.worker.session import Session

_QUEUED_SECONDS, _ENDED_SECONDS = 2.0, 30.0  # within which a call is queued, and has ended
_LONGER, _SLICE_SECONDS = 1.5, 1e-3  # how long inputs may be in sight, by how long they were at the least
_ATTEMPTS = 4  # at a turn


class Unfair(Unusable):
    """A participant's process ran while it was to stand still."""


class Timed(Protocol):
    """Who can be timed: it has a name and a session, and reports of a call with a plan, which may be `believed`."""

    name: str
    session: Session
    believed: bool

    def called(self, plan: TimingPlan, seed: int = 0) -> ProfileReport: ...


def drawn_seeds(hard: bool = False) -> tuple[int, int]:
    """Seeds of inputs, below 0 for rows of many kinds, and of random numbers: nobody knows one by the other."""
    seed = secrets.randbits(31)
    return -1 - seed if hard else seed, secrets.randbits(62)


class Turn(NamedTuple):
    """Seconds of a turn, and whether its call was queued, made openly, or timed by its own process."""

    seconds: float
    kind: Literal["queued", "open", "own"]


@dataclass
class Clock:
    """The clock of a device: `ask` has the process that holds it do a job.

    `opened`: what that said when it was opened. `apart`: calls begin with the state of the case. `sweep`: bytes to be
    read before each turn. `unqueued`: whose calls cannot be queued. Where a kernel's cannot, nobody's are, so that
    launching counts for all. Who is believed takes the time of such calls itself; the others' is known to some ms.
    """

    pool: Pool
    ask: Callable[[str, dict[str, Any]], dict[str, Any]]
    opened: dict[str, Any]
    apart: bool = False
    sweep: int = 0
    unqueued: set[str] = field(default_factory=set)
    is_open: bool = False  # whether nobody's calls are queued
    _seen: float = math.inf  # for how long inputs are in sight, at the least
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def turn(self, one: Timed, plan: TimingPlan, seeds: tuple[int, int], most: int = 0) -> Turn:
        """Take the time of a call; a turn in which anything went on that should not is taken again, on other inputs.

        `seeds`: of the inputs, below 0 for rows of many kinds, and of random numbers. At `most` so many answers are
        kept to be compared; 0: none is looked at. Raises Unusable with the reason, and Unfair when a process never
        stood still.
        """
        for _ in range(_ATTEMPTS):
            asked: dict[str, Any] = {"number": next(self._numbers), "seed": seeds[0], "random": seeds[1]}
            asked |= {"most": most, "sweep": self.sweep, "patience": _ENDED_SECONDS}
            queued = None if self.is_open or one.name in self.unqueued else self._queued(one, plan, asked)
            found = queued or self._made(one, plan, asked)
            if "error" in found:
                self.ask("start_job", {"number": asked["number"]})
                raise Unusable(f"{found['error'][0].upper()}{found['error'][1:]}.")
            self._seen = min(found["exposed"], self._seen)
            on_time = not found["late"] and found["exposed"] < _LONGER * self._seen + _SLICE_SECONDS
            if found["still"] and on_time:
                return Turn(found["seconds"], "queued" if queued else "own" if one.believed else "open")
            seeds = drawn_seeds(hard=seeds[0] < 0)  # those have been seen
        if not found["still"]:
            raise Unfair("Its process went on while it was to stand still.")
        raise Unusable("Something was at work on the device while it was to stand still.")

    def _queued(self, one: Timed, plan: TimingPlan, asked: dict[str, Any]) -> dict[str, Any] | None:
        """A turn whose call is queued before it begins; None when that cannot be, which is remembered."""
        queueing = self.pool.background(one.called, self._planned(plan, asked, True), asked["random"])
        try:
            told = queueing.result(_QUEUED_SECONDS).told
        except TakesLonger:
            self.ask("start_job", {"number": asked["number"]})
            queueing.result()
            self.unqueued.add(one.name)
            self.is_open = self.is_open or not one.believed
            return None
        except Unusable:
            self.ask("start_job", {"number": asked["number"]})
            raise
        return self._watched(one, "turn_job", asked | {"told": told if asked["most"] else None})

    def _made(self, one: Timed, plan: TimingPlan, asked: dict[str, Any]) -> dict[str, Any]:
        """A turn whose call is made when its inputs are there; a process that is believed takes the time itself."""
        begun = self._watched(one, "begin_job", asked)
        told = one.called(self._planned(plan, asked, False, one.believed), asked["random"]).told
        ended = self._watched(one, "end_job", asked | {"told": told if asked["most"] else None})
        seconds = {"seconds": float(told["seconds"])} if one.believed and "error" not in ended else {}
        return ended | seconds | {"still": begun["still"] and ended["still"]}

    def _watched(self, one: Timed, job: str, asked: dict[str, Any]) -> dict[str, Any]:
        """What a job answers, and whether a participant's process stood still meanwhile.

        Of a thread that has just been stopped, the system may count its last moments a little later.
        """
        before = one.session.ran()
        found = self.ask(job, asked)
        return found | {"still": one.session.ran() == before}

    def _planned(self, plan: TimingPlan, asked: dict[str, Any], queued: bool, believed: bool = False) -> TimingPlan:
        turn = DeviceTurn(
            lane=self.opened["lane"],
            places=tuple(self.opened["places"]),
            number=asked["number"],
            queued=queued,
            believed=believed,
            apart=self.apart,
        )
        return plan.model_copy(update={"turn": turn})
