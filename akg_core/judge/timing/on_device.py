"""Times taken on a device, by a process that works there between two turns and runs nothing of those that are timed.

A turn is one call. Whoever is timed queues it on the device, behind a wait for the start of the turn, and stands still.
Then the reference's process makes new inputs, starts the turn, and takes the time by stamps of the device; it copies
what was answered, and some answers are compared with the reference's when all times have been taken: that of the
fastest turn, and one on rows of many kinds, at a turn that nobody can tell from others and whose time does not count.
Where a kernel's call cannot be queued, all are made when the inputs are there; what launching takes counts then. Where
a baseline's cannot, its own process takes the time: it is not the one to be doubted. See
`akg_core.judge.reference.turns_on_device`.
"""

from __future__ import annotations

import itertools
import secrets
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from akg_core.judge.reference.prepare import Comparison, Prepared
from akg_core.judge.timing.device_clock import Clock, Turn, drawn_seeds
from akg_core.judge.timing.entrants import KERNEL, Entrant
from akg_core.judge.timing.floor import Machine
from akg_core.judge.timing.participant import Participant, Unusable
from akg_core.judge.timing.rounds import FEWEST, LOOKS, MOST, Sampled, answers_compared, are_narrow, fault_of, in_turn
from akg_core.records import TimingPlan

if TYPE_CHECKING:
    from akg_core.worker.pool import Pool

_JOBS = "akg_core.judge.reference.turns_on_device:"
_TRIED, _TURNS = 2, 3  # turns that do not count, and those of a round where there is time for so many
_HARD_BYTES = 1 << 30  # of inputs, as many as are made elsewhere, and of an answer
_LEAST = 0.01  # of a turn, which is time however long the change of processes took


def sample(
    pool: Pool, prepared: Prepared, entrant: Entrant, rivals: list[Participant], machine: Machine, seconds: float
) -> Sampled:
    """Samples of a kernel and its rivals in rounds. Raises Unusable when the kernel gives none."""
    kernel, plan, found = entrant.ready(), entrant.plan, Sampled()
    started, most = time.monotonic(), answers_compared(prepared)
    clock = Clock(
        pool,
        lambda job, payload: prepared.ask(_JOBS + job, payload),
        prepared.ask(_JOBS + "open_job", {"seed": secrets.randbits(31)}),
        apart=prepared.ready().apart,
        sweep=2 * machine.cache_bytes if plan.cold else 0,
    )
    began = time.monotonic()
    participants = list(_runnable(clock, [kernel, *rivals], plan, found))
    count = turns_of_a_round(seconds, (time.monotonic() - began) / _TRIED)
    found.rounds = {one.name: [] for one in participants}
    hard = secrets.randbelow(FEWEST) if _takes_hard(prepared, clock) else -1
    found.resolution = machine.open_seconds if clock.is_open else machine.turn_spread
    for number in range(MOST):
        turns = [drawn_seeds() for _ in range(count)]
        for one in in_turn(participants, number):
            kept = most if one is kernel else 0
            samples = tuple(_called(clock.turn(one, plan, seeds, kept), machine) for seeds in turns)
            found.rounds[one.name].append(samples)
        if number == hard:  # a turn like the others, whose time does not count
            clock.turn(kernel, plan, drawn_seeds(hard=True), most)
        if number + 1 >= FEWEST and time.monotonic() - started > seconds:
            break
        if (number + 1) % LOOKS == 0 and are_narrow(found.rounds, found.resolution):
            break
    found.unqueued = tuple(sorted(clock.unqueued))
    for one in participants:
        is_own = one.believed and (clock.is_open or one.name in clock.unqueued)
        one.timer = found.timers[one.name] = "by its own process" if is_own else "from outside"
        one.open(plan)  # to answer once more, the reference needs memory
    if not prepared.ready().random:
        found.reason = _wrong(prepared)
        found.status = "incorrect" if found.reason else "ok"
    return found


def turns_of_a_round(seconds: float, all_once: float) -> int:
    """How many turns everybody has in a round, for the fewest rounds to take `seconds`; `all_once`: those of one."""
    return max(1, min(_TURNS, int(seconds / (FEWEST * all_once))))


def _takes_hard(prepared: Prepared, clock: Clock) -> bool:
    """Whether there are inputs with rows of many kinds, which are made before they come in sight, and memory to keep
    an answer on them beside the others."""
    known = prepared.ready()
    return bool(clock.opened.get("hard")) and max(known.input_bytes, known.output_bytes) <= _HARD_BYTES


def _runnable(clock: Clock, participants: list[Participant], plan: TimingPlan, found: Sampled) -> Iterator[Participant]:
    """Who can be timed, after some turns that do not count; a baseline that fails goes to what is missing."""
    for one in participants:
        try:
            for _ in range(_TRIED):
                clock.turn(one, plan, drawn_seeds())
        except Unusable as error:
            if one.name == KERNEL:
                raise
            found.missing[one.name] = str(error)
        else:
            yield one


def _called(turn: Turn, machine: Machine) -> float:
    """Seconds of the call of a turn."""
    beside = {"queued": machine.turn_seconds, "open": machine.open_seconds, "own": 0.0}[turn.kind]
    return max(turn.seconds - beside, _LEAST * turn.seconds)


def _wrong(prepared: Prepared) -> str:
    """What is wrong with an answer that was kept; "" when nothing is."""
    for place in itertools.count():
        asked = {"place": place, "longest_reduction": prepared.ready().longest_reduction}
        found = prepared.ask(_JOBS + "check_job", asked)["found"]
        if found is None:
            break
        if wrong := fault_of(Comparison(**found)):
            return wrong
    return ""
