"""What `akg_run` and `akg_profile` hand over to, in a worker process: this module imports torch.

    return run_cases(lambda: load_entry(artifact), cases)
    return profile_case(lambda: load_entry(artifact), case, plan)

`MachineCode` names the shared libraries that a kernel on the host opens.
"""

from akg_core.judge.candidate.harness import load_entry, profile_case, run_cases
from akg_core.judge.source.native import MachineCode

__all__ = ["MachineCode", "load_entry", "profile_case", "run_cases"]
