"""`akg-core run`: generate, compile, verify, tune and time a kernel for a reference file."""

from __future__ import annotations

import dataclasses
from functools import partial

from akg_core.cli import agents
from akg_core.cli.job import Job
from akg_core.cli.options import ArchiveUrl, TuneSeconds
from akg_core.cli.spread import spread


@spread(Job, agents.Models)
def run(job: Job, models: agents.Models, tune: TuneSeconds = None, archive: ArchiveUrl = "") -> None:
    """Generate, compile, verify and time a kernel, after a search among schedules where the plugin advises one.

    With --engine llm a model writes the kernel, with hybrid it tries to beat the builtin engine's. Prints the stages,
    the verdict and the medians; everything is kept in runs/<id>/.
    """
    if models.engine == "builtin":
        from akg_core.pipeline.jobs import Tuning
        from akg_core.pipeline.jobs import run as work

        models.require_none()
        job.carry_out(partial(work, tuning=Tuning(tune, archive)))
    from akg_core.agents.engine import run as by_agents

    job = dataclasses.replace(job, out=models.folder(job.out))
    agenda = models.agenda()
    job.carry_out(partial(by_agents, agenda=agenda), after_interrupt=agents.GOES_ON)
