"""A case that is run under the guard, in one call or in a row of them, and what is written of it.

Worker side, in the candidate's own process.
"""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from typing import Any

import torch

from akg_core.device import Device
from akg_core.judge.candidate.failures import said
from akg_core.judge.candidate.finished import ANSWERS_LATE, AsReturned
from akg_core.judge.candidate.guard import Guard
from akg_core.judge.candidate.holdings import held, marks, parameters
from akg_core.judge.candidate.rounding import CHANGES_ROUNDING, Modes
from akg_core.judge.candidate.settings import CHANGES_A_SETTING, Settings
from akg_core.judge.candidate.subject import Subject
from akg_core.judge.candidate.timed_model import inputs_of
from akg_core.judge.compare.bits import changed, flatten, named
from akg_core.judge.compare.sharing import Earlier, peculiar, places, shared
from akg_core.judge.records import FEWEST_CALLS
from akg_core.judge.reference.placement import Walls, placed
from akg_core.records import Case, CaseReport
from akg_core.seeds import GENERATOR, LARGEST
from akg_core.worker.answers import described
from akg_core.worker.tensors import fresh, load, overwritten, transform, write
from akg_core.worker.threads import alone, threads, threads_for

_WATCHED = 20_000  # operators that a guard is to tell of at once

_HELD = 8  # answers
_TOLD = 24  # places of answers, in which one that was given back is among them again
KEEPS_ANSWERS = "keeps the memory of its answers"
"""The rule that a kernel breaks which holds more of them than a few: it could give their memory again, to whom has one
still."""

lent: set[Device] = set()
"""Devices whose memory is lent for what was written."""


class _Run:
    """What has been found of a case so far: rules that it broke, operators that it called, whether it only copied."""

    def __init__(self, subject: Subject, case: Case) -> None:
        self.subject, self.case, self.walls = subject, case, Walls()
        self.threads = case.threads or torch.get_num_threads()
        self.rules: list[str] = []
        self.calls: set[str] = set()
        self.copies: list[bool] = []
        self.earlier = Earlier()
        self.last: list[Any] = []  # arguments of the last call, in whose memory the next one's may lie

    def all_rows(self) -> None:
        """Run and write the calls of a case: as many under one guard as it can tell of, or one where they are apart."""
        case, device = self.case, self.subject.device
        paths, order = case.series or (inputs_of(case),), case.order or (0,)
        seeds = [case.seeds[which] for which in order] if case.seeds else [None] * len(order)
        if case.apart:
            for number, which in enumerate(order):
                self.row(number, [load(paths[which], device)], seeds[number : number + 1])
            return
        series, start = [load(path, device) for path in paths], 0
        step = len(order) if len(order) <= FEWEST_CALLS else 1
        while start < len(order):
            seen = self.row(
                start, [series[which] for which in order[start : start + step]], seeds[start : start + step]
            )
            start, step = start + step, max(1, _WATCHED * step // seen)
        arguments = [value for value in flatten(self.last).values() if isinstance(value, torch.Tensor)]  # we hold these
        if self.earlier.kept([*parameters(self.subject.model), *arguments]) > _HELD or self._keeps_each():
            self.rules.append(KEEPS_ANSWERS)

    def _keeps_each(self) -> bool:
        """Whether answers in memory that torch did not allocate lie in ever other places, though nobody holds an
        earlier one: whoever gives memory back gets the same again before long, but for small pieces. A few places may
        all be other ones by chance, so that more are asked for then."""
        if self.case.placed or not self.earlier.is_foreign:
            return False
        self.earlier, given, calls = Earlier(), fresh(self.last), len(self.case.order)

        def places() -> list[int]:
            answers = (described(self.subject.model(*given)) for _ in range(calls))
            told = (tensor for answer in answers for tensor in answer["tensors"])
            return [tensor["address"] for tensor in told if tensor["nbytes"] >= mmap.PAGESIZE]

        with torch.no_grad():
            known, told = {*places()}, 0
            while told < _TOLD:
                late = places()
                if 3 * len({*late} - known) <= 2 * len(late):
                    return False
                known.update(late)
                told += len(late)
        return True

    def row(self, first: int, inputs: Sequence[list[Any]], seeds: Sequence[int | None]) -> int:
        """Run calls in a row, of which the first has this number in the case, and write them.

        Returns how many operators were seen, at least 1: each is held in memory until the row has ended.
        """
        subject, case = self.subject, self.case
        guard = Guard(case.poison + first, self.walls if case.placed == "walled" else None)
        try:
            self.earlier.let_go()
            state = subject.enter(case)
            given = self._laid_out(inputs)
            if not (case.updates or subject.has_changed):
                self.walls.lock()
            ours = [transform(arguments, torch.Tensor.detach) for arguments in given]  # nobody else can move these
            place, marked = described(ours), marks(subject.model, given)
            results = _call(subject, given, seeds, guard, self.threads)
            calls = zip(inputs, ours, seeds, results, strict=True)
            for number, (values, arguments, seed, (result, left)) in enumerate(calls, first):
                answered = case.model_copy(update={"outputs": case.outputs_of(number)})
                write_answer(answered, result, named(values, state), arguments, subject, (seed, left), self.earlier)
                self.earlier.take(result)
                holdings = held(subject.model, subject.device)
                self.copies.append(guard.copies.are_most(result, (arguments, holdings)))
            if described(given) != place:
                self.rules.append("changes its inputs: their shape or memory")
            if marked.items() - marks(subject.model, given).items():
                self.rules.append("changes its inputs or its module: who asks for gradients, or the mode of training")
            self.last = ours[-1]
        finally:
            guard.copies.clear()
            self.rules += guard.rules
            self.calls |= set(guard.calls)
        return max(1, guard.seen)

    def _laid_out(self, inputs: Sequence[list[Any]]) -> list[list[Any]]:
        """Arguments in memory of their own for each call of a row, but for what users' buffers do.

        Where one set comes twice at once, the second call finds it where the first did; and the first call of a row
        finds its own where the row before had others, so that who remembers addresses has wrong data or leaves it out.
        """
        case, given = self.case, list[list[Any]]()
        may_come_again = not (case.apart or case.updates or self.subject.has_changed or case.placed or self.rules)
        for number, values in enumerate(inputs):
            if may_come_again and number and values is inputs[number - 1]:
                given.append(transform(given[-1], torch.Tensor.detach))
            elif may_come_again and not number and self.last:
                given.append(overwritten(self.last, values))
            else:
                given.append(placed(fresh(values), case.placed, self.walls))
        return given


def run(subject: Subject, case: Case, copied: list[bool]) -> CaseReport:
    """Run one case; `copied` takes whether all that it did was to have the library copy."""
    found, error = _Run(subject, case), ""
    try:
        with threads_for(inputs_of(case).stat().st_size):
            (alone(found.all_rows) if case.elsewhere else found.all_rows())
    except Exception as raised:
        error = said(raised)
    copied.append(not error and all(found.copies))
    if found.walls.broken() or subject.walls.broken():
        found.rules.append("writes beyond a tensor")
    return CaseReport(
        name=case.name,
        finished=not error,
        error=error,
        forbidden_calls=tuple(sorted(found.calls)),
        broken_rules=tuple(found.rules),
    )


def write_answer(
    case: Case,
    result: Any,
    before: dict[str, Any],
    arguments: Sequence[Any],
    subject: Subject,
    seeds: tuple[int | None, int | None] = (None, None),
    earlier: Earlier | None = None,
) -> None:
    """Write what a call gave, with what is not as it was `before`, and in whose memory it lies.

    `seeds`: the generator's, before it and after. `earlier`: answers that are held meanwhile.
    """
    device = subject.device
    lent.add(device)
    after = named(arguments, held(subject.model, device))
    for values, seed in zip((before, after), seeds, strict=True):
        if seed is not None:
            values[GENERATOR] = torch.tensor(seed, device=device.name)
    different = {name: value for name, value in changed(before, after).items() if name in before}
    subject.has_changed = subject.has_changed or any(name.startswith("argument ") for name in different)
    described(result)  # which refuses what runs code of its own when it is looked at
    leaves = flatten(result)
    shares = shared(places(leaves), places(after), earlier.places if earlier else ()) + peculiar(leaves, device.name)
    write(case.outputs, described({"result": result, "changed": different, "shares": shares}), device)


def _call(
    subject: Subject, calls: Sequence[list[Any]], seeds: Sequence[int | None], guard: Guard, count: int
) -> list[tuple[Any, int | None]]:
    """What the model gives on each of some arguments, in calls in a row under one guard, with so many threads.

    Beside it stands the seed that it has left, where it was given one.
    """
    compare_harness, modes = subject.watch(), Modes(count)
    with torch.set_grad_enabled(subject.is_frozen), threads(count):
        settings = Settings(seeded=any(seed is not None for seed in seeds))
        try:
            with guard:
                results = [_seeded(subject, arguments, seed) for arguments, seed in zip(calls, seeds, strict=True)]
                returned = AsReturned(results[0][0] if len(results) == 1 else None)
                subject.device.synchronize()
        finally:
            different = settings.restore()
            compare_harness()
    guard.rules += (CHANGES_ROUNDING,) if modes.restore() else ()
    guard.rules += (ANSWERS_LATE,) if returned.has_changed() else ()
    guard.rules += tuple(f"{CHANGES_A_SETTING}: {name}" for name in different)
    return results


def _seeded(subject: Subject, arguments: list[Any], seed: int | None) -> tuple[Any, int | None]:
    """What the model gives, with torch's generator of the host set to a seed first, and what that is set to then."""
    if seed is None:
        return subject.model(*arguments), None
    torch.default_generator.manual_seed(seed)
    result = subject.model(*arguments)
    return result, torch.default_generator.initial_seed() & LARGEST
