"""Workers for the orchestrator: jobs named "module:function" run on JSON in processes forked from a warm parent.

    with Pool() as pool:
        result = pool.call("akg_core.task.capture:capture_job", {"path": "softmax.py"}, limits=Limits(seconds=60))
        task = result.unwrap()

Nothing here imports torch.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from akg_core import machine
from akg_core.closing import Closing
from akg_core.errors import WorkerFailed
from akg_core.worker import cgroup, folders
from akg_core.worker.limits import JobResult, Limits
from akg_core.worker.session import Session
from akg_core.worker.spare import Spare

T = TypeVar("T")
_ATTEMPTS = 3
_PARTING_SECONDS = 30.0  # in which a warm parent ends everything that it started, and in which one that is killed ends
_SECRET = re.compile("key|token|secret|passw|credential", re.IGNORECASE)  # in names of variables that no job gets
# The modules are found that the pool says, or the same as here, and none that only lies in the current folder.
_BOOT = (
    "import json, sys; sys.path[:], *rest = map(json.loads, sys.argv[1:]); "
    "from akg_core.worker.zygote import main; main(*rest)"
)


@dataclasses.dataclass(frozen=True)
class Due:
    """What a job is called on, and the seconds that it may take (None: as its limits say)."""

    payload: dict[str, Any]
    seconds: float | None = None


class Pool(Closing):
    """Warm parents and the workers forked from them. Starting it returns at once; a job waits for its parent's imports.

    `warm` are the modules that parents import before they serve, in layers: the first parent has those of the first
    layer, the second those of the second too, while the first serves already. A job is forked from the parent that
    has it, or else its module, named in its layer; where none has, from the first. `isolate=False` leaves out the
    namespaces, as on a system that forbids them. Workers run in another Python than this one where `python` says so,
    and find modules in `path` in place of this one's. `elsewhere`: pools for some jobs by name, such as in another
    Python, which are closed with this one. Threads may share a pool.
    """

    def __init__(
        self,
        warm: Sequence[Sequence[str]] = (("torch",),),
        *,
        isolate: bool = True,
        python: str | Path = sys.executable,
        path: Sequence[str] | None = None,
        elsewhere: Mapping[str, Pool] | None = None,
    ) -> None:
        folders.sweep()
        self.folder, self._held = folders.make()
        self._warm, self._isolate = tuple(map(tuple, warm)) or ((),), isolate
        self._python, self._path, self._elsewhere = str(python), path, dict(elsewhere or {})
        self._lock = threading.Lock()
        self._jobs = 0
        self._closed = False
        self._threads = ThreadPoolExecutor(max_workers=64, thread_name_prefix="akg-worker")
        self._sessions: set[Session] = set()
        self.spare = Spare(self.session, self.background)
        self._start()

    def call(self, function: str, payload: dict[str, Any], *, limits: Limits | None = None) -> JobResult:
        """Run one job in a process of its own and wait for it."""
        with self.holding(function, payload, limits=limits) as result:
            return result

    @contextlib.contextmanager
    def holding(
        self, function: str, *payloads: dict[str, Any] | Callable[[], Due], limits: Limits | None = None
    ) -> Iterator[JobResult]:
        """Like `call`, with the job's process kept until the context ends, for what it lends from its memory.

        With several payloads the function is called on each in turn, as long as it answers; the result is the last
        one's, with the log of all. What is due only then is asked for when those before have been answered. A job that
        is lost with a warm parent begins anew.
        """
        for attempts_left in reversed(range(_ATTEMPTS)):
            with self.session(limits, function) as session:
                log = ""
                for payload in payloads:
                    due = payload() if callable(payload) else Due(payload)
                    result = session.call(function, due.payload, due.seconds)
                    log += result.log
                    if result.status != "ok":
                        break
                lost = result.status == "crashed" and session.lost
                if session.started and not (lost and attempts_left):
                    yield dataclasses.replace(result, log=log)
                    return
        raise self._elsewhere.get(function, self)._does_not_start()  # not once in all attempts

    def submit(self, function: str, payload: dict[str, Any], *, limits: Limits | None = None) -> Future[JobResult]:
        """Run one job beside whatever else runs."""
        return self._threads.submit(self.call, function, payload, limits=limits)

    def background(self, function: Callable[..., T], *arguments: Any) -> Future[T]:
        """Run a function of the orchestrator in a thread of this pool."""
        return self._threads.submit(function, *arguments)

    def session(self, limits: Limits | None = None, function: str = "") -> Session:
        """A worker process that stays for several calls, `function` the first. Close it, or use it as a context."""
        if other := self._elsewhere.get(function):
            return other.session(limits, function)
        limits = limits or Limits()
        with self._lock:
            if self._closed:
                raise WorkerFailed("The worker processes have been ended.")
            self._jobs += 1
            self._sessions = {session for session in self._sessions if not session.closed}
            folder = self.folder / f"job-{self._jobs}"
        folder.mkdir(mode=0o700)
        ours, theirs = socket.socketpair()
        orders, taken = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        log, log_end = os.pipe()
        status, status_end = os.pipe()
        settings = dataclasses.asdict(limits) | {
            "folder": str(folder),
            "writable": [str(path) for path in limits.writable],
            "memory_bytes": limits.memory_bytes or int(0.8 * machine.available_memory()),
            "isolate": self._isolate,
        }
        try:
            ends = [theirs.fileno(), log_end, status_end, taken.fileno()]
            self._send(self._layer(function), json.dumps(settings).encode(), ends)
        except BaseException:
            ours.close()
            orders.close()
            os.close(log)
            os.close(status)
            raise
        finally:
            theirs.close()
            taken.close()
            os.close(log_end)
            os.close(status_end)
        session = Session(ours, log, status, orders, folder, limits)
        with self._lock:
            self._sessions.add(session)
        return session

    def close(self) -> None:
        """End every worker and the warm parent, and remove their folders."""
        with self._lock:
            self._closed = True
            sessions = list(self._sessions)
        for session in sessions:
            session.close()
        for other in set(self._elsewhere.values()):
            other.close()
        self._stop(patient=any(session.started for session in sessions))
        self._threads.shutdown(wait=True)
        cgroup.remove_all(self.folder.name)
        folders.remove(self.folder)
        with self._lock:
            if self._held >= 0:
                os.close(self._held)
            self._held = -1

    def _layer(self, function: str) -> int:
        """The number of the layer that names `function`, else of the first that names its module; else 0."""
        names = (function, function.partition(":")[0])
        return next((number for name in names for number, layer in enumerate(self._warm) if name in layer), 0)

    def _start(self) -> None:
        pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in self._warm]
        self._controls = [ours for ours, _ in pairs]
        ends = [theirs.fileno() for _, theirs in pairs]
        given = map(json.dumps, (self._path or sys.path, str(self.folder), self._warm, ends))
        with (self.folder / "zygote.log").open("wb") as log:
            self._zygote = subprocess.Popen(
                [self._python, "-c", _BOOT, *given],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=ends,
                env={name: value for name, value in os.environ.items() if not _SECRET.search(name)},
                start_new_session=True,
            )
        for _, theirs in pairs:
            theirs.close()

    def _stop(self, patient: bool = False) -> None:
        """End the first warm parent, with which the others end; `patient`: let it end what it started itself.

        One that the kernel does not let go of though it is killed is waited for no longer.
        """
        for control in self._controls:
            control.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._zygote.wait(_PARTING_SECONDS if patient else 0)
        self._zygote.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._zygote.wait(_PARTING_SECONDS)

    def _send(self, layer: int, settings: bytes, descriptors: list[int]) -> None:
        """Hand a job to a warm parent; when that has been ended, all are started again."""
        with self._lock:
            for _ in range(_ATTEMPTS):
                if self._closed:
                    raise WorkerFailed("The worker processes have been ended.")
                try:
                    socket.send_fds(self._controls[layer], [settings], descriptors)
                    return
                except OSError:
                    self._stop()
                    self._start()
        raise self._does_not_start()

    def _does_not_start(self) -> WorkerFailed:
        log = (self.folder / "zygote.log").read_text(errors="replace").strip().splitlines()
        reason = log[-1].rstrip(".") if log else "no message"
        return WorkerFailed(f"The worker processes do not start: {reason}.", "Run `akg-core doctor`.")
