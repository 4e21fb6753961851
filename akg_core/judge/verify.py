"""Judges a kernel: runs it on every prepared case in a confined process, and compares what it wrote.

The plugin runs, core judges. Nothing that the candidate's process says makes a kernel correct; only outputs that the
reference process compared do.
"""

from __future__ import annotations

import functools
import secrets
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from akg_core.judge.examinee import Examinee
from akg_core.judge.health import require_device
from akg_core.judge.prepare import Prepared
from akg_core.judge.records import ORDINARY, PATTERNS, CaseVerdict, Draw, Preparation, Verdict, VerdictStatus
from akg_core.records import Artifact, Case, CaseReport, RunReport, Target
from akg_core.worker.limits import JobResult, is_harness_changed

if TYPE_CHECKING:
    from akg_core.worker.pool import Pool

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
    """Load a kernel and judge it; arguments are those of an `Examinee`, errors those of `examine`."""
    return examine(Examinee(pool, prepared, plugin, artifact, target, seconds=seconds, simulated=simulated))


def examine(kernel: Examinee) -> Verdict:
    """Run a kernel on all prepared cases and judge it. It is closed at the end.

    Raises TaskError when the reference itself does not run, and ToolchainError when the device does not work any more
    after a kernel that crashed or hung; whatever else the kernel does becomes a verdict.
    """
    began, prepared = time.monotonic(), kernel.prepared
    with kernel:
        if kernel.rule:
            reason = f"Its Python text names what no kernel may use ({kernel.rule})."
            return Verdict(status="cheating", reason=reason, rule=kernel.rule)

        @functools.cache
        def cases() -> list[Case]:
            return _cases(prepared.ready().draws, kernel.folder)

        with kernel.run(cases) as result:
            preparation = prepared.ready()
            verdict = _verdict(prepared, preparation, cases(), result)
    if prepared.lends:
        prepared.rest()
        if verdict.status in ("crashed", "timed out"):
            require_device(kernel.pool, prepared.where)
    return verdict.model_copy(
        update={
            "protections": result.protections,
            "seeds": tuple(draw.seed for draw in preparation.draws),
            "notes": preparation.notes,
            "simulated": kernel.simulated,
            "log": result.log,
            "seconds": time.monotonic() - began,
        }
    )


def _cases(draws: tuple[Draw, ...], folder: Path) -> list[Case]:
    """The draws' cases with outputs in `folder`, each with another poison; last the first case once more."""
    again = draws[0].case.model_copy(update={"name": draws[0].name + ", again"})
    cases = [*(draw.case for draw in draws), again]
    # The first memory that the first case takes holds ordinary numbers, then each case begins with the next pattern.
    poisons = [PATTERNS * secrets.randbelow(1 << 28) + ORDINARY - 1 + number for number, _ in enumerate(cases)]
    poisons[-1] = poisons[0] ^ 1  # whatever the first was, another pattern
    return [
        case.model_copy(update={"outputs": folder / f"case-{index}", "poison": poison})
        for index, (case, poison) in enumerate(zip(cases, poisons, strict=True))
    ]


def _verdict(prepared: Prepared, preparation: Preparation, cases: list[Case], result: JobResult) -> Verdict:
    if result.status != "ok":
        return _ended(cases, result)
    try:
        report = RunReport(**result.unwrap())
    except ValidationError:
        return Verdict(status="crashed", reason="It answered something that is no report of a run.")
    if report.error:
        return Verdict(status="crashed", reason=f"The kernel did not load: {report.error}.")
    if report.lost:
        place = report.cases[-1].name if report.cases else cases[0].name
        return Verdict(status="crashed", reason=f"The device stopped its work: {report.lost}. The case was: {place}.")
    reports = {entry.name: entry for entry in report.cases}
    draws = (*preparation.draws, preparation.draws[0])
    judged: list[CaseVerdict] = []
    for draw, case in zip(draws, cases, strict=True):
        same_as = cases[0].outputs if case is cases[-1] else None
        thorough = all(verdict.ok for verdict in judged)
        verdict, same = _judge(prepared, draw, case, reports.get(case.name), same_as, thorough)
        judged.append(verdict)
    return _whole(tuple(judged), preparation, same)


def _ended(cases: list[Case], result: JobResult) -> Verdict:
    """The verdict on a run that ended without a report."""
    if result.error is not None:
        status = _PLUGIN_ERRORS.get(result.error["type"], "crashed")
        reason = f"{result.error['message']} {result.error['cure']}".strip()
        return Verdict(status=status, reason=reason if status != "crashed" else result.reason)
    if is_harness_changed(result.reason):
        return Verdict(status="cheating", reason="It changes the harness.", rule="changes the harness")
    unfinished = next((case.name for case in cases if not case.outputs.exists()), cases[-1].name)
    return Verdict(status=_ENDINGS.get(result.status, "crashed"), reason=f"{result.reason} The case was: {unfinished}.")


def _judge(
    prepared: Prepared, draw: Draw, case: Case, report: CaseReport | None, same_as: Path | None, thorough: bool
) -> tuple[CaseVerdict, bool | None]:
    """One case's verdict, and whether its outputs hold the same bits as those in `same_as`."""

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
        return verdict(f"it raised {report.error}"), None
    comparison = prepared.compare(draw.name, case.outputs, same_as=same_as, noise=thorough)
    if comparison.error:
        return verdict(f"its outputs cannot be read: {comparison.error}"), None
    if comparison.unexpected:
        names = ", ".join(comparison.unexpected)
        return verdict(f"it changes {names}", rule="changes its inputs", outputs=comparison.outputs), comparison.same
    wrong = next((output for output in comparison.outputs if not output.ok), None)
    reason = f"{wrong.name}{_spell(wrong.where)}: {wrong.reason}" if wrong else ""
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
        status, reason = "unverified", "The reference draws random numbers, so its answers cannot be compared with."
    elif wrong:
        count = sum(not case.ok for case in cases)
        status, reason = "incorrect", f"In {count} of {len(cases)} cases, first {wrong.name}: {wrong.reason}."
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
