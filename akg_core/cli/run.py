"""`akg-core run`: generate, compile, verify, tune and time a kernel for a reference file."""

from __future__ import annotations

from functools import partial

from akg_core.cli.job import Job, job_command
from akg_core.cli.options import ArchiveUrl, TuneSeconds


@job_command()
def run(job: Job, tune: TuneSeconds = None, archive: ArchiveUrl = "") -> None:
    """Generate, compile, verify and time a kernel, after a search among schedules where the plugin advises one.

    Prints the stages, the verdict and the medians; everything is kept in runs/<id>/.
    """
    from akg_core.jobs import Tuning
    from akg_core.jobs import run as work

    job.carry_out(partial(work, tuning=Tuning(tune, archive)))
