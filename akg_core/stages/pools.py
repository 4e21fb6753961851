"""Which jobs run in which Python: those that need a plugin's toolchain in its environment, all others in core's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from akg_core import environment
from akg_core.errors import AkgError, ToolchainError
from akg_core.records import Availability, Target
from akg_core.registry import Plugin, environment_of, hooks
from akg_core.stages.stage_jobs import probe_job
from akg_core.stages.warm import TOOLCHAIN_JOBS, WARM, warm_for, warm_in_environment

if TYPE_CHECKING:
    from akg_core.worker.pool import Pool


def pool_for(plugin: str) -> Pool:
    """Workers for all jobs of one plugin. Raises PluginError, ToolchainError where its environment is not set up."""
    from akg_core.worker.pool import Pool

    needed = environment_of(plugin)
    if not needed:
        return Pool(warm=warm_for(plugin))
    made = environment.require(plugin, needed)
    theirs = Pool(warm=warm_in_environment(plugin, TOOLCHAIN_JOBS), python=made.python, path=made.search_path())
    return Pool(warm=WARM, elsewhere=dict.fromkeys(TOOLCHAIN_JOBS, theirs))


def probe(plugin: str, target: Target) -> Availability:
    """What a plugin finds on this machine, asked where its toolchain is, by a process without other workers."""
    from akg_core.worker.pool import Pool

    needed = environment_of(plugin)
    if not needed:
        available: Availability = hooks(plugin).akg_probe(target=target)
        return available
    try:
        made = environment.require(plugin, needed)
    except ToolchainError as missing:
        return Availability(can_compile=False, can_run=False, reason=missing.message, cure=missing.cure)
    with Pool(warm=(), python=made.python, path=made.search_path()) as pool:
        return probe_job.on(pool)(plugin, target)


def here(plugin: Plugin) -> dict[str, Availability]:
    """What a loaded plugin finds on this machine, by backend; a probe that fails finds nothing, for that reason."""
    found: dict[str, Availability] = {}
    for backend in plugin.info.backends if plugin.info else ():
        try:
            found[backend] = probe(plugin.name, Target(backend=backend))
        except AkgError as error:
            found[backend] = Availability(can_compile=False, can_run=False, reason=error.message, cure=error.cure)
    return found
