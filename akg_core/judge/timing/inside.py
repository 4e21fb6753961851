"""Times by the clock of the process that runs a kernel, for devices, and why such a clock is believed or not.

Before each sample the caches are swept and the inputs change places. A kernel is believed only when its clock agrees
with one outside, when little goes on after it has returned, and when its answer to inputs changed in place is right.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from akg_core.judge.candidate import sampling
from akg_core.judge.records import Draw, TimingStatus
from akg_core.judge.reference.prepare import Prepared
from akg_core.judge.timing import statistics
from akg_core.judge.timing.entrants import KERNEL, Entrant
from akg_core.judge.timing.participant import Participant, Unusable
from akg_core.judge.timing.rounds import FEWEST, LOOKS, MOST, QUICK, Sampled, are_narrow, in_turn
from akg_core.records import TimingPlan

if TYPE_CHECKING:
    from akg_core.worker.pool import Pool

_MUCH_QUICKER = 0.3  # times as long: what takes less where it should take as long, or longer, is no time
_CHECKS, _MEASUREMENTS = 6, 4
_CHECKED = 24  # times that a checked sample may be slow, as every one is of who computes only there
_CLOCK_SECONDS = (0.1, 0.3, 8.0)  # of a call that clocks are compared over: the least, what is enough; and for all
_CLOCK_ATTEMPTS, _MOST_COUNTED = 40, 1 << 14
_GROWING, _MARGIN = 8, 1.5  # times as many samples each time at most, and as many as would do if calls took no time
_AFTERWARDS, _LONGER, _WAITING_SECONDS = 5, 1.5, 5e-5  # samples of what goes on, and how long that may take
_ASKING_SECONDS = 0.003  # what a call takes beside its samples


def sample(
    pool: Pool, prepared: Prepared, entrant: Entrant, rivals: list[Participant], each: float, seconds: float
) -> Sampled:
    """Samples of a kernel and its rivals, in rounds; `each`: what a sample takes beside what it counts, as known.

    Raises Unusable when the kernel gives none.
    """
    kernel, plan, found = entrant.ready(), entrant.plan, Sampled()
    check = functools.partial(_clock_lies, pool, prepared, kernel, plan, each)
    found.rounds, lie = _measured([kernel, *rivals], plan, seconds, found.missing, check)
    if not lie:
        median = statistics.interval(found.rounds[KERNEL])[0]
        lie = _works_beside(kernel, plan, median)
    if lie:
        found.rounds, found.status, found.reason = {}, "cheating", lie
        return found
    for rival in rivals:  # to answer once more, the reference needs memory
        rival.open(plan)
    draws = prepared.ready().draws
    found.status, found.reason = _wrong_afterwards(kernel, prepared, draws, entrant.folder, plan, median)
    return found


def _measured(
    participants: list[Participant],
    plan: TimingPlan,
    seconds: float,
    missing: dict[str, str],
    check: Callable[[], str],
) -> tuple[dict[str, list[tuple[float, ...]]], str]:
    """Samples by participant and round, and why the clock of the kernel, the first, is not believed; "" when it is.

    Nothing takes much less time when caches are empty. On a machine that is busy for a while samples with full caches
    may have waited for others: then all are taken anew.
    """
    kernel, warm = participants[0], math.inf
    for _ in range(_MEASUREMENTS):
        if lie := check():
            return {}, lie
        warm = min(warm, kernel.warm_seconds)
        rounds = _rounds(participants, plan, seconds, missing)
        cold = statistics.interval(rounds[KERNEL])[0]
        if cold > _MUCH_QUICKER * warm:
            return rounds, ""
    return rounds, f"Its clock counted {cold:.3g} s with empty caches, where it takes {warm:.3g} s with full ones."


def _rounds(
    participants: list[Participant], plan: TimingPlan, seconds: float, missing: dict[str, str]
) -> dict[str, list[tuple[float, ...]]]:
    """Samples by participant and round; a baseline that fails goes to `missing`."""
    started = time.monotonic()
    plans: dict[str, TimingPlan] = {}
    for participant in list(participants):
        try:
            once = participant.sample(plan.model_copy(update={"warmup": 1, "samples": 1}))[0]
        except Unusable as error:
            if participant.name == KERNEL:
                raise
            missing[participant.name] = str(error)
            participants.remove(participant)
        else:
            several = {"warmup": 1, "samples": 3} if once < QUICK else {"warmup": 0, "samples": 1}
            plans[participant.name] = plan.model_copy(update=several)
    rounds: dict[str, list[tuple[float, ...]]] = {c.name: [] for c in participants}
    for number in range(MOST):
        for participant in in_turn(participants, number):
            rounds[participant.name].append(participant.sample(plans[participant.name]))
        if number + 1 >= FEWEST and time.monotonic() - started > seconds:
            break
        if (number + 1) % LOOKS == 0 and are_narrow(rounds):
            break
    return rounds


def _clock_lies(pool: Pool, prepared: Prepared, kernel: Participant, plan: TimingPlan, each: float) -> str:
    """Why the kernel's clock is not believed; "" when it is. `each` are the seconds beside each sample, as known.

    On a machine that is busy these are more, and what a kernel that does nothing takes at the same time tells.
    """
    if lie := _disagreement(kernel, plan, lambda count: _ASKING_SECONDS + count * each, patient=False):
        with sampling.Idle(pool, prepared.where, prepared.ready().output_bytes) as idle:
            lie = _disagreement(kernel, plan, idle.beside)
    return lie


def _works_beside(kernel: Participant, plan: TimingPlan, median: float) -> str:
    """Why a device's clock is not believed when some of a kernel's work is none that it sees; "" when all is."""
    for _ in range(_CHECKS):
        samples = kernel.sample(plan.model_copy(update={"warmup": 1, "samples": _AFTERWARDS, "after": True}))
        after = sorted(samples)[_AFTERWARDS // 2]
        if after < _LONGER * median + _WAITING_SECONDS:
            return ""
    return f"Its clock counted {median:.3g} s, and {after:.3g} s after it had returned it was still at work."


def _disagreement(kernel: Participant, plan: TimingPlan, beside: Callable[[int], float], patient: bool = True) -> str:
    """Whether the samples that the kernel's process reports fit the time that passes here while it takes them.

    `beside` gives the seconds that so many samples take beside what they count; it is asked before and after.

    More and more samples are taken in one call, until what asking takes is little beside them. Then as many again: on a
    busy machine a process waits within its samples and between them, and of many calls one waits no longer than what
    is taken beside it, while a clock that lies does so in every call. Who is not `patient` leaves it at one such call.
    """
    warm, started = plan.model_copy(update={"cold": False}), time.perf_counter()
    kernel.sample(warm.model_copy(update={"warmup": 2, "samples": 1}))
    count = _GROWING if time.perf_counter() - started < _CLOCK_SECONDS[0] / 2 else 1
    before = beside(count)
    for _ in range(_CLOCK_ATTEMPTS):
        began = time.perf_counter()
        samples = kernel.sample(warm.model_copy(update={"samples": count}))
        passed, told = time.perf_counter() - began, sum(samples)
        after = beside(count)
        enough = passed > _CLOCK_SECONDS[0] or count == _MOST_COUNTED
        if enough and told > 0.5 * (passed - min(before, after)):
            kernel.warm_seconds = sorted(samples)[count // 2]
            return ""
        if time.perf_counter() - started > _CLOCK_SECONDS[2] or (enough and not patient):
            break
        due = math.ceil(count * max(_MARGIN * _CLOCK_SECONDS[0], min(2 * passed, _CLOCK_SECONDS[1])) / passed)
        more = min(_MOST_COUNTED, _GROWING * count, max(count, due))
        before, count = after if more == count else beside(more), more
    return f"Its clock counted {told:.3g} s while {passed:.3g} s passed."


def _wrong_afterwards(
    kernel: Participant, prepared: Prepared, draws: tuple[Draw, ...], folder: Path, plan: TimingPlan, median: float
) -> tuple[TimingStatus, str]:
    """What is wrong with the answer to other inputs put where the timed ones were, or with how long that one takes.

    Who tells that it is checked, and computes only then, takes longer there than by `median`, each time that it is
    asked.
    """
    first = draws[0]
    alike = [draw for draw in draws[1:] if draw.sizes == first.sizes]
    other = next((draw for draw in alike if draw.kind == "disturbed"), next(iter(alike), first))
    check = other.case.model_copy(update={"outputs": folder / "outputs"})
    for _ in range(_CHECKED):
        (took,) = kernel.sample(plan.model_copy(update={"warmup": 1, "samples": 1, "check": check}))
        comparison = prepared.compare(other.name, check.outputs)
        if comparison.error:
            return "incorrect", f"Its outputs after the samples cannot be read: {comparison.error}."
        if comparison.unexpected:
            return "incorrect", f"It changes {', '.join(comparison.unexpected)}."
        if wrong := next((output for output in comparison.outputs if not output.ok), None):
            return "incorrect", f"After the samples, on inputs changed in place, {wrong.name} is wrong: {wrong.reason}."
        if median > _MUCH_QUICKER * took:
            return "ok", ""
    return "cheating", f"Where its answer was checked it took {took:.3g} s, elsewhere {median:.3g} s."
