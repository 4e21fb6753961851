"""Judges a kernel: runs it on every prepared case in a confined process, and compares what it wrote.

The plugin runs, core judges. Nothing that the candidate's process says makes a kernel correct; only outputs that the
reference process compared do.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from akg_core.judge.candidate.health import require_device
from akg_core.judge.candidate.session import CandidateSession
from akg_core.judge.cure import cure
from akg_core.judge.records import (
    FEWEST_CALLS,
    ORDINARY,
    PATTERNS,
    CaseVerdict,
    Draw,
    Preparation,
    Verdict,
    VerdictStatus,
    different,
)
from akg_core.judge.reference.memory_estimate import answers_at_once, has_work, is_large
from akg_core.judge.reference.prepare import Prepared
from akg_core.judge.source.rules import COPIES_ONLY
from akg_core.records import Artifact, Case, CaseReport, RunReport, Target
from akg_core.worker.limits import JobResult, is_harness_changed, is_library_run

if TYPE_CHECKING:
    from akg_core.worker.pool import Pool

_NAMED = 6  # of what it changes
_GLANCE = 0.25  # seconds between two looks at how far a kernel is
_ENDINGS: dict[str, VerdictStatus] = {"timed out": "timed out"}
_PLUGIN_ERRORS: dict[str, VerdictStatus] = {"Unsupported": "unsupported", "ToolchainError": "unavailable"}


def verify(
    pool: Pool,
    prepared: Prepared,
    plugin: str,
    artifact: Artifact,
    target: Target,
    *,
    seconds: float = 0.0,
    simulated: bool = False,
) -> Verdict:
    """Load a kernel and judge it; arguments are those of an `CandidateSession`, errors those of `examine`."""
    return examine(CandidateSession(pool, prepared, plugin, artifact, target, seconds=seconds, simulated=simulated))


def examine(kernel: CandidateSession, tell: Callable[[str], None] = lambda said: None) -> Verdict:
    """Run a kernel on all prepared cases and judge it. It is closed at the end. `tell` hears how far that is.

    Raises TaskError when the reference itself does not run, and ToolchainError when the device does not work any more
    after a kernel that crashed or hung; whatever else the kernel does becomes a verdict.
    """
    began, prepared = time.monotonic(), kernel.prepared
    with kernel:
        if kernel.rule:
            reason = f"Its Python text is not what a kernel's may be ({kernel.rule})."
            refused = Verdict(status="cheating", reason=reason, rule=kernel.rule)
            return refused.model_copy(update={"cure": cure(refused, kernel.plugin)})

        given: list[Case] = []

        def cases() -> list[Case]:
            if not given:
                prepared.lay_out()
                given.extend(_cases(kernel, prepared.ready()))
            return given

        with _told(given, tell):
            judging, result = _run(kernel, cases)
        preparation, verdict = judging.preparation, judging.verdict()
    if prepared.lends:
        prepared.rest()
        if verdict.status in ("crashed", "timed out"):
            require_device(kernel.pool, prepared.where)
    return verdict.model_copy(
        update={
            "cure": cure(verdict, kernel.plugin),
            "protections": result.protections,
            "seed": prepared.seed,
            "seeds": tuple(draw.seed for draw in preparation.draws),
            "notes": preparation.notes,
            "simulated": kernel.simulated,
            "log": result.log,
            "seconds": time.monotonic() - began,
        }
    )


@contextlib.contextmanager
def _told(cases: Sequence[Case], tell: Callable[[str], None]) -> Iterator[None]:
    """Meanwhile, tell which of the cases is being run, once there are any, by which outputs are there."""
    ended = threading.Event()

    def watch() -> None:
        said = -1
        while not ended.wait(_GLANCE):
            done = sum(case.outputs.exists() for case in cases)
            if said != done < len(cases):
                tell(f"case {done + 1} of {len(cases)}")
                said = done

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def _left_out(preparation: Preparation, drawn: Sequence[Draw]) -> list[str]:
    """Which of the prepared cases are not run, if any."""
    rest = preparation.draws[len(drawn) :]
    return [f"Left out, to simulate less: {', '.join(draw.name for draw in rest)}."] if rest else []


def _run(kernel: CandidateSession, cases: Callable[[], list[Case]]) -> tuple[_Judging, JobResult]:
    """Run a kernel on the cases, which are asked for once it is loaded, and compare what it wrote meanwhile.

    All are run, then compared; on tensors that are large for a device a few at a time, so that no more answers than
    these are held. The process hears of the others meanwhile, for it can compile nothing any more once it has run some.
    """
    prepared, judging, done = kernel.prepared, None, 0

    def group() -> list[Case]:
        at_once = answers_at_once(prepared.ready().output_bytes)
        return cases()[done : done + at_once] if _is_large(kernel) else cases()

    def due() -> list[Case]:
        now = group()
        later = (case.model_copy(update={"upcoming": True}) for case in cases()[done + len(now) :])
        return [*now, *later]

    while True:
        with kernel.run(due) as result:
            judging = judging or _Judging(kernel, cases())
            ran = group()
            judging.take(ran, result)
        done += len(ran)
        if judging.ended or done == len(cases()):
            return judging, result
        prepared.rest()


def _cases(kernel: CandidateSession, preparation: Preparation) -> list[Case]:
    """The draws' cases with outputs in the kernel's folder, each with another poison; last the first case once more.

    That is many calls in a row, on it and on other inputs, in an order that nobody knows beforehand. On tensors that
    are large for a device these are two cases of one call, on each of two inputs.
    """
    first = preparation.draws[0]
    is_large = _is_large(kernel)
    count = FEWEST_CALLS - 1 if is_large else kernel.calls(preparation)
    order = [number % min(different(count), len(preparation.series)) for number in range(count)]
    secrets.SystemRandom().shuffle(order)
    given = [draw.case for draw in preparation.series if draw.case.inputs]
    series = tuple(case.inputs for case in given)
    seeds = tuple(seed for case in given for seed in case.seeds)
    again = {"series": series, "apart": preparation.apart or is_large, "seeds": seeds}
    rows = [(which,) for which in order] if is_large else [tuple(order)]
    name = f"{first.name}, again"
    cases = [draw.case for draw in kernel.draws()]
    for number, row in enumerate(rows):
        numbered = f"{name}, {number + 1}" if is_large else name
        cases.append(first.case.model_copy(update=again | {"name": numbered, "order": row}))
    # The first memory that the first case takes holds ordinary numbers, then each case begins with the next pattern.
    poisons = [PATTERNS * secrets.randbelow(1 << 28) + ORDINARY - 1 + number for number, _ in enumerate(cases)]
    for number in range(len(kernel.draws()), len(cases)):
        poisons[number] = poisons[0] ^ 1  # whatever the first was, another pattern
    return [
        case.model_copy(update={"outputs": kernel.folder / f"case-{index}", "poison": poison})
        for index, (case, poison) in enumerate(zip(cases, poisons, strict=True))
    ]


def _is_large(kernel: CandidateSession) -> bool:
    """Whether inputs and answers of several calls had better not be held at once on the device."""
    preparation = kernel.prepared.ready()
    return kernel.prepared.lends and is_large(preparation.input_bytes, preparation.output_bytes)


class _Judging:
    """What is found of a kernel while its cases are run; `ended`: by what the run ended before all of them, if so."""

    def __init__(self, kernel: CandidateSession, cases: list[Case]) -> None:
        self._prepared, self._cases, drawn = kernel.prepared, cases, kernel.draws()
        ready = self._prepared.ready()
        self.preparation = ready.model_copy(update={"draws": drawn, "notes": (*ready.notes, *_left_out(ready, drawn))})
        self.ended: Verdict | None = None
        self._judged: list[CaseVerdict] = []
        self._same: bool | None = None
        self._copies = has_work(self._prepared.task)  # only, so far
        self._left_open: tuple[str, ...] = ()

    def take(self, group: list[Case], result: JobResult) -> None:
        """Judge the next cases by what their run gave."""
        self.ended = self._ending(result)
        if self.ended:
            return
        report = RunReport(**result.unwrap())
        self._left_open = report.left_open
        self._copies = self._copies and any(COPIES_ONLY in entry.broken_rules for entry in report.cases)
        reports = {entry.name: entry for entry in _without_rule(report, COPIES_ONLY).cases}
        for case in group:
            draw = self.preparation.draws[0 if case.order else len(self._judged)]
            thorough = all(verdict.ok for verdict in self._judged)
            verdict, same = _judge(self._prepared, self.preparation, draw, case, reports.get(case.name), thorough)
            self._same = same if self._same is None or same is None else self._same and same
            self._judged.append(verdict)

    def verdict(self) -> Verdict:
        """Over all cases: one that cheats or is wrong decides."""
        if self.ended:
            return self.ended
        if self._copies:
            broken = {"ok": False, "reason": f"it {COPIES_ONLY}", "rule": COPIES_ONLY}
            self._judged[0] = self._judged[0].model_copy(update=broken)
        whole = _whole(tuple(self._judged), self.preparation, self._same)
        return whole.model_copy(update={"left_open": self._left_open})

    def _ending(self, result: JobResult) -> Verdict | None:
        if result.status != "ok":
            return _ended(self._cases, result)
        try:
            report = RunReport(**result.unwrap())
        except ValidationError:
            return Verdict(status="crashed", reason="It answered something that is no report of a run.")
        if report.error and report.rule:
            return Verdict(status="cheating", reason=f"It {report.rule}, as it is loaded.", rule=report.rule)
        if report.error:
            return Verdict(status="crashed", reason=f"The kernel did not load: {report.error}.")
        if report.lost:
            place = report.cases[-1].name if report.cases else self._cases[len(self._judged)].name
            reason = f"The device stopped its work: {report.lost}. The case was: {place}."
            return Verdict(status="crashed", reason=reason)
        return None


def _without_rule(report: RunReport, rule: str) -> RunReport:
    """A report that does not say of any case that this rule was broken."""
    kept = [tuple(broken for broken in entry.broken_rules if broken != rule) for entry in report.cases]
    entries = [
        entry.model_copy(update={"broken_rules": rules}) for entry, rules in zip(report.cases, kept, strict=True)
    ]
    return report.model_copy(update={"cases": tuple(entries)})


def _ended(cases: list[Case], result: JobResult) -> Verdict:
    """The verdict on a run that ended without a report."""
    if result.error is not None:
        status = _PLUGIN_ERRORS.get(result.error["type"], "crashed")
        reason = f"{result.error['message']} {result.error['cure']}".strip()
        return Verdict(status=status, reason=reason if status != "crashed" else result.reason)
    if is_harness_changed(result.reason):
        return Verdict(status="cheating", reason="It changes the harness.", rule="changes the harness")
    if is_library_run(result.reason):
        rule = "runs machine code of a library"
        return Verdict(status="cheating", reason=f"It {rule}, which computes for it.", rule=rule)
    unfinished = next((case.name for case in cases if not case.outputs.exists()), cases[-1].name)
    return Verdict(status=_ENDINGS.get(result.status, "crashed"), reason=f"{result.reason} The case was: {unfinished}.")


def _judge(
    prepared: Prepared,
    preparation: Preparation,
    draw: Draw,
    case: Case,
    report: CaseReport | None,
    thorough: bool,
) -> tuple[CaseVerdict, bool | None]:
    """One case's verdict, and whether all calls on its inputs gave the same bits (None: there was but one)."""

    def verdict(reason: str = "", **fields: Any) -> CaseVerdict:
        return CaseVerdict(
            name=case.name, kind=draw.kind, state=draw.state, sizes=draw.sizes, ok=not reason, reason=reason, **fields
        )

    if report is None:
        return verdict("it was not run"), None
    if report.broken_rules:
        return verdict(f"it {report.broken_rules[0]}", rule=report.broken_rules[0]), None
    if report.forbidden_calls:
        rule = f"library call: {', '.join(report.forbidden_calls)}"
        return verdict(f"it calls the library ({', '.join(report.forbidden_calls)}) to compute", rule=rule), None
    if not report.finished:
        return verdict("" if draw.beyond else f"it raised {report.error}"), None
    if case.order:
        calls = [(preparation.series[which].name, case.outputs_of(call)) for call, which in enumerate(case.order)]
        comparison = prepared.compare_calls(calls, noise=thorough)
    else:
        comparison = prepared.compare(draw.name, case.outputs, noise=thorough)
    place = f" in call {comparison.call + 1} of {len(calls)}" if case.order else ""
    if comparison.error:
        return verdict(f"its outputs{place} cannot be read: {comparison.error}"), None
    if comparison.unexpected:
        names = ", ".join(comparison.unexpected[:_NAMED])
        return verdict(
            f"it changes {names}{place}", rule="changes its inputs", outputs=comparison.outputs
        ), comparison.same
    wrong = next((output for output in comparison.outputs if not output.ok), None)
    reason = f"{wrong.name}{_spell(wrong.where)}{place}: {wrong.reason}" if wrong else ""
    return verdict(reason, outputs=comparison.outputs), comparison.same


def _whole(cases: tuple[CaseVerdict, ...], preparation: Preparation, same: bool | None) -> Verdict:
    """The verdict over all cases: one that cheats or is wrong decides."""
    outputs = [(case, output) for case in cases for output in case.outputs]
    measured = [pair for pair in outputs if pair[1].worst_error is not None]
    worst = max(measured, key=lambda pair: (pair[1].worst_error or 0) / (pair[1].allowed_error or 1), default=None)
    cheating = next((case for case in cases if case.rule), None)
    wrong = next((case for case in cases if not case.ok), None)
    status: VerdictStatus
    if cheating:
        status, reason = "cheating", f"In the case {cheating.name}, {cheating.reason}."
    elif preparation.random:
        status = "unverified"
        reason = "The same call gives other values than before: random numbers, or elements that are left unset."
    elif wrong:
        count = sum(not case.ok for case in cases)
        status, reason = "incorrect", f"In {count} of {len(cases)} cases, first {wrong.name}: {wrong.reason}."
    elif preparation.missing:
        status, reason = "unverified", f"Cases that are needed could not be prepared: {'; '.join(preparation.missing)}."
    else:
        status, reason = "correct", f"All {len(cases)} cases are right."
    return Verdict(
        status=status,
        reason=reason,
        rule=cheating.rule if cheating else "",
        cases=cases,
        worst_error=worst[1].worst_error if worst else None,
        where=f"{worst[0].name}: {worst[1].name}{_spell(worst[1].where)}" if worst else "",
        accuracy_ratio=max((output.ratio for _, output in outputs if output.ratio is not None), default=None),
        kernelbench=bool(outputs) and all(output.kernelbench for _, output in outputs),
        deterministic=same,
    )


def _spell(where: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, where))}]" if where else ""
