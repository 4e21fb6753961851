"""`akg-core tune`: search the schedule space and keep the best verified kernel."""

from __future__ import annotations

from functools import partial

from akg_core.cli.job import Job
from akg_core.cli.options import ArchiveUrl, Seconds
from akg_core.cli.spread import spread


@spread(Job)
def tune(job: Job, seconds: Seconds = 120.0, archive: ArchiveUrl = "") -> None:
    """Search schedules and keep the best verified kernel.

    Every measurement is stored at once: a search that was ended, however, goes on where it stopped.
    """
    from akg_core.pipeline.jobs import Tuning, run
    from akg_core.search.archive import default_url, shown

    goes_on = f"The measurements are in {shown(archive or default_url())}; the same command goes on from there."
    job.carry_out(partial(run, tuning=Tuning(seconds, archive, more=True)), "tune", after_interrupt=goes_on)
