"""One worker process seen from the orchestrator: send it calls, watch it, end it."""

from __future__ import annotations

import contextlib
import json
import math
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Container, Iterable, Sequence
from pathlib import Path
from typing import Any

from akg_core import machine
from akg_core.closing import Closing
from akg_core.foreign import sentences, shown
from akg_core.worker import usage, wire
from akg_core.worker.folders import remove
from akg_core.worker.limits import FATAL, SIGNALLED, JobResult, Limits, Status

_WATCH_SECONDS = 0.1  # how often memory and folders are looked at
_STOPPING_SECONDS = 0.0002  # how often one that is to stand still is looked at
_LAST_WORDS_SECONDS = 2.0  # how long a killed worker may take to be reaped
_LEAST_MEMORY = 1 << 30  # bytes that a process with PyTorch may have, however little is free when it begins
_STARVED = 10.0  # times the limit that waiting for a processor may add: who starts many threads waits for himself
_LAST_WORDS = 200  # characters of what a process said last that its end is told with
_LOG_KEPT = 32 * 1024  # bytes of the log's begin, and of its end, that are kept
_ANSWER_BYTES, _REPORT_BYTES = 256 << 20, 4 << 20  # of a job, and of one that runs code that nobody has read
_CLOSED = "The worker has been closed."


class Session(Closing):
    """A worker process that stays for several calls, one at a time; made by `Pool.session`.

    After any status but "ok" and "error" the process is gone, and further calls give the same status again. A session
    may be closed while another thread waits for a call: that call ends first, for a descriptor that is closed under it
    would give its number, and with it the bytes, of another file of this process away.
    """

    def __init__(
        self, connection: socket.socket, log: int, status: int, orders: socket.socket, folder: Path, limits: Limits
    ) -> None:
        self.folder = folder
        self.protections: tuple[str, ...] = ()
        self.started = False
        self.closed = False  # whether nothing is left of the process
        self._connection, self._log, self._status, self._orders = connection, log, status, orders
        self.limits = limits
        self.timed = limits.timed
        self._told = b""  # what the keeper has reported
        self._keeper = 0
        self._keeper_handle = -1
        self._ended: int | None = None
        self._status_text = b""
        self._final: JobResult | None = None
        self._busy = threading.RLock()  # held by who uses the descriptors
        self._closing = False
        self._open = {connection.fileno(), log, status}
        for descriptor in self._open:
            os.set_blocking(descriptor, False)

    def call(self, function: str, payload: dict[str, Any], seconds: float | None = None) -> JobResult:
        """Run "module:function" on `payload` in the worker and wait; `seconds` overrides the limit on time."""
        request = wire.encode({"function": function, "payload": payload})
        with self._busy:
            if self._final is not None:
                return self._final
            if self.limits.paused:
                self._signal(signal.SIGCONT)
            result = _Exchange(self, request, seconds or self.limits.seconds).run()
            if result.status not in ("ok", "error"):
                self._final = result
                self.close()
            elif self.limits.paused:
                self._stand_still()
        return result

    def call_timed(
        self, function: str, payload: dict[str, Any], order: dict[str, Any], files: Sequence[int], seconds: float
    ) -> tuple[JobResult, dict[str, Any]]:
        """Like `call`, of a function that takes its turns, timed from outside; and what the process's keeper reports.

        `order` and the descriptors in `files` are as in `akg_core.worker.timekeeper`. The report is {"error"} where
        the function, or the process, ended without.
        """
        self._told = b""
        with self._busy:
            if self._final is None:
                with contextlib.suppress(OSError):  # a keeper that has ended is found by the call
                    socket.send_fds(self._orders, [json.dumps(order).encode()], files)
            result = self.call(function, payload, seconds)
            if not self.closed:
                self._hear(_LAST_WORDS_SECONDS)
            if not self._told:
                self.close()  # lest a report of these turns be taken for one of others
        return result, json.loads(self._told) if self._told else {"error": "it took no turns to be timed"}

    def ran(self) -> dict[tuple[int, int], int]:
        """Nanoseconds that each thread of the session has run: of one that stands still they stay what they are."""
        return usage.ran(usage.descendants(self._keeper)) if self._keeper else {}

    def close(self) -> None:
        """End the process and everything that it started, and remove its folder."""
        self._closing = True
        with self._busy:
            if self.closed:
                return
            self._terminate()
            self._connection.close()
            self._hear(0.0)
            self._orders.close()
            for descriptor in (self._log, self._status, self._keeper_handle):
                if descriptor >= 0:
                    os.close(descriptor)
            self.closed = True
            if self._final is None:
                self._final = JobResult("exited", reason=_CLOSED, protections=self.protections)
        remove(self.folder)

    def _hear(self, seconds: float) -> None:
        """Take in what the keeper reports within so many seconds."""
        if _ready([self._orders.fileno()], (), seconds):
            with contextlib.suppress(OSError):
                self._told = self._orders.recv(1 << 20) or self._told

    def _stand_still(self) -> None:
        """Stop all that the session has started, and wait until it has stopped."""
        until = time.monotonic() + _LAST_WORDS_SECONDS
        while self._signal(signal.SIGSTOP) and time.monotonic() < until:
            time.sleep(_STOPPING_SECONDS)

    def _signal(self, number: int) -> bool:
        """Send a signal to every process of the session that runs, or, to go on, to all. Says whether there are any."""
        processes = usage.descendants(self._keeper)
        if number == signal.SIGSTOP:
            processes = [process for process in processes if not usage.is_still(process)]
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)
        return bool(processes)

    def _terminate(self) -> None:
        if self._keeper_handle >= 0 and self._ended is None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._keeper_handle, signal.SIGTERM)

    def _read_status(self) -> None:
        """Take in what the keeper and the starting worker say; its end closes the line."""
        piece = _read(self._status)
        if piece == b"":
            self._open.discard(self._status)
        *lines, self._status_text = (self._status_text + (piece or b"")).split(b"\n")
        for line in map(json.loads, lines):
            self.started = True
            if "keeper" in line:
                self._keeper = line["keeper"]
                with contextlib.suppress(OSError):  # a handle stays that process's own, a number may go to another
                    self._keeper_handle = os.pidfd_open(self._keeper)
            self._ended = line.get("ended", self._ended)
            self.protections = tuple(line.get("protections", self.protections))

    @property
    def lost(self) -> bool:
        """Whether the process that would say how the worker ended was ended itself, whatever the worker did."""
        return self._status not in self._open and self._ended is None

    @property
    def _gone(self) -> bool:
        """Whether the process has ended, or whoever would say so has."""
        return self._ended is not None or self._status not in self._open


class _Exchange:
    """One call: a loop over the descriptors of a session until an answer, an end or a limit."""

    def __init__(self, session: Session, request: bytes, seconds: float) -> None:
        self.session, self.request, self.seconds = session, memoryview(request), seconds
        self.answer = bytearray()
        self.log_head, self.log_tail, self.log_size = b"", b"", 0
        processes = usage.descendants(session._keeper) if session._keeper else []
        self.memory_limit = session.limits.memory_bytes or _room(processes)
        self.began = time.monotonic()
        self.waited = usage.waited(processes)

    def run(self) -> JobResult:
        session, limits = self.session, self.session.limits
        deadline = self.began + self.seconds
        watched = self.began
        while True:
            self._step(min(_WATCH_SECONDS, max(0.0, deadline - time.monotonic())))
            if self._complete():
                self._drain_log()
                return self._judge()
            if session._closing:
                return self._result("exited", _CLOSED)
            if session._gone or session._connection.fileno() not in session._open:
                return self._after_end()
            now = time.monotonic()
            if now >= deadline:
                deadline = self.began + self.seconds + self._starved()
            if now >= deadline:
                return self._stop("timed out", f"ran longer than {self.seconds:g} s")
            if self.log_size > limits.log_bytes:
                return self._stop("flooded", f"printed more than {limits.log_bytes} bytes")
            if len(self.answer) > (most := _REPORT_BYTES if limits.confined else _ANSWER_BYTES):
                return self._stop("flooded", f"answered with more than {most} bytes")
            if session._keeper and now - watched >= _WATCH_SECONDS:
                watched = now
                if excess := self._excess():
                    return self._stop(*excess)

    def _starved(self) -> float:
        """The longest time for which a thread was ready and got no processor, because others had them."""
        now = usage.waited(usage.descendants(self.session._keeper)) if self.session._keeper else {}
        longest = max((seconds - self.waited.get(thread, 0.0) for thread, seconds in now.items()), default=0.0)
        return min(longest, _STARVED * self.seconds)

    def _excess(self) -> tuple[Status, str] | None:
        """What the worker's processes use beyond the limits, read from outside."""
        limits = self.session.limits
        processes = usage.descendants(self.session._keeper)
        if len(processes) > limits.processes:
            return "flooded", f"started more than {limits.processes} processes"
        if usage.memory(processes, self.memory_limit) > self.memory_limit:
            return "out of memory", f"used more than {self.memory_limit / 2**20:.4g} MiB of memory"
        if limits.confined:
            sizes, counts = zip(*map(usage.folder_size, (self.session.folder, *limits.writable)), strict=True)
            if sum(sizes) > limits.file_bytes:
                return "flooded", f"wrote more than {limits.file_bytes} bytes of files"
            if sum(counts) > limits.files:
                return "flooded", f"made more than {limits.files} files"
        return None

    def _step(self, timeout: float) -> None:
        """Move whatever is ready: request out, answer, log and status in."""
        session = self.session
        connection = session._connection.fileno()
        sending = [connection] if self.request and connection in session._open else []
        ready = _ready(session._open, sending, timeout)
        if session._status in ready:
            session._read_status()
        if session._log in ready:
            self._take_log()
        if ready.get(connection, 0) & ~select.POLLOUT:
            piece = _read(connection)
            if piece == b"":
                session._open.discard(connection)
            self.answer += piece or b""
        if sending and ready.get(connection, 0) & ~select.POLLIN:
            try:
                self.request = self.request[os.write(connection, self.request[: 1 << 20]) :]
            except BlockingIOError:
                pass
            except OSError:
                session._open.discard(connection)

    def _take_log(self) -> bool:
        if self.session._log not in self.session._open:
            return False
        piece = _read(self.session._log, 1 << 18)
        if piece == b"":
            self.session._open.discard(self.session._log)
        if not piece:
            return False
        room = _LOG_KEPT - len(self.log_head)
        self.log_head += piece[:room]
        self.log_tail = (self.log_tail + piece[room:])[-_LOG_KEPT:] if len(piece) > room else self.log_tail
        self.log_size += len(piece)
        return True

    def _drain_log(self) -> None:
        while self.log_size <= self.session.limits.log_bytes and self._take_log():
            pass

    def _complete(self) -> bool:
        prefix = bytes(self.answer[: wire.PREFIX])
        return len(prefix) == wire.PREFIX and len(self.answer) >= wire.PREFIX + wire.length(prefix)

    def _judge(self) -> JobResult:
        """The result of the answer. Whatever ran in the worker could have written it: it may be nonsense, or a lie."""
        try:
            answer = json.loads(self.answer[wire.PREFIX :])
            answer = sentences(answer) if self.session.limits.confined else answer
        except (ValueError, RecursionError):
            answer = None
        match answer:
            case {"status": "ok", "value": dict() as value}:
                return self._result("ok", value=value)
            case {"status": "error", "error": {"type": str(), "message": str(), "cure": str()} as error}:
                error = {key: shown(error[key]) for key in ("type", "message", "cure")}
                message = error["message"] if error["message"].endswith(".") else error["message"] + "."
                return self._result("error", error=error, reason=f"It raised {error['type']}: {message}")
            case {"status": "out of memory"}:
                said = answer.get("said")
                asked = f" ({shown(said).strip('. ')})" if isinstance(said, str) and said else ""
                return self._result("out of memory", f"It asked for more memory than it may have{asked}.")
            case {"status": "exited", "code": int(code)}:
                return self._result("exited", f"It exited with code {code} before it had answered.")
        return self._result("exited", "It answered something that no job answers.")

    def _after_end(self) -> JobResult:
        """The result when the process ended, or closed its connection, without an answer."""
        session = self.session
        self._await_end()  # of itself
        if hung_up := not session._gone:
            session._terminate()
            self._await_end()
        if not session.started:
            return self._result("crashed", "The worker did not start.")
        if hung_up:
            return self._result("crashed", "It closed its connection before it had answered.")
        if session._ended is None:
            return self._result("crashed", "The worker's parent was ended together with it.")
        code = os.waitstatus_to_exitcode(session._ended)
        number = -code if os.WIFSIGNALED(session._ended) else code - SIGNALLED
        if os.WIFSIGNALED(session._ended) or number in FATAL:
            name = _name(number)
            return self._result("crashed", f"The process crashed with {name}{self._last_words()}.", signal=name)
        ended = f"The process exited with code {code} before it had answered{self._last_words()}."
        return self._result("exited", ended)

    def _stop(self, status: Status, what: str) -> JobResult:
        self.session._terminate()
        self._await_end()
        return self._result(status, f"It {what} and was ended.")

    def _await_end(self) -> None:
        until = time.monotonic() + _LAST_WORDS_SECONDS
        self.request = self.request[:0]
        while not self.session._gone and (left := until - time.monotonic()) > 0:
            if self.log_size > self.session.limits.log_bytes:  # nobody reads a flood to its end
                self.session._open.discard(self.session._log)
            self._step(left)
        self._drain_log()

    def _result(self, status: Status, reason: str = "", **fields: Any) -> JobResult:
        fields |= {"seconds": time.monotonic() - self.began, "protections": self.session.protections}
        return JobResult(status, reason=reason, log=self._log(), **fields)

    def _last_words(self) -> str:
        """What it said last of itself, before Python told where it was, as the end of a sentence; none is empty."""
        said = [line.strip() for line in self._log().partition("Fatal Python error: ")[0].splitlines() if line.strip()]
        return f', and said last: "{said[-1][:_LAST_WORDS]}"' if said else ""

    def _log(self) -> str:
        left_out = self.log_size - len(self.log_head) - len(self.log_tail)
        gap = f"\n… {left_out} bytes left out …\n".encode() if left_out else b""
        return shown((self.log_head + gap + self.log_tail).decode(errors="replace"))


def _room(processes: Sequence[int]) -> int:
    """Bytes that these processes may hold from now on: of what they hold and is free, but what others may for a
    moment."""
    free = machine.available_memory() + usage.memory(processes, sys.maxsize)
    return max(_LEAST_MEMORY, int(0.8 * free))


def _ready(reading: Iterable[int], writing: Container[int], timeout: float) -> dict[int, int]:
    """The descriptors that are ready within so many seconds, whatever their numbers, and what for."""
    poll = select.poll()
    for descriptor in reading:
        poll.register(descriptor, select.POLLIN | (select.POLLOUT if descriptor in writing else 0))
    return dict(poll.poll(math.ceil(1000 * timeout)))


def _name(number: int) -> str:
    """What a signal is called; those for real-time uses have numbers alone."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _read(descriptor: int, size: int = 1 << 20) -> bytes | None:
    """What is there to read: nothing yet is None, the end is empty."""
    try:
        return os.read(descriptor, size)
    except BlockingIOError:
        return None
    except OSError:
        return b""
