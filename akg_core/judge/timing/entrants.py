"""Who is timed, the kernel and its baselines: each started early, in a session of its own that warms up meanwhile."""

from __future__ import annotations

import contextlib
import threading
from concurrent.futures import Future, wait
from typing import TYPE_CHECKING

from akg_core.closing import Closing
from akg_core.errors import AkgError
from akg_core.judge.candidate.session import kernel_payload
from akg_core.judge.reference.prepare import Prepared
from akg_core.judge.timing.baseline import EAGER, MODES
from akg_core.judge.timing.participant import CALL_SECONDS, KERNEL_JOB, Participant, Unusable
from akg_core.records import Artifact, Target, TimingPlan
from akg_core.worker.limits import Limits

if TYPE_CHECKING:
    from akg_core.worker.pool import Pool
    from akg_core.worker.session import Session

KERNEL = "kernel"
_BASELINE = "akg_core.judge.timing.baseline:profile_job"
_FORGET = "akg_core.judge.timing.baseline:forget_job"
_REFERENCE = "akg_core.judge.reference.process:open_job"


class Entrant(Closing):
    """The kernel, in a session for timing that it is loaded in, and that then takes a sample which does not count.

    All of it in the background, and none of it needs a device of its own: start it when the kernel has been verified.
    `patient`: start it earlier, and it takes memory of a device for inputs only after `begin`. Close it, or use it as a
    context.
    """

    def __init__(
        self,
        pool: Pool,
        prepared: Prepared,
        plugin: str,
        artifact: Artifact,
        target: Target,
        *,
        patient: bool = False,
    ) -> None:
        self.plan = TimingPlan(cold=True)
        self._leaving = contextlib.ExitStack()
        self.folder = self._leaving.enter_context(prepared.room())
        outside = not prepared.lends
        limits = Limits(
            CALL_SECONDS, confined=True, sealed=outside, paused=True, timed=outside, writable=(self.folder,)
        )
        session = self._leaving.enter_context(pool.session(limits, KERNEL_JOB))
        payload = kernel_payload(plugin, artifact, target)
        self._pool = pool
        self._kernel = Participant(KERNEL, session, KERNEL_JOB, payload, prepared)
        self._loaded = pool.background(self._kernel.open, self.plan)
        self._warm: Future[None] | None = None
        if not patient:
            self.begin()

    def loaded(self) -> None:
        """Wait for the kernel to be loaded, or to have failed."""
        self._loaded.result()

    def begin(self) -> None:
        """Start to take the sample that does not count, unless that was started."""
        self._warm = self._warm or self._pool.background(self._sample)

    def rest(self) -> None:
        """Have the process hold no memory for inputs."""
        self._kernel.open(self.plan)

    def close(self) -> None:
        """End the kernel's process."""
        self._leaving.close()

    def ready(self) -> Participant:
        """The kernel. Waits for it to be warm."""
        self.begin()
        assert self._warm is not None
        self._warm.result()
        return self._kernel

    def _sample(self) -> None:
        self._loaded.result()
        with contextlib.suppress(Unusable):  # which it will be again when its samples count
            self._kernel.warm(self.plan)


class Baselines(Closing):
    """The reference by eager PyTorch and by `torch.compile`, each in a session that warms up in the background.

    Start them early: compiling takes seconds, which are no part of any time. `patient`: until `begin` they only import
    what they need, and take no memory of a device for inputs. Close them, or use them as a context.
    """

    def __init__(
        self,
        pool: Pool,
        prepared: Prepared,
        modes: tuple[str, ...] = MODES,
        *,
        patient: bool = False,
    ) -> None:
        self._pool, self._plan = pool, TimingPlan(warmup=1, samples=1)
        self._closing, self._lock = contextlib.ExitStack(), threading.Lock()
        self._closed = False
        self._opened = {mode: pool.background(self._open, prepared, mode) for mode in modes}
        self._warm: dict[str, Future[Participant]] = {}
        if not patient:
            self.begin()

    def opened(self) -> None:
        """Wait for the baselines' processes to have imported what they need, or to have failed."""
        wait(self._opened.values())

    def begin(self) -> None:
        """Start to warm up, unless that was started."""
        for mode in self._opened.keys() - self._warm.keys():
            self._warm[mode] = self._pool.background(self._sample, mode)

    def close(self) -> None:
        """End the baselines' processes, or leave them to other tasks where they may be."""
        with self._lock:  # one that is about to start does not, or is among those that are ended
            self._closed = True
        self._closing.close()

    def _leave(self, session: Session, prepared: Prepared) -> None:
        """Give back the process of eager PyTorch, unless it is at work."""
        warm = self._warm.get(EAGER)
        if warm and warm.done() and not warm.exception() and not session.closed:
            self._pool.spare.give(session, _REFERENCE, _FORGET, prepared.where)
        else:
            session.close()

    def ready(self) -> tuple[list[Participant], dict[str, str]]:
        """The baselines that run, and why the others do not. Waits for them to be warm."""
        self.begin()
        found, missing = [], {}
        for mode in self._opened:
            try:
                found.append(self._warm[mode].result())
            except (Unusable, AkgError) as error:
                missing[mode] = str(error)
        return found, missing

    def _open(self, prepared: Prepared, mode: str) -> Participant:
        with self._lock:
            if self._closed:
                raise Unusable("Nobody waits for it any more.")
            # What a compiler imports may start the driver of a device, which does not work on after a fork.
            limits = Limits(CALL_SECONDS, paused=True, timed=not prepared.lends)
            if prepared.lends and mode == EAGER:
                session = self._pool.spare.take(limits, _REFERENCE)
                self._closing.callback(self._leave, session, prepared)
            else:
                session = self._pool.session(limits, _REFERENCE if prepared.lends else _BASELINE)
                self._closing.callback(session.close)
        participant = Participant(mode, session, _BASELINE, {**prepared.where, "mode": mode}, prepared, believed=True)
        participant.open(self._plan)
        return participant

    def _sample(self, mode: str) -> Participant:
        participant = self._opened[mode].result()
        participant.warm(self._plan)
        return participant
