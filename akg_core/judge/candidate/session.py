"""A kernel in the process that it is judged in: loaded before that process is told of any input, then run on all."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from akg_core.closing import Closing
from akg_core.judge.records import FEWEST_CALLS, Draw, Preparation
from akg_core.judge.reference import memory_estimate
from akg_core.judge.reference.prepare import Prepared
from akg_core.judge.source.rules import broken_rule
from akg_core.records import Artifact, Case, Target
from akg_core.registry import modules_of
from akg_core.worker.limits import JobResult, Limits
from akg_core.worker.pool import Due
from akg_core.worker.usage import cores

if TYPE_CHECKING:
    from akg_core.worker.pool import Pool

_JOB = "akg_core.judge.candidate.jobs:run_job"
# What follows is time in which its process ran or slept, not time in which it waited for a busy processor.
_GRACE_SECONDS = 30.0  # for imports and first calls
_LONGEST = 600.0  # seconds
SIMULATED_STEPS = 400_000  # operations on tiles, which a simulation may take over all cases that can be left out
_FEWEST = 3  # cases that a kernel is run on however long that takes, and one more where sizes vary
_SLOWER = 200.0  # how many times slower than eager a kernel may be before it counts as hanging
_IN_A_ROW = 10  # calls in a row that count as one case
_MEMORY = 2 << 30  # for torch and a toolchain; what a case holds, several times over, comes on top
_OF_A_CORE = 64 << 20  # for what threads hold of their own: each of two that call a kernel has one for each core
_ON_A_DEVICE = 2 << 30  # for a driver's context beside them

Steps = Callable[[Sequence[dict[str, int]]], Sequence[float]]
"""How many operations on tiles a simulation takes at each of some sizes of what varies."""


class CandidateSession(Closing):
    """Loads in the background from the start, unless its text names what no kernel may use: then `rule` says what.

    Loading and running may take `seconds` each; 0 sets that by the reference's time. `simulated`: the plugin runs the
    kernel by simulation here, which takes its time; with `steps`, cases that take too many of them are left out. What
    the kernel writes goes to `folder`. Close it, or use it as a context.
    """

    def __init__(
        self,
        pool: Pool,
        prepared: Prepared,
        plugin: str,
        artifact: Artifact,
        target: Target,
        *,
        seconds: float = 0.0,
        simulated: bool = False,
        steps: Steps | None = None,
    ) -> None:
        self.pool, self.prepared, self.simulated, self._seconds = pool, prepared, simulated, seconds
        self._steps, self.plugin = steps, plugin
        self.rule = broken_rule(artifact.folder, prepared.task.source, artifact.entry, modules_of(plugin))
        self._drawn: tuple[Draw, ...] | None = None
        self._payload = kernel_payload(plugin, artifact, target)
        self._opening = self._on([prepared.opening.model_copy(update={"another": True})])
        self._has_run = threading.Event()
        self._leaving = contextlib.ExitStack()
        self._leaving.callback(self._has_run.set)
        self.folder = self._leaving.enter_context(prepared.room())
        own = _MEMORY + _ON_A_DEVICE * prepared.lends + _OF_A_CORE * cores()
        self._limits = Limits(
            seconds=seconds or (_LONGEST if simulated else _GRACE_SECONDS),
            memory_bytes=own + memory_estimate.bytes_of_process(prepared.task),
            confined=True,
            sealed=not prepared.lends,
            paused=not prepared.lends,
            writable=(self.folder,),
            file_bytes=(256 << 20) + 4 * memory_estimate.bytes_of_answers(prepared.task),
        )
        if not self.rule:
            self._session = self._leaving.enter_context(pool.session(self._limits, _JOB))
            self._loaded = pool.background(self._session.call, _JOB, self._opening)

    def close(self) -> None:
        """End the process, with what it lends, and remove what it wrote."""
        self._leaving.close()

    def draws(self) -> tuple[Draw, ...]:
        """What it is to be run on, of all that is prepared; those that find most come first. Waits."""
        if self._drawn is None:
            self._drawn = self.prepared.ready().draws
            if self._steps:
                symbols = self.prepared.task.symbols
                steps = self._steps([symbols | draw.sizes for draw in self._drawn])
                self._drawn = _affordable(self._drawn, steps)
        return self._drawn

    def calls(self, preparation: Preparation) -> int:
        """How often it is called in a row at the end: as few times as shows anything, where that is simulated."""
        return FEWEST_CALLS if self.simulated else preparation.calls

    def loaded(self) -> None:
        """Wait for the kernel to be loaded, or to have failed."""
        if not self.rule:
            self._loaded.result()

    def has_run(self, seconds: float) -> None:
        """Wait for the kernel to have been run on all cases, or to have been closed, so long at most."""
        self._has_run.wait(seconds)

    @contextlib.contextmanager
    def run(self, cases: Callable[[], list[Case]]) -> Iterator[JobResult]:
        """How the process answers on the cases, which are asked for once it is loaded.

        The process stays until the context ends, for what it lends from its memory. One that is lost with its warm
        parent begins anew.
        """

        def due() -> Due:
            given = cases()
            in_a_row = sum(len(case.order) for case in given)
            return Due(self._on(given), self._allowance(len(given) + in_a_row / _IN_A_ROW))

        result = self._loaded.result()
        if result.status == "ok":
            asked = due()
            answer = self._session.call(_JOB, asked.payload, asked.seconds)
            result = dataclasses.replace(answer, log=result.log + answer.log)
        if self._session.started and not (result.status == "crashed" and self._session.lost):
            self._has_run.set()
            yield result
            return
        with self.pool.holding(_JOB, self._opening, due, limits=self._limits) as result:
            self._has_run.set()
            yield result

    def _allowance(self, calls: float) -> float:
        """Seconds that so many calls may take."""
        honest = _GRACE_SECONDS + _SLOWER * self.prepared.ready().eager_seconds * calls
        return self._seconds or (_LONGEST if self.simulated else min(honest, _LONGEST))

    def _on(self, cases: list[Case]) -> dict[str, Any]:
        return self._payload | {"cases": [case.model_dump(mode="json") for case in cases]}


def _affordable(drawn: Sequence[Draw], steps: Sequence[float]) -> tuple[Draw, ...]:
    """The first few draws, and of those that follow all that a simulation has the steps for."""
    fewest = _FEWEST + any(draw.sizes for draw in drawn)
    left, found = SIMULATED_STEPS - steps[0], list[Draw]()  # the first one runs twice
    by_itself = sorted(
        zip(drawn, steps, strict=True), key=lambda pair: pair[1] > SIMULATED_STEPS
    )  # too much comes last
    for number, (draw, needed) in enumerate(by_itself):
        if number < fewest or needed <= left:
            left -= needed
            found.append(draw)
    return tuple(found)


def kernel_payload(plugin: str, artifact: Artifact, target: Target) -> dict[str, Any]:
    """What a job of a plugin is told of a kernel."""
    artifact = artifact.model_copy(update={"folder": artifact.folder.resolve()})
    return {
        "plugin": plugin,
        "artifact": artifact.model_dump(mode="json"),
        "target": target.model_dump(mode="json"),
    }
