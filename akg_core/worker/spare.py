"""Sessions of trusted code that have done with one task and are asked for another.

A process that uses a device takes some tenths of a second to begin, in which the driver serves nobody else.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TYPE_CHECKING, Any

from akg_core.worker.limits import Limits

if TYPE_CHECKING:
    from akg_core.worker.session import Session

_MOST = 2  # of a kind; each holds some memory of the device


class Spare:
    """Sessions by their limits and the job that they were made for. Threads may share it.

    `make` makes one; `background` runs a function beside what else runs.
    """

    def __init__(self, make: Callable[[Limits, str], Session], background: Callable[..., Future[None]]) -> None:
        self._make, self._background, self._lock = make, background, threading.Lock()
        self._given: dict[tuple[Limits, str], list[Future[None]]] = {}  # those that are being taken back
        self._idle: dict[tuple[Limits, str], list[Session]] = {}

    def take(self, limits: Limits, function: str) -> Session:
        """A session that was given back, or one that is made; it is nobody else's until it is given back.

        One that is being taken back is waited for: it is ready sooner than a new one.
        """
        while True:
            with self._lock:
                idle = self._idle.get((limits, function), [])
                while idle:
                    if not (session := idle.pop()).closed:
                        return session
                given = self._given.get((limits, function), [])
                if not given:
                    break
                next_one = given.pop(0)
            wait([next_one])
        return self._make(limits, function)

    def give(self, session: Session, function: str, forget: str, payload: dict[str, Any] | None = None) -> None:
        """Take a session back when the job `forget` says {reusable} of it; else end it, as where there are enough.

        The job gives up all that the last task has left in the process, in the background.
        """
        taken = self._background(self._take_back, session, function, forget, payload or {})
        with self._lock:
            given = self._given.setdefault((session.limits, function), [])
            given[:] = [*(future for future in given if not future.done()), taken]

    def settle(self) -> None:
        """Wait until all that were given back are ready for another task, or have ended."""
        with self._lock:
            given = [future for futures in self._given.values() for future in futures]
        wait(given)

    def close(self) -> None:
        """End those that nobody has taken."""
        with self._lock:
            idle = [session for sessions in self._idle.values() for session in sessions]
            self._idle.clear()
        for session in idle:
            session.close()

    def _take_back(self, session: Session, function: str, forget: str, payload: dict[str, Any]) -> None:
        found = session.call(forget, payload)
        if found.status == "ok" and (found.value or {}).get("reusable"):
            with self._lock:
                idle = self._idle.setdefault((session.limits, function), [])
                if len(idle) < _MOST:
                    idle.append(session)
                    return
        session.close()
