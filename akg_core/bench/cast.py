"""The processes of one task in a benchmark: the reference, the kernel that is judged, and those that are timed."""

from __future__ import annotations

import contextlib

from akg_core.errors import AkgError
from akg_core.judge.candidate.session import CandidateSession
from akg_core.judge.reference.prepare import Prepared
from akg_core.judge.timing.entrants import Baselines, Entrant
from akg_core.pipeline.pipeline import Pipeline
from akg_core.records import Artifact, Task


class Cast:
    """Each is started when it is asked for; what was started already is left as it is. Close it to end all.

    `patient`: what is started takes no memory of a device for inputs yet, but only once it is to `begin`.
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self.prepared: Prepared | None = None
        self.session: CandidateSession | None = None
        self.baselines: Baselines | None = None
        self.entrant: Entrant | None = None
        self._entered: Artifact | None = None
        self._leaving = contextlib.ExitStack()

    def close(self) -> None:
        """End all processes."""
        self._leaving.close()

    def refer(self, task: Task, patient: bool = False) -> None:
        """Start the reference."""
        if not self.prepared:
            self.prepared = self._leaving.enter_context(self._pipeline.reference(task, patient=patient))
        if not patient:
            self.prepared.begin()

    def load(self, artifact: Artifact) -> None:
        """Start to load a kernel in the process that it will be judged in."""
        if self.prepared and not self.session:
            self.session = self._leaving.enter_context(self._pipeline.session(self.prepared, artifact))

    def warm(self, modes: tuple[str, ...], patient: bool = False) -> None:
        """Start to warm up the baselines."""
        if self.prepared and not self.baselines:
            baselines = Baselines(self._pipeline.pool, self.prepared, modes, patient=patient)
            self.baselines = self._leaving.enter_context(baselines)

    def enter(self, artifact: Artifact, patient: bool = False) -> None:
        """Start the process for timing of a kernel, in place of another's."""
        if self.prepared and self._entered is not artifact:
            if self.entrant:
                self.entrant.close()
            pipeline = self._pipeline
            plugin, target = pipeline.request.plugin, pipeline.target
            entrant = Entrant(pipeline.pool, self.prepared, plugin, artifact, target, patient=patient)
            self.entrant, self._entered = self._leaving.enter_context(entrant), artifact

    def started(self) -> None:
        """Wait for what was started."""
        if self.prepared:
            self.prepared.started()
        if self.session:
            self.session.loaded()
        if self.baselines:
            self.baselines.opened()
        if self.entrant:
            self.entrant.loaded()

    def has_run(self, seconds: float) -> None:
        """Wait for the kernel to have been run, or for the end of the attempt, when it was started ahead of that."""
        if self.session:
            self.session.has_run(seconds)

    def examined(self) -> None:
        """End the process that the kernel was judged in, or was to be."""
        if self.session:
            self.session.close()

    def retire(self) -> None:
        """Have the reference give up the task, so that its process on a device may serve another."""
        if self.prepared and self.prepared.lends:
            with contextlib.suppress(AkgError):
                self.prepared.rest(for_good=True)

    def begin(self) -> None:
        """Have all that are to be timed go on."""
        if self.baselines:
            self.baselines.begin()
        if self.entrant:
            self.entrant.begin()

    def settle(self) -> None:
        """Wait for those that are to be timed to be warm."""
        if self.baselines:
            self.baselines.ready()
        if self.entrant:
            self.entrant.ready()

    def rest(self) -> bool:
        """Give back the memory of what was timed; whether the processes do nothing any more and may be ended later."""
        if not (self.prepared and self.entrant):
            return False
        try:
            self.entrant.rest()
            self.prepared.rest(for_good=True)
        except AkgError:
            return False
        return True
