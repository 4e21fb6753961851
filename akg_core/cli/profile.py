"""`akg-core profile`: time a kernel that exists against eager and torch.compile."""

from __future__ import annotations

from akg_core.cli import files
from akg_core.cli.job import Job
from akg_core.cli.options import Kernel
from akg_core.cli.spread import spread


@spread(Job, left_out=("sketch", "dynamic", "repeatable"))
def profile(job: Job, kernel: Kernel) -> None:
    """Time a kernel against eager and torch.compile.

    The samples are interleaved and kept in runs/<id>/. Whether the kernel is correct is for `verify` to say.
    """
    from akg_core.pipeline import jobs

    artifact = files.kernel(kernel)
    job.carry_out(lambda request, folder, watch: jobs.profile(request, artifact, folder, watch), "profile")
