"""The inside of a worker: take a request from the socket, run the named function, answer."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import importlib
import os
import socket
import sys
import traceback
from typing import Any

from akg_core.errors import AkgError, says_no_memory
from akg_core.worker import wire
from akg_core.worker.timekeeper import Turns

turns: Turns | None = None
"""How this process is timed from outside, where it is."""


def serve(connection: socket.socket) -> None:
    """Answer requests until the other end closes. Never lets an exception out."""
    faulthandler.enable(file=sys.stderr)
    while (request := wire.receive(connection)) is not None:
        answer = _encoded(_run(request["function"], request["payload"]))
        _flush()
        connection.sendall(answer)


def _run(function: str, payload: dict[str, Any]) -> dict[str, Any]:
    try:
        module, _, name = function.partition(":")
        return {"status": "ok", "value": getattr(importlib.import_module(module), name)(payload)}
    except AkgError as error:
        return _error(error, error.message, error.cure)
    except MemoryError:
        return {"status": "out of memory"}
    except SystemExit as error:
        return {"status": "exited", "code": error.code if isinstance(error.code, int) else 1}
    except BaseException as error:
        traceback.print_exc()
        said = _said(error)
        if isinstance(error, RuntimeError) and says_no_memory(said):
            return {"status": "out of memory", "said": said.split(". GPU", 1)[0]}
        return _error(error, said or type(error).__name__, "")


def _said(error: BaseException) -> str:
    """What an error says, as far as it can: one of foreign code may fail at that, too."""
    with contextlib.suppress(Exception):
        return str(error)
    return ""


def _error(error: BaseException, message: str, cure: str) -> dict[str, Any]:
    return {"status": "error", "error": {"type": type(error).__name__, "message": message, "cure": cure}}


def _encoded(answer: dict[str, Any]) -> bytes:
    try:
        return wire.encode(answer)
    except (TypeError, ValueError, RecursionError) as error:
        return wire.encode(_error(error, f"the job's result is not JSON: {error}", ""))


def _flush() -> None:
    """Bring out what Python and the C library still hold of the log."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    ctypes.CDLL(None).fflush(None)


def open_log(descriptor: int) -> None:
    """Point standard output and error at `descriptor`, and standard input at nothing."""
    for target in (1, 2):
        os.dup2(descriptor, target)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", buffering=1, closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
