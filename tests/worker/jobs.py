"""Jobs that the tests of the workers run: the honest and the hostile."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import mmap
import os
import resource
import signal
import socket
import statistics
import sys
import threading
import time
from pathlib import Path
from typing import Any

from akg_core.errors import TaskError
from akg_core.worker import seccomp

_count = 0
_held = b""


def echo(payload: dict[str, Any]) -> dict[str, Any]:
    return payload


def where(_: dict[str, Any]) -> dict[str, Any]:
    return {
        "pid": os.getpid(),
        "folder": str(Path.cwd()),
        "files": [path.name for path in Path().iterdir()],
        "tmp": os.environ["TMPDIR"],
    }


def environment(_: dict[str, Any]) -> dict[str, Any]:
    return dict(os.environ)


def control_group(_: dict[str, Any]) -> dict[str, Any]:
    return {"group": Path("/proc/self/cgroup").read_text()}


def fill_device(_: dict[str, Any]) -> dict[str, Any]:
    raise RuntimeError("CUDA out of memory. Tried to allocate 4.91 GiB.")


def loaded(payload: dict[str, Any]) -> dict[str, Any]:
    return {"loaded": [name for name in payload["names"] if name in sys.modules]}


def ends_its_keeper(payload: dict[str, Any]) -> dict[str, Any]:
    """Ends what watches over it, as the end of a warm parent does, so many times."""
    made = len(list(Path(payload["folder"]).iterdir()))
    if made < payload["times"]:
        Path(payload["folder"], str(made)).touch()
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(payload["seconds"])
    return {"times": made}


def count(_: dict[str, Any]) -> dict[str, Any]:
    global _count
    _count += 1
    return {"count": _count}


def task_error(_: dict[str, Any]) -> dict[str, Any]:
    raise TaskError("the file has no Model.", "Define one.")


def defect(_: dict[str, Any]) -> dict[str, Any]:
    raise ValueError("seven is not even")


def not_json(_: dict[str, Any]) -> dict[str, Any]:
    return {"value": object()}


def segfault(_: dict[str, Any]) -> dict[str, Any]:
    print("before the fall")
    ctypes.string_at(0)
    return {}


def nap(payload: dict[str, Any]) -> dict[str, Any]:
    time.sleep(payload["seconds"])
    return {}


def hang(payload: dict[str, Any]) -> dict[str, Any]:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "begun" in payload:
        Path(payload["begun"]).touch()
    while True:
        time.sleep(1)


def meet(payload: dict[str, Any]) -> dict[str, Any]:
    """Say that one is here, and wait until `count` jobs are."""
    folder = Path(payload["folder"])
    (folder / payload["name"]).touch()
    while len(list(folder.iterdir())) < payload["count"]:
        time.sleep(0.02)
    return {}


def devices(_: dict[str, Any]) -> dict[str, Any]:
    """Which devices can be opened, and whether what everybody needs still works."""
    opened = []
    for path in (path for path in Path("/dev").rglob("*") if not path.is_symlink() and not path.is_dir()):
        with contextlib.suppress(OSError):
            os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
            opened.append(path.name)
    Path("/dev/null").write_text("nothing")
    return {"opened": opened, "random": len(Path("/dev/urandom").open("rb").read(8))}


def lock(payload: dict[str, Any]) -> dict[str, Any]:
    """Whether a file that can only be read can be locked, by one that starts no processes."""
    seccomp.forbid_processes()
    with Path(payload["file"]).open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except PermissionError:
            return {"locked": False}
    return {"locked": True}


def exit_early(payload: dict[str, Any]) -> dict[str, Any]:
    if payload.get("politely"):
        sys.exit(0)
    os._exit(0)


def flood(_: dict[str, Any]) -> dict[str, Any]:
    line = b"x" * (1 << 20)
    for _ in range(1024):
        os.write(1, line)
    return {}


def eat_memory(payload: dict[str, Any]) -> dict[str, Any]:
    held = []
    for _ in range(payload["megabytes"] // 64):
        held.append(b"\x01" * (64 << 20))
        time.sleep(0.02)
    return {"held": len(held)}


def hold_memory(payload: dict[str, Any]) -> dict[str, Any]:
    """As much as that from now on."""
    global _held
    del _held  # what it was before
    _held = b"\x01" * (payload["megabytes"] << 20)
    time.sleep(0.3)
    return {}


def eat_shared_memory(payload: dict[str, Any]) -> dict[str, Any]:
    """Fill memory that is in nobody's tables: files that are nowhere, mappings that are dropped, files in memory."""
    piece, kept = b"x" * (32 << 20), []
    for _ in range(payload["megabytes"] // 32):
        if payload["how"] == "memfd":
            kept.append(os.memfd_create("x"))
            os.write(kept[-1], piece)
        elif payload["how"] == "mapping":
            kept.append(mmap.mmap(-1, len(piece)))
            kept[-1].write(piece)
            kept[-1].madvise(mmap.MADV_DONTNEED)
        else:
            descriptor = os.open(f"{payload['how']}/{len(kept)}", os.O_CREAT | os.O_RDWR)
            kept.append(os.write(descriptor, piece))
            os.close(descriptor)
    time.sleep(payload["seconds"])
    return {}


def allocate(payload: dict[str, Any]) -> dict[str, Any]:
    import torch

    return {"size": torch.ones(payload["megabytes"] << 18).numel()}


def fill_disk(payload: dict[str, Any]) -> dict[str, Any]:
    for index in range(100):
        (Path(payload["folder"]) / f"{index}").write_bytes(b"\x01" * (8 << 20))
        time.sleep(0.01)
    return {}


def litter(payload: dict[str, Any]) -> dict[str, Any]:
    for index in range(payload["count"]):
        (Path(payload["folder"]) / f"{index}").touch()
    return {}


def signal_others(payload: dict[str, Any]) -> dict[str, Any]:
    """Which processes a worker could signal, limit or move. Signal 0 and what stays only ask: nothing is ever ended."""
    reached = []
    for name, victim in payload["victims"].items():
        with contextlib.suppress(OSError):
            os.kill(victim, 0)
            reached.append(name)
        with contextlib.suppress(OSError):
            os.sched_setaffinity(abs(victim), os.sched_getaffinity(abs(victim)))
            reached.append(f"processors of {name}")
        with contextlib.suppress(OSError, ValueError):
            resource.prlimit(abs(victim), resource.RLIMIT_NOFILE)
            reached.append(f"limits of {name}")
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, abs(victim), 19)
            reached.append(f"priority of {name}")
    return {"reached": reached, "own": resource.prlimit(0, resource.RLIMIT_NOFILE)}


def system_calls(_: dict[str, Any]) -> dict[str, Any]:
    """Which calls that reach past namespaces the system takes from a worker; x86-64 only."""
    taken = []
    for family in (socket.AF_VSOCK, socket.AF_NETLINK, socket.AF_INET):
        with contextlib.suppress(OSError):
            socket.socket(family, socket.SOCK_STREAM if family != socket.AF_NETLINK else socket.SOCK_RAW).close()
            taken.append(f"socket {family}")
    system = ctypes.CDLL(None).syscall
    calls = {
        "io_uring_setup": (425, 1, ctypes.create_string_buffer(120)),
        "add_key": (248, b"user", b"akg-test", b"kept", 4, -3),
        "userfaultfd": (323, 1),
    }
    taken += [name for name, call in calls.items() if system(*call) >= 0]
    with socket.socket(socket.AF_UNIX):
        return {"taken": taken}


def leave_children(payload: dict[str, Any]) -> dict[str, Any]:
    """Fork a grandchild in a session of its own that would write a file a second later."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(1.0)
            Path(payload["file"]).write_text("still here")
        os._exit(0)
    time.sleep(0.1)
    return {}


def abandon(payload: dict[str, Any]) -> dict[str, Any]:
    """Leave a chain of processes behind, each in a session of its own, that count on and on in files."""
    for number in range(4):
        if os.fork() == 0:
            os.setsid()
            continue
        (Path(payload["folder"]) / f"{number}").touch()
        for count in range(10**9):
            (Path(payload["folder"]) / f"{number}").write_text(str(count))
            time.sleep(0.01)
    return hang({})


def close_descriptors(_: dict[str, Any]) -> dict[str, Any]:
    """Close all that this process has, and stay."""
    os.closerange(0, 4096)
    return hang({})


def fork_bomb(_: dict[str, Any]) -> dict[str, Any]:
    for _ in range(10_000):
        if os.fork() == 0:
            time.sleep(60)
    return {}


def write(payload: dict[str, Any]) -> dict[str, Any]:
    try:
        Path(payload["file"]).write_text("written")
        return {"written": True}
    except OSError as error:
        return {"written": False, "why": str(error)}


def connect(payload: dict[str, Any]) -> dict[str, Any]:
    try:
        with socket.create_connection(("127.0.0.1", payload["port"]), timeout=1):
            return {"connected": True}
    except OSError:
        return {"connected": False}


def answer(payload: dict[str, Any]) -> dict[str, Any]:
    """Write what no job answers where answers go, and end."""
    body = payload["body"].encode() * payload.get("times", 1)
    for descriptor in range(3, 64):
        with contextlib.suppress(OSError):
            if socket.socket(fileno=os.dup(descriptor)).type == socket.SOCK_STREAM:
                rest = memoryview(len(body).to_bytes(8, "big") + body)
                while rest:
                    rest = rest[os.write(descriptor, rest) :]
    time.sleep(60)
    return {}


def forge(_: dict[str, Any]) -> dict[str, Any]:
    """Write nonsense to every descriptor in reach, then stay."""
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, b"\0\0\0\0\0\0\0\x02[]" * 2)
        except OSError:
            continue
    time.sleep(0.5)
    return {"forged": True}


def parallel(_: dict[str, Any]) -> dict[str, Any]:
    """Use OpenMP, MKL and autograd's own threads in a forked child."""
    import torch

    torch.manual_seed(0)
    left = torch.randn(700, 700, requires_grad=True)
    product = left @ left
    product.sum().backward()
    exact = left.detach().double()
    wrong = (product.detach() - exact @ exact).abs().max()
    return {
        "threads": torch.get_num_threads(),
        "started": len(list(Path("/proc/self/task").iterdir())),
        "wrong": float(wrong),
    }


def niceness(_: dict[str, Any]) -> dict[str, Any]:
    return {"nice": os.nice(0)}


def threads_and_signals(_: dict[str, Any]) -> dict[str, Any]:
    seen = threading.Event()
    threading.Thread(target=seen.set).start()
    return {"thread": seen.wait(1), "loaded": "torch" in sys.modules}


def work_on(_: dict[str, Any]) -> dict[str, Any]:
    """Leave a thread and a process that count as long as they run; say how far they are."""
    if not _counts:
        _counts.extend(ctypes.c_long.from_buffer(mmap.mmap(-1, 4096)) for _ in range(2))
        if os.fork() == 0:
            _count_on(_counts[0])
        threading.Thread(target=_count_on, args=(_counts[1],), daemon=True).start()
    time.sleep(0.05)
    return {"counts": [number.value for number in _counts]}


def _count_on(number: ctypes.c_long) -> None:
    while True:
        number.value += 1
        time.sleep(0.0001)


_counts: list[ctypes.c_long] = []


def spin_after_work(_: dict[str, Any]) -> dict[str, Any]:
    """Seconds of processor time that go by while this process sleeps after work of two threads, by default and not."""
    import torch

    from akg_core.worker.threads import spin_little, threads

    given = torch.zeros(1 << 20)

    def spent() -> float:
        with threads(2):
            given.add_(1)
        began = time.process_time()
        time.sleep(0.05)
        return time.process_time() - began

    by_default = max(spent() for _ in range(5))
    spin_little()
    spent()  # threads that spin already do so until then
    return {"by_default": by_default, "little": statistics.median(spent() for _ in range(3))}
