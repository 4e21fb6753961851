"""What a run found, and what the compiler told of its kernels."""

from __future__ import annotations

import json

from pydantic import Field

from akg_core.judge.records import Timing, Verdict
from akg_core.progress import Stage
from akg_core.records import Artifact, Record, Scalar
from akg_core.search.tune import Tuned

DETAILS = "build.json"  # beside a kernel: what the compiler tells of it


class Failure(Record):
    """Why a run ended early: one sentence, what to do, and the exit code of the command line."""

    type: str
    message: str
    cure: str = ""
    exit_code: int = 2


class RunResult(Record):
    """What a run found; `result.json`. `error` is set when it ended before its last stage.

    `kernels`: what the compiler tells of each, by name, such as {"registers": 32}.
    """

    task: str
    plugin: str
    target: str
    stages: tuple[Stage, ...] = ()
    verdict: Verdict | None = None
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
