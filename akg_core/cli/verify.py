"""`akg-core verify`: judge a kernel that exists, generated or written by hand."""

from __future__ import annotations

from akg_core.cli import files
from akg_core.cli.job import Job
from akg_core.cli.options import Kernel
from akg_core.cli.spread import spread


@spread(Job, left_out=("sketch", "dynamic", "repeatable", "no_baseline"))
def verify(job: Job, kernel: Kernel) -> None:
    """Judge a kernel that exists, a hand-written one too.

    What was found is kept in runs/<id>/.
    """
    from akg_core.pipeline import jobs

    artifact = files.kernel(kernel)
    job.carry_out(lambda request, folder, watch: jobs.verify(request, artifact, folder, watch), "verify")
