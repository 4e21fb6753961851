"""Tasks of a benchmark that agents carry out: one after another, attempts side by side, within one budget."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from akg_core.agents.budget import BudgetSpent, Limits
from akg_core.agents.client import ModelFailed
from akg_core.agents.engine import Agenda
from akg_core.agents.records import Tally
from akg_core.bench.contest import Contest
from akg_core.bench.results import Engine
from akg_core.bench.suite import Problem
from akg_core.errors import UsageError
from akg_core.runs import RunFolder
from akg_core.stages import Request
from akg_core.worker.pool import Pool


def named(agenda: Agenda) -> Engine:
    """How a document of results names agents."""
    settings = agenda.settings
    models = dict.fromkeys([settings.model_for("design"), settings.model_for("code"), settings.model_for("decide")])
    return Engine(
        name="hybrid" if agenda.hybrid else "llm",
        models=tuple(models),
        attempts=agenda.attempts,
        without=tuple(sorted(agenda.without)),
    )


def contests(
    asked: Iterable[tuple[Problem, Request, Path]], pool: Pool, agenda: Agenda, earlier: Iterable[Tally]
) -> Iterator[Contest]:
    """The contests of tasks, each in its folder; none after the budget is spent, of which `earlier` ones took a part.

    A task that the budget, or the endpoint, ended without a kernel is not among them, so that a later run has it again.
    Raises what the endpoint says when it gives no answers.
    """
    tallies, began = [*earlier], time.monotonic()
    for problem, request, folder in asked:
        rest = left(agenda.limits, tallies, (time.monotonic() - began) / 60)
        if 0 in (rest.dollars, rest.tokens, rest.minutes):
            return
        with closing(Contest(problem, request, pool, RunFolder(folder))) as contest:
            contest.generate(replace(agenda, limits=rest))
            if contest.tally:
                tallies.append(contest.tally)
                if isinstance(contest.error, BudgetSpent):
                    return
                if isinstance(contest.error, (UsageError, ModelFailed)):
                    raise contest.error
            yield contest


def left(limits: Limits, tallies: Iterable[Tally], minutes: float) -> Limits:
    """What is left of a budget."""
    spent = [*tallies]
    dollars, tokens = sum(tally.dollars for tally in spent), sum(tally.tokens for tally in spent)
    return Limits(
        dollars=None if limits.dollars is None else max(0.0, limits.dollars - dollars),
        tokens=None if limits.tokens is None else max(0, limits.tokens - tokens),
        minutes=None if limits.minutes is None else max(0.0, limits.minutes - minutes),
    )
