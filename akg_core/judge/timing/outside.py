"""Times taken from outside, in turns of some calls on data that nobody has seen before.

Everybody is given the same sets of inputs in a round. Of what a kernel answered in them, its keeper reads one call's
each time, picked when it has answered; some of these answers, picked when all times have been taken, are compared with
the reference's. What letting a process go and stopping it takes is known by a kernel that does nothing.
"""

from __future__ import annotations

import contextlib
import math
import secrets
import statistics
import time
from collections.abc import Iterator
from typing import NamedTuple

from akg_core.judge.reference.prepare import Fresh, Prepared
from akg_core.judge.timing.entrants import KERNEL, Entrant
from akg_core.judge.timing.floor import Machine
from akg_core.judge.timing.participant import Kept, Participant, Unusable
from akg_core.judge.timing.rounds import FEWEST, LOOKS, MOST, QUICK, Sampled, are_narrow, fault_of, in_turn
from akg_core.records import TimingPlan

TURN_SECONDS = 0.002
"""What a turn should take at least; letting go and stopping takes little beside it."""

_MOST_CALLS, _MOST_BYTES = 1024, 64 << 20  # of a turn, and of its inputs and answers
_TURNS, _ROUND_BYTES = 3, 256 << 20  # of who is quick, in a round; and of a round's inputs then
_CHECKS, _CHECK_SECONDS = (2, 12), 0.5  # answers that are compared: at least and at most, and for about how long
_EXACT = 6.0  # times as long as eager that a comparison takes, about
_LEAST = 0.01  # of a turn, which is time however long letting go took


def sample(
    prepared: Prepared, entrant: Entrant, rivals: list[Participant], machine: Machine, seconds: float
) -> Sampled:
    """Samples of a kernel and its rivals in rounds. Raises Unusable when the kernel gives none."""
    kernel, plan, found = entrant.ready(), entrant.plan, Sampled()
    started = time.monotonic()
    once = dict(_once([kernel, *rivals], prepared, plan, machine, found))
    participants = [one for one in (kernel, *rivals) if one.name in once]
    found.rounds = {one.name: [] for one in participants}
    waited: dict[str, list[float]] = {one.name: [] for one in participants}
    with _Answers(prepared) as answers:
        for number in range(MOST):
            calls = {name: _calls(quickest, prepared) for name, quickest in once.items()}
            most = max(calls.values())
            is_quick = max(once.values()) < QUICK and _TURNS * most * _bytes(prepared) < _ROUND_BYTES
            turns = _TURNS if is_quick else 1
            with contextlib.ExitStack() as held:
                fresh = held.enter_context(prepared.fresh(turns * most))
                for one in in_turn(participants, number):
                    asked = plan.model_copy(update={"warmup": 1, "samples": turns, "calls": calls[one.name]})
                    took, kept = one.turns(asked, fresh, keep=one is kernel)
                    samples = tuple(_called(turn, calls[one.name], machine) for turn in took)
                    once[one.name] = min(once[one.name], *samples)
                    found.rounds[one.name].append(samples)
                    waited[one.name].append(one.waited)
                    if one is kernel and kept:
                        answer = held.enter_context(kept)
                answers.offer(fresh, answer, held.pop_all())
            if number + 1 >= FEWEST and time.monotonic() - started > seconds:
                break
            if (number + 1) % LOOKS == 0 and are_narrow(found.rounds):
                break
        found.resolution = machine.turn_spread / calls[KERNEL]
        found.waited = {name: statistics.median(parts) for name, parts in waited.items()}
        if not prepared.ready().random:
            found.reason = answers.wrong()
            found.status = "incorrect" if found.reason else "ok"
    return found


class _Answer(NamedTuple):
    """An answer at its place in a file, the inputs that were given, and what closes both files."""

    fresh: Fresh
    kept: Kept
    place: int
    files: contextlib.ExitStack


class _Answers:
    """As many of the answers that it is offered as can be compared, each as likely as another to be among them."""

    def __init__(self, prepared: Prepared) -> None:
        least, most = _CHECKS
        affordable = int(_CHECK_SECONDS / max(1e-6, _EXACT * prepared.ready().eager_seconds))
        self._prepared, self._most, self._offered = prepared, max(least, min(most, affordable)), 0
        self._held: list[_Answer] = []

    def __enter__(self) -> _Answers:
        return self

    def __exit__(self, *_: object) -> None:
        for answer in self._held:
            answer.files.close()

    def offer(self, fresh: Fresh, kept: Kept, files: contextlib.ExitStack) -> None:
        """Keep some of these answers, perhaps in place of others; files of which none is kept any more are closed."""
        known = [files, *(answer.files for answer in self._held)]
        for place in range(len(kept.numbers)):
            self._offered += 1
            at = len(self._held) if len(self._held) < self._most else secrets.randbelow(self._offered)
            if at < self._most:
                self._held[at : at + 1] = [_Answer(fresh, kept, place, files)]
        for each in known:
            if not any(answer.files is each for answer in self._held):
                each.close()

    def wrong(self) -> str:
        """What is wrong with one of them; "" when nothing is."""
        for fresh, kept, place, _files in self._held:
            found = self._prepared.check(fresh, kept.numbers[place], kept.file, place)
            if wrong := fault_of(found):
                return wrong
        return ""


def _once(
    participants: list[Participant], prepared: Prepared, plan: TimingPlan, machine: Machine, found: Sampled
) -> Iterator[tuple[str, float]]:
    """About how long one call of each takes, by few calls; a baseline that fails goes to what is missing."""
    asked = plan.model_copy(update={"warmup": 1, "samples": 2})
    with prepared.fresh(2) as fresh:
        for one in participants:
            try:
                took, _ = one.turns(asked, fresh)
            except Unusable as error:
                if one.name == KERNEL:
                    raise
                found.missing[one.name] = str(error)
            else:
                yield one.name, _called(min(took), 1, machine)


def _calls(once: float, prepared: Prepared) -> int:
    """How many calls make a turn: one where each leaves something behind, which the next would begin with.

    `once`: seconds of the quickest call so far, since a first one may be slow and turns of few calls tell little.
    """
    if prepared.ready().apart:
        return 1
    return max(1, min(_MOST_CALLS, _MOST_BYTES // _bytes(prepared), math.ceil(TURN_SECONDS / once)))


def _called(turn: float, calls: int, machine: Machine) -> float:
    """Seconds of a call, by those of a turn of so many."""
    return max(turn - machine.turn_seconds, _LEAST * turn) / calls


def _bytes(prepared: Prepared) -> int:
    """Bytes of the inputs and answers of a call, at least 1."""
    preparation = prepared.ready()
    return preparation.input_bytes + preparation.output_bytes + 1
