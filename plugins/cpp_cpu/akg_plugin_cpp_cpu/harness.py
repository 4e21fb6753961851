"""Running and timing kernels in a worker process: core's harness for Python modules does all of it.

Threads need no care here: kernel.so and torch share one libgomp (kernel.so asks for libgomp.so.1, which torch has
loaded already), so that torch.set_num_threads holds for kernels too.
"""

from __future__ import annotations

from akg_core.plugin import Artifact, Case, ProfileReport, RunReport, TimingPlan
from akg_core.plugin.harness import MachineCode, load_entry, profile_case, run_cases
from akg_plugin_cpp_cpu.compile import binding_name


def run(artifact: Artifact, cases: tuple[Case, ...]) -> RunReport:
    """Run the cases; outputs go to their files."""
    return run_cases(lambda: load_entry(artifact), cases, code=machine_code(artifact))


def profile(artifact: Artifact, case: Case, plan: TimingPlan) -> ProfileReport:
    """Time one case by the clock of this process; a kernel has ended when its call returns."""
    return profile_case(lambda: load_entry(artifact), case, plan, code=machine_code(artifact))


def machine_code(artifact: Artifact) -> MachineCode:
    """What of an artifact is machine code: its shared libraries, wherever in its folder, of which nobody
    has read a line, and our binding.

    Not those of a folder below it with a binding of its own, another kernel's: what is not loaded here cannot be later.
    """
    binding = artifact.folder / binding_name()
    others = {path.parent for path in artifact.folder.rglob(binding.name)} - {artifact.folder}
    found = (path for path in artifact.folder.rglob("*.so") if path != binding and path.is_file())
    libraries = sorted(path for path in found if others.isdisjoint(path.parents))
    return MachineCode(tuple(libraries), tuple(path for path in (binding,) if path.exists()))
