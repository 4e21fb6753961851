"""Helpers of a warm parent that imports this, and jobs that ask them."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import stat
import time
from pathlib import Path
from typing import Any

from akg_core.worker import wire
from akg_core.worker.helper import Bounds, Helper, HelperFailed
from akg_core.worker.limits import MiB


def _prepare() -> Any:
    made, asked = os.getpid(), []

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        asked.append(request)
        return {"made": made, "asked": len(asked), "value": globals()[request["do"]](request)}

    return answer


def _unprepared() -> Any:
    raise RuntimeError("there is nothing to make")


def echo(request: dict[str, Any]) -> Any:
    return request.get("text")


def wait(request: dict[str, Any]) -> None:
    time.sleep(request["seconds"])


def crash(_: dict[str, Any]) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def fill(request: dict[str, Any]) -> int:
    return len(bytearray(request["bytes"]))


def surroundings(request: dict[str, Any]) -> dict[str, Any]:
    """What a request finds itself able to do, and which descriptors it has."""

    def works(path: str, flags: int) -> bool:
        with contextlib.suppress(OSError):
            os.close(os.open(path, flags, 0o600))
            return True
        return False

    return {
        "writes": works(f"{request['folder']}/written", os.O_CREAT | os.O_WRONLY),
        "opens devices": works("/dev/ptmx", os.O_RDWR),
        "has temporary files": works(f"{os.environ['TMPDIR']}/one", os.O_CREAT | os.O_WRONLY),
        "nice": os.getpriority(os.PRIO_PROCESS, 0),
        "sockets": sum(stat.S_ISSOCK(os.fstat(fd).st_mode) for fd in _descriptors()),
    }


def _descriptors() -> list[int]:
    return [int(path.name) for path in Path("/proc/self/fd").iterdir() if path.exists()]


HELPERS = {
    "plain": Helper(_prepare),
    "bound": Helper(_prepare, Bounds(seconds=0.5, memory_bytes=64 * MiB, message_bytes=1000)),
    "single": Helper(_prepare, Bounds(beside=1)),
    "unprepared": Helper(_unprepared),
}


def ask(payload: dict[str, Any]) -> dict[str, Any]:
    """Ask a helper; what it answers, or the reason why it does not."""
    try:
        return HELPERS[payload.get("helper", "plain")].ask(payload)
    except HelperFailed as error:
        return {"failed": str(error)}


def leave(payload: dict[str, Any]) -> dict[str, Any]:
    """Hand a connection through the door, send these bytes, and leave without waiting."""
    ours, theirs = socket.socketpair()
    socket.send_fds(HELPERS["single"]._door, [b"\0"], [theirs.fileno()])
    ours.sendall(bytes.fromhex(payload["sent"]))
    time.sleep(payload.get("seconds", 0))
    os._exit(0)


def disturb(_: dict[str, Any]) -> dict[str, Any]:
    """Send through the door what is no connection."""
    for _ in range(20):
        HELPERS["single"]._door.send(b"not a connection")
    with Path(os.devnull).open() as nothing:
        socket.send_fds(HELPERS["single"]._door, [b"."], [nothing.fileno()])
    return {}


def try_doors(_: dict[str, Any]) -> dict[str, Any]:
    """How many of all descriptors of this process lead to somebody who answers a request."""
    answered = 0
    for descriptor in _descriptors():
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as door:
            if door.type != socket.SOCK_SEQPACKET:
                continue
            ours, theirs = socket.socketpair()
            socket.send_fds(door, [b"\0"], [theirs.fileno()])
            theirs.close()
            ours.settimeout(2)
            ours.sendall(wire.encode({"do": "echo"}))
            answered += wire.receive(ours) is not None
    return {"answered": answered}
