"""Tasks of a benchmark that agents carry out: one after another, attempts side by side, within one budget."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from akg_core.agents.budget import Budget, BudgetSpent
from akg_core.agents.client import ModelFailed
from akg_core.agents.engine import Agenda
from akg_core.agents.records import Tally, Usage
from akg_core.bench.contest import Contest
from akg_core.bench.results import Engine
from akg_core.bench.suite import Problem
from akg_core.errors import UsageError
from akg_core.runs import RunFolder
from akg_core.stages.progress import Stage
from akg_core.stages.stages import Request
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
    asked: Sequence[tuple[Problem, Request, Path]],
    pool: Pool,
    agenda: Agenda,
    earlier: Iterable[Tally],
    say: Callable[[str], None],
) -> Iterator[Contest]:
    """The contests of tasks, each in its folder; none after the budget is spent, of which `earlier` ones took a part.

    What all tasks may cost, as the first lets it be estimated, is said before a model writes anything, and when most of
    the budget is gone. A task that the budget, or the endpoint, ended without a kernel is not among the contests, so
    that a later run has it again. Raises what the endpoint says when it gives no answers.
    """
    shared = Budget(agenda.limits, say)
    for tally in earlier:
        shared.add(Usage(read=tally.tokens), tally.dollars)
    agenda, watch = replace(agenda, tasks=len(asked), shared=shared), _first_estimate(say)
    for problem, request, folder in asked:
        try:
            shared.require()
        except BudgetSpent:
            return
        with closing(Contest(problem, request, pool, RunFolder(folder), watch)) as contest:
            contest.generate(agenda)
            if contest.tally:
                if isinstance(contest.error, BudgetSpent):
                    return
                if isinstance(contest.error, (UsageError, ModelFailed)):
                    raise contest.error
            yield contest


def _first_estimate(say: Callable[[str], None]) -> Callable[[Stage], None]:
    """Watches stages, and says the first estimate among them."""
    notes = list[str]()

    def watch(stage: Stage) -> None:
        if stage.name == "estimate" and stage.status == "done":
            notes.append(stage.note)
            if len(notes) == 1:
                say(f"An estimate: {stage.note}.")

    return watch
