"""The warm parents of all workers: each imports what its jobs need once, then forks one keeper for every job.

The first parent imports the first layer of modules (and those of the jobs named there); while it serves, a child of it
goes on to import the second, and so on. Each has a control socket. A datagram on it is one job's settings with four
descriptors: the socket that requests and answers travel on, the log, the status line, and the socket for orders to the
keeper. A zygote runs nothing, touches no device and has one thread, so that its children may start theirs. It ends when
its socket closes, or the zygote does that forked it; with the first, when everything that was ever started has ended,
the pool's folder goes.

The keeper stands between zygote and worker: it enters the namespaces, forks the worker as their first
process, and reports how it ended. SIGTERM makes it end the worker and all that it started.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import signal
import socket
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any, NoReturn

from akg_core.worker import cgroup, child, folders, helper, isolation, seccomp
from akg_core.worker.timekeeper import Timekeeper, Turns

_PARTING_SECONDS, _LOOK_SECONDS = 60.0, 0.005  # for what is killed to end, and how often it is looked at
_GIVING_WAY = 10  # on the scale from 0 to 19 of how nice a process is to others
_THREAD_COUNTS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def main(folder: str, layers: list[list[str]], descriptors: list[int]) -> None:
    """Be the zygote of each layer, that serves the control socket of its number; `folder` is the pool's."""
    controls = [socket.socket(fileno=descriptor) for descriptor in descriptors]
    inherited = {name: os.environ.get(name) for name in _THREAD_COUNTS}
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # it starts threads as soon as it is loaded
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # else torch's profiler prints into every log
    gc.disable()  # what is imported stays
    served = 0
    for name in layers[0]:
        importlib.import_module(name.partition(":")[0])
    gc.freeze()  # children share these pages instead of copying them at their first collection
    while served + 1 < len(layers) and isolation.fork() == 0:
        served += 1
        for name in layers[served]:
            with contextlib.suppress(Exception):  # the job that needs it says why it cannot be imported
                importlib.import_module(name.partition(":")[0])
        gc.freeze()
    gc.enable()
    for variable, value in inherited.items():
        os.environ.pop(variable, None)
        if value is not None:
            os.environ[variable] = value
    isolation.adopt_orphans()  # what a keeper that was killed leaves behind is found at the end
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps keepers; nobody asks how they ended
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    control = controls[served]
    for other in controls:
        if other is not control:
            other.close()
    try:
        _serve(control)
    finally:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        _end_descendants()
        if served == 0:
            cgroup.remove_all(Path(folder).name)
            folders.remove(Path(folder))


def _serve(control: socket.socket) -> None:
    """Fork a keeper for every job, until nobody is left who could send one."""
    groups: dict[int, Path] = {}  # by keeper; which may not remove one itself, where its worker has files read-only
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1 << 16, 4)
        if not message:
            return
        settings = json.loads(message)
        for ended in [keeper for keeper in groups if not Path(f"/proc/{keeper}").exists()]:
            if cgroup.discard(groups[ended]):
                del groups[ended]
        limits = cgroup.limits(settings["memory_bytes"], settings["file_bytes"], settings["processes"])
        group = cgroup.make("-".join(Path(settings["folder"]).parts[-2:]), limits)
        with contextlib.suppress(OSError):  # no more processes just now: the job's closed descriptors tell
            keeper = isolation.fork()
            if keeper == 0:
                control.close()
                _keep(settings, group, *descriptors)
            if group:
                groups[keeper] = group
        for held in descriptors:
            os.close(held)


def _keep(
    settings: dict[str, Any], group: Path | None, connection: int, log: int, status: int, orders: int
) -> NoReturn:
    """Be the keeper: fork the worker in its own namespaces, wait for it, take its time when asked, say how it ended."""
    isolation.adopt_orphans()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    child.open_log(log)
    os.close(log)
    try:
        _report(status, keeper=os.getpid())
        isolate = settings["isolate"] and not settings["lends"]
        alone = isolate and isolation.enter_namespaces(own_user=settings["confined"])
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        clock, turns = socket.socketpair()
        worker = isolation.fork()
        if worker == 0:
            os.close(orders)
            clock.close()
            child.turns = Turns(turns) if settings["timed"] else None
            _work(settings, alone, group, socket.socket(fileno=connection), status)
        os.close(connection)
        turns.close()

        def end_worker(*_: object) -> None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)

        signal.signal(signal.SIGTERM, end_worker)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        isolation.hide_memory()  # and with it the files that orders bring
        code = Timekeeper(socket.socket(fileno=orders), clock, worker).serve()
        if not alone:  # else they ended with their namespace
            if group:
                cgroup.end(group)
            _end_descendants()
        _report(status, ended=code)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(0)


def _work(
    settings: dict[str, Any], alone: bool, group: Path | None, connection: socket.socket, status: int
) -> NoReturn:
    """Be the worker: give up what it must not have, then serve."""
    try:
        os.setsid()
        os.nice(_GIVING_WAY if settings["gives_way"] else 0)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        os.chdir(settings["folder"])
        os.environ["TMPDIR"] = settings["folder"]
        tempfile.tempdir = None  # what the warm imports found there is forgotten
        protections = ["process group", "limits"]
        if group and cgroup.enter(group):
            protections.append("control group")
        own_proc = alone and isolation.mount_own_proc()
        if alone:
            protections += ["no network", "own processes"]
            protections += ["own /proc"] * own_proc
        isolation.limit_resources(settings["memory_bytes"], settings["file_bytes"], settings["open_files"])
        if settings["confined"]:
            helper.close_doors()
            writable = [Path(path) for path in settings["writable"]]
            room = settings["file_bytes"], settings["files"]
            is_open = not settings["sealed"]
            if alone and isolation.write_only_to(Path(settings["folder"]), writable, *room, own_proc, is_open):
                protections.append("read-only files")
            isolation.drop_privileges()
            protections.append("no privileges")
            if seccomp.install(os.getpid(), alone):
                protections += ["filtered system calls"]
                protections += [] if alone else ["no network", "no signals to others"]
        if not (settings["confined"] or settings["timed"]):
            isolation.hide_memory()
        if settings["threads"]:
            _use_threads(settings["threads"])
        _report(status, protections=protections)
        os.close(status)
        child.serve(connection)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(0)  # nothing that the job left behind (exit handlers, threads) runs


def _use_threads(count: int) -> None:
    for name in _THREAD_COUNTS:
        os.environ[name] = str(count)
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(count)


def _end_descendants() -> None:
    """End all children, and what is a child of this process only when its own parent has ended, however deep.

    Without a process namespace, what a worker started becomes the keeper's in this way. The kernel's list of children
    may lack one while another ends, so that it is read again until there are none. What is killed and does not end
    for long is stuck in the kernel, which is waited for no longer.
    """
    until = time.monotonic() + _PARTING_SECONDS
    while time.monotonic() < until:
        for process in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(process), signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(_LOOK_SECONDS)


def _report(status: int, **line: Any) -> None:
    os.write(status, json.dumps(line).encode() + b"\n")
