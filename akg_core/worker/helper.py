"""A process beside a warm parent that makes something once, and forks one of its own for every request of jobs.

    assembler = Helper(prepare)                 # in a module that a warm parent imports, on its only thread
    answer = assembler.ask({"text": "..."})     # in jobs that are forked from there

It begins apart from the parent: without privileges, network and devices, with all files read-only. So what it makes may
be what must not be in the parent, such as a library that starts a driver; and no request sees what another was. Jobs
inherit its door, a socket by which they hand it one end of a connection, with a byte that says how nice they are to
others. Those for code that nobody has read close it. A request ends with who has asked, and with its seconds; the
helper ends with the warm parent.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import resource
import select
import signal
import socket
import tempfile
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from akg_core.worker import isolation, seccomp, wire
from akg_core.worker.limits import MiB
from akg_core.worker.usage import cores

_SHARED_MEMORY, _FILES = Path("/dev/shm"), 256
_doors: list[socket.socket] = []  # to all helpers of this process

Answer = Callable[[dict[str, Any]], dict[str, Any]]


class HelperFailed(Exception):
    """There is no answer: the helper is not there, or the request ended its process."""


@dataclass(frozen=True)
class Bounds:
    """What one request may use: wall time, memory, files together, and the bytes of its message; `beside`: how many
    requests are answered at once.
    """

    seconds: float = 120.0
    memory_bytes: int = 8192 * MiB
    file_bytes: int = 1024 * MiB
    message_bytes: int = 16 * MiB
    beside: int = 0

    @property
    def at_once(self) -> int:
        """So many that all processors have something to do, unless it is said."""
        return self.beside or 2 * cores()


class Helper:
    """`prepare` is called once in the helper, and gives what answers a request, in a process that then ends.

    One that cannot be started is like one that has ended: who asks hears HelperFailed.
    """

    def __init__(self, prepare: Callable[[], Answer], bounds: Bounds | None = None) -> None:
        self._bounds = bounds or Bounds()
        self._door, inside = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with contextlib.suppress(OSError):  # no more processes just now
            if isolation.fork() == 0:
                _be(inside.detach(), prepare, self._bounds)
        inside.close()
        _doors.append(self._door)

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """What the helper answers, which has as long as others need too. Raises HelperFailed."""
        try:
            message = wire.encode(request)
            if len(message) > self._bounds.message_bytes:
                raise HelperFailed(f"A request of {len(message)} bytes is more than the helper reads.")
            ours, theirs = socket.socketpair()
            with ours:
                with theirs:
                    socket.send_fds(self._door, [bytes([max(_niceness(), 0)])], [theirs.fileno()])
                ours.sendall(message)
                answer = wire.receive(ours)
        except (OSError, ValueError) as error:
            raise HelperFailed(f"The helper cannot be asked: {error}.") from None
        if answer is None:
            raise HelperFailed("The helper ended without an answer.")
        return dict(answer)


def _niceness() -> int:
    return os.getpriority(os.PRIO_PROCESS, 0)


def close_doors() -> None:
    """Have this process, and what it starts, reach no helper any more."""
    for door in _doors:
        door.close()


def _be(door: int, prepare: Callable[[], Answer], bounds: Bounds) -> NoReturn:
    """Be the helper, or the process that waits for it: the first of a process namespace is what it forks."""
    try:
        os.dup2(door, 3)
        os.closerange(4, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        alone = isolation.enter_namespaces(own_user=True)
        if alone and (inner := isolation.fork()):
            os.close(3)
            os.waitpid(inner, 0)
        else:
            _confine(alone, bounds)
            _serve(socket.socket(fileno=3), prepare(), bounds, alone)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(0)


def _confine(alone: bool, bounds: Bounds) -> None:
    """Give up what no request needs; temporary files lie in memory of the helper's own, where that may be had."""
    room = bounds.file_bytes * bounds.at_once, _FILES * bounds.at_once
    if alone and isolation.write_only_to(_SHARED_MEMORY, (), *room):
        os.environ["TMPDIR"] = str(_SHARED_MEMORY)
        tempfile.tempdir = None
    isolation.drop_privileges()
    isolation.hide_memory()


def _serve(door: socket.socket, answer: Answer, bounds: Bounds, alone: bool) -> None:
    """Fork a process for every connection that comes through the door, until nobody is left who could send one."""
    running = set[int]()
    while True:
        message, connections, _, _ = socket.recv_fds(door, 1, 1)
        if not message:
            return
        with contextlib.suppress(ChildProcessError):
            while ended := os.waitpid(-1, 0 if len(running) >= bounds.at_once else os.WNOHANG)[0]:
                running.discard(ended)
        for connection in connections:
            with contextlib.suppress(OSError):  # no more processes just now: the closed connection tells
                child = isolation.fork()
                if child == 0:
                    _reply(door, connection, message[0], answer, bounds, alone)
                running.add(child)
            os.close(connection)


def _reply(door: socket.socket, end: int, nice: int, answer: Answer, bounds: Bounds, alone: bool) -> NoReturn:
    """Answer one request, for as long as somebody waits for it."""
    try:
        door.close()
        connection = socket.socket(fileno=end)
        os.nice(max(nice - _niceness(), 0))
        seccomp.install(os.getpid(), alone)
        signal.setitimer(signal.ITIMER_REAL, bounds.seconds)
        isolation.limit_resources(bounds.memory_bytes, bounds.file_bytes, _FILES)
        request = wire.receive(connection, bounds.message_bytes)
        if request is not None:
            with _ending_with(connection):
                answered = wire.encode(answer(request))
            connection.sendall(answered)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(0)


@contextlib.contextmanager
def _ending_with(connection: socket.socket) -> Iterator[None]:
    """Have the kernel end this process (SIGIO) when the other end closes, or sends what it was not asked for."""
    flags = fcntl.fcntl(connection, fcntl.F_GETFL)
    fcntl.fcntl(connection, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(connection, fcntl.F_SETFL, flags | os.O_ASYNC)
    if select.select([connection], [], [], 0)[0]:
        os._exit(0)  # it had closed before that
    yield
    fcntl.fcntl(connection, fcntl.F_SETFL, flags)
