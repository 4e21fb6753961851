"""`akg-core tune`: search the schedule space and keep the best verified kernel."""

from __future__ import annotations

from functools import partial

from akg_core.cli.job import Job, job_command
from akg_core.cli.options import ArchiveUrl, Seconds


@job_command()
def tune(job: Job, seconds: Seconds = 120.0, archive: ArchiveUrl = "") -> None:
    """Search schedules and keep the best verified kernel.

    Every measurement is stored at once: a search that was ended, however, goes on where it stopped.
    """
    from akg_core.search.archive import default_url, shown
    from akg_core.search.tune import tune as search

    url = archive or default_url()
    goes_on = f"The measurements are in {shown(url)}; the same command goes on from there."
    job.carry_out(partial(search, seconds=seconds, archive_url=url), "tune", after_interrupt=goes_on)
