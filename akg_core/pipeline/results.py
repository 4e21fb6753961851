"""What a run found, and what the compiler told of its kernels."""

from __future__ import annotations

import importlib.metadata
import json
import platform

from pydantic import Field

import akg_core
from akg_core.judge.records import Timing, Verdict
from akg_core.record import Shown
from akg_core.records import Artifact, Availability, Record, Scalar
from akg_core.registry import environment_of
from akg_core.search.tune import Tuned
from akg_core.stages.progress import Stage

DETAILS = "build.json"  # beside a kernel: what the compiler tells of it
SLOW = 1.5  # times as long as eager, from which on a kernel that nobody searched for is worth a word


class Failure(Record):
    """Why a run ended early: one sentence, what to do, and the exit code of the command line."""

    type: str
    message: Shown
    cure: Shown = ""
    exit_code: int = 2


class RunResult(Record):
    """What a run found; `result.json`. `error` is set when it ended before its last stage.

    `kernels`: what the compiler tells of each, by name, such as {"registers": 32}. `judged`: the SHA-256 of each file
    of the kernel that the verdict is of, by its path in the kernel's folder.
    """

    task: str
    plugin: str
    target: str
    stages: tuple[Stage, ...] = ()
    verdict: Verdict | None = None
    judged: dict[str, str] = Field(default_factory=dict)
    timing: Timing | None = None
    error: Failure | None = None
    tuned: Tuned | None = None
    kernels: dict[str, dict[str, Scalar]] = Field(default_factory=dict)
    notes: tuple[str, ...] = ()
    folder: str = ""
    versions: dict[str, str] = Field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        """0 when everything asked for was reached and the kernel is right (or, unjudged, was timed)."""
        if self.error:
            return self.error.exit_code
        wrong = self.verdict is not None and not self.verdict.correct
        return 1 if wrong or (self.timing is not None and self.timing.status != "ok") else 0


def advice_on(timing: Timing | None, tuned: Tuned | None) -> tuple[str, ...]:
    """What to do about a kernel that is far slower than eager PyTorch, where no search was made for it.

    Nothing where that is not certain: its interval holds 1, or the machine was busy with other work.
    """
    if timing is None or timing.busy or tuned:
        return ()
    ratios = [each.ratio for each in timing.speedups if each.over == "eager" and each.result == "slower"]
    if not ratios or ratios[0] * SLOW > 1:
        return ()
    slow = f"The kernel takes {1 / ratios[0]:.1f} times as long as eager PyTorch."
    return (f"{slow} This is its first schedule: `akg-core tune` searches for a faster one.",)


def known_details(artifact: Artifact) -> dict[str, Scalar]:
    """What the compiler told of a kernel that was built here earlier; nothing of another one."""
    try:
        found = json.loads((artifact.folder / DETAILS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def by_kernel(details: dict[str, Scalar]) -> dict[str, dict[str, Scalar]]:
    """What the compiler tells ("softmax.registers"), by the names of kernels."""
    found: dict[str, dict[str, Scalar]] = {}
    for key, value in details.items():
        name, _, what = key.rpartition(".")
        found.setdefault(name, {})[what] = value
    return found


def versions(plugin: str, here: Availability | None = None) -> dict[str, str]:
    """The software that decides a plugin's results, by distribution; `here`: what the plugin found, where known.

    Of a toolchain in an environment of its own only that knows the version.
    """
    found = {"python": platform.python_version(), "akg-core": akg_core.__version__}
    for entry in importlib.metadata.entry_points(group="akg", name=plugin):
        if entry.dist and entry.dist.name:
            found[entry.dist.name] = entry.dist.version
    found["torch"] = importlib.metadata.version("torch")
    environment = here and environment_of(plugin)
    if here and environment:
        found[environment.toolchain] = here.details[environment.toolchain]
    return found
