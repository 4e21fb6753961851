"""Times taken from outside, in turns of some calls on data that nobody has seen before.

Everybody is given the same sets of inputs in a round. Of what a kernel answered in them, its keeper reads one call's
each time, picked when it has answered; some of these answers, picked when all times have been taken, are compared with
the reference's, with that of the fastest turn among them: who gains by wrong answers gives one there. In one turn more,
which nobody can tell from the others and whose time does not count, inputs have rows of many kinds: who is right only
while nobody takes the time is wrong there. What letting a process go and stopping it takes is known by a kernel that
does nothing.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import secrets
import statistics
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from akg_core.judge.reference.prepare import Fresh, Prepared
from akg_core.judge.timing.entrants import KERNEL, Entrant
from akg_core.judge.timing.floor import Machine
from akg_core.judge.timing.participant import Kept, Participant, Unusable
from akg_core.judge.timing.rounds import (
    FEWEST,
    LOOKS,
    MOST,
    QUICK,
    Sampled,
    answers_compared,
    are_narrow,
    fault_of,
    in_turn,
)
from akg_core.records import Graph, TimingPlan
from akg_core.task.graph import counts

TURN_SECONDS = 0.002
"""What a turn should take at least; letting go and stopping takes little beside it."""

_MOST_CALLS, _MOST_BYTES = 1024, 64 << 20  # of a turn, and of its inputs and answers
_TURNS, _ROUND_BYTES = 3, 256 << 20  # of who is quick, in a round; and of a round's inputs then
_LEAST = 0.01  # of a turn, which is time however long letting go took


def sample(
    prepared: Prepared, entrant: Entrant, rivals: list[Participant], machine: Machine, seconds: float
) -> Sampled:
    """Samples of a kernel and its rivals in rounds. Raises Unusable when the kernel gives none."""
    plan, found = entrant.plan.model_copy(update={"sized": _sized(prepared.task.graph)}), Sampled()
    kernel = entrant.ready()
    started = time.monotonic()
    once = dict(_once([kernel, *rivals], prepared, plan, machine, found))
    participants = [one for one in (kernel, *rivals) if one.name in once]
    found.rounds = {one.name: [] for one in participants}
    waited: dict[str, list[float]] = {one.name: [] for one in participants}
    hard = secrets.randbelow(FEWEST)
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
                took = tuple(itertools.chain(*found.rounds[KERNEL][-1:]))
                answers.offer(fresh, answer, took, held.pop_all())
            if number == hard:
                _turn_hard(kernel, prepared, plan.model_copy(update={"calls": calls[KERNEL]}), turns, answers)
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


def _turn_hard(kernel: Participant, prepared: Prepared, plan: TimingPlan, turns: int, answers: _Answers) -> None:
    """A kernel's share of a round on inputs with rows of many kinds, of which an answer is kept for good."""
    asked = plan.model_copy(update={"warmup": 1, "samples": turns})
    with contextlib.ExitStack() as held:
        fresh = held.enter_context(prepared.fresh(turns * plan.calls, hard=True))
        _, kept = kernel.turns(asked, fresh, keep=True)
        if kept:
            answers.keep(fresh, held.enter_context(kept), held.pop_all())


class _Answer(NamedTuple):
    """An answer at its place in a file, the inputs that were given, and what closes both files."""

    fresh: Fresh
    kept: Kept
    place: int
    files: contextlib.ExitStack


class _Answers:
    """As many of the answers that it is offered as can be compared, each as likely as another to be among them.

    The answer of the fastest turn is, for sure, as are those that it is told to keep.
    """

    def __init__(self, prepared: Prepared) -> None:
        self._prepared, self._most, self._offered = prepared, answers_compared(prepared), 0
        self._drawn: list[_Answer] = []
        self._kept: list[_Answer] = []
        self._fastest: list[_Answer] = []
        self._least = math.inf

    def __enter__(self) -> _Answers:
        return self

    def __exit__(self, *_: object) -> None:
        for answer in self._held():
            answer.files.close()

    def offer(self, fresh: Fresh, kept: Kept, took: Sequence[float], files: contextlib.ExitStack) -> None:
        """Keep some of these answers, perhaps in place of others; files of which none is kept any more are closed.

        `took`: seconds of their turns.
        """
        known = [files, *(answer.files for answer in self._held())]
        for place, seconds in enumerate(took[: len(kept.numbers)]):
            answer = _Answer(fresh, kept, place, files)
            if seconds < self._least:
                self._least, self._fastest = seconds, [answer]
            self._offered += 1
            at = len(self._drawn) if len(self._drawn) < self._most - 1 else secrets.randbelow(self._offered)
            if at < self._most - 1:
                self._drawn[at : at + 1] = [answer]
        for each in known:
            if not any(answer.files is each for answer in self._held()):
                each.close()

    def keep(self, fresh: Fresh, kept: Kept, files: contextlib.ExitStack) -> None:
        """Keep one of these answers, whichever."""
        self._kept.append(_Answer(fresh, kept, secrets.randbelow(len(kept.numbers)), files))

    def wrong(self) -> str:
        """What is wrong with one of them; "" when nothing is."""
        for fresh, kept, place, _files in self._held():
            found = self._prepared.check(fresh, kept.numbers[place], kept.file, place)
            if wrong := fault_of(found):
                return wrong
        return ""

    def _held(self) -> list[_Answer]:
        return [*self._kept, *self._fastest, *self._drawn]


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


def _sized(graph: Graph) -> tuple[int, ...]:
    """The numbers of an answer's tensors whose sizes are among the values."""
    tensors = [number for number, output in enumerate(graph.outputs) if output is not None]
    return tuple(place for place, number in enumerate(tensors) if number in counts(graph))


def _called(turn: float, calls: int, machine: Machine) -> float:
    """Seconds of a call, by those of a turn of so many."""
    return max(turn - machine.turn_seconds, _LEAST * turn) / calls


def _bytes(prepared: Prepared) -> int:
    """Bytes of the inputs and answers of a call, at least 1."""
    preparation = prepared.ready()
    return preparation.input_bytes + preparation.output_bytes + 1
