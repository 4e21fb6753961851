"""`akg-core run`: generate, compile, verify, tune and time a kernel for a reference file."""

from __future__ import annotations

import dataclasses
from functools import partial

from akg_core.cli import agents
from akg_core.cli.job import Job, job_command
from akg_core.cli.options import ArchiveUrl, TuneSeconds
from akg_core.errors import UsageError


@job_command()
def run(
    job: Job,
    tune: TuneSeconds = None,
    archive: ArchiveUrl = "",
    engine: agents.Engine = "builtin",
    model: agents.Model = "",
    base_url: agents.BaseUrl = "",
    attempts: agents.Attempts = 1,
    budget_usd: agents.BudgetUsd = None,
    budget_tokens: agents.BudgetTokens = None,
    budget_minutes: agents.BudgetMinutes = None,
    without: agents.Without = None,
    replay: agents.Replay = None,
    resume: agents.Resume = None,
    no_memory: agents.NoMemory = False,
) -> None:
    """Generate, compile, verify and time a kernel, after a search among schedules where the plugin advises one.

    With --engine llm a model writes the kernel, with hybrid it tries to beat the builtin engine's. Prints the stages,
    the verdict and the medians; everything is kept in runs/<id>/.
    """
    if engine == "builtin":
        from akg_core.jobs import Tuning
        from akg_core.jobs import run as work

        given = {"--model": model, "--replay": replay, "--resume": resume, "--without": without}
        if named := next((name for name, value in given.items() if value), ""):
            raise UsageError(f"{named} is for models.", "Give --engine llm or --engine hybrid with it.")
        job.carry_out(partial(work, tuning=Tuning(tune, archive)))
    from akg_core.agents.engine import run as by_agents

    agenda = agents.agenda(
        hybrid=engine == "hybrid",
        model=model,
        base_url=base_url,
        attempts=attempts,
        dollars=budget_usd,
        tokens=budget_tokens,
        minutes=budget_minutes,
        without=without,
        replay=replay,
        memory=not no_memory,
    )
    job = dataclasses.replace(job, out=resume or job.out)
    job.carry_out(partial(by_agents, agenda=agenda), after_interrupt="--resume with that folder goes on.")
