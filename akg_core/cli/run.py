"""`akg-core run`: generate, compile, verify and time a kernel for a reference file."""

from __future__ import annotations

from akg_core.cli.job import Job, job_command


@job_command()
def run(job: Job) -> None:
    """Generate, compile, verify and time a kernel.

    Prints the stages, the verdict and the medians; everything is kept in runs/<id>/.
    """
    from akg_core import pipeline

    job.carry_out(pipeline.run)
