"""Which candidate is judged next, after some that were refused or could not be built."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from akg_core.judge.records import Verdict
from akg_core.stages.stages import Candidate, Design

ATTEMPTS = 3
"""Candidates that are tried when the judge refuses the first."""


def following(
    candidates: Iterable[Candidate], refused: Sequence[tuple[Candidate, Verdict]], unbuilt: Sequence[Design]
) -> Candidate | None:
    """The one to judge next; None when there is none, or enough were tried.

    It is the first of another design, then of the same: what is wrong with one schedule is mostly wrong with all.
    So it is with designs that round factors, where that is mostly not exact enough, when there is one try left, and
    when one that does not was refused.
    """
    if len(refused) >= ATTEMPTS:
        return None
    tried = [(each.design, each.instead_of or each.schedule) for each, _ in refused]
    designs = [design for design, _ in tried]
    last = len(refused) == ATTEMPTS - 1
    inexact = any(not each.design.sketch.rounds for each, _ in refused)
    coarse = {each.design.sketch.rounds for each, why in refused if last or _is_mostly_wrong(why)} - {""}

    def doubts(candidate: Candidate) -> tuple[bool, bool]:
        rounds = candidate.design.sketch.rounds
        return candidate.design in designs, rounds in coarse or bool(rounds and inexact)

    waiting = list[Candidate]()
    for candidate in candidates:
        if (candidate.design, candidate.schedule) in tried:
            continue
        if candidate.artifact is None and candidate.design in unbuilt:
            continue
        if not any(doubts(candidate)):  # those after it may not even be designed
            return candidate
        waiting.append(candidate)
    return min(waiting, key=doubts, default=None)


def _is_mostly_wrong(verdict: Verdict) -> bool:
    """Whether a kernel is wrong in more cases than it is right in."""
    return verdict.status == "incorrect" and 2 * sum(case.ok for case in verdict.cases) < max(1, len(verdict.cases))
