"""Compiles kernels ahead of their launch: `python -m akg_plugin_triton_cuda.ahead`, JSON in, JSON out.

What comes out for each: registers and spilled bytes of a thread, and shared memory of a program, as the cubin says; or
the compiler's message. Where Triton cannot be imported, why not comes out on stderr, with the exit status `UNUSABLE`.
What Triton made is kept in its cache for all (TRITON_CACHE_DIR), and what one build needs of it lies beside its kernel.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import multiprocessing
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import IO, Any

from akg_triton.build import spelled
from akg_triton.signature import signature

from akg_core.plugin import cores, kernels_of, processors

UNUSABLE = 3
_FORKING = multiprocessing.get_context("fork")


def compile_all(asked: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Compile the kernels of `asked["builds"]`, each {folder, launches}, as many at a time as there are cores.

    Each is compiled by a process of its own that has Triton imported already, in `asked["seconds"]` of a core at most.
    With `load`, what launches it is built too. The answer has a list for each build, an entry for each launch.
    """
    ready_to_compile()
    if asked["load"]:
        _ready_to_launch()
    jobs = [(Path(build["folder"]), launch) for build in asked["builds"] for launch in build["launches"]]
    found = _side_by_side(jobs, asked)
    answers = iter(found[place] for place in range(len(jobs)))
    return [[next(answers) for _ in build["launches"]] for build in asked["builds"]]


def _side_by_side(jobs: list[tuple[Path, dict[str, Any]]], asked: dict[str, Any]) -> dict[int, dict[str, Any]]:
    """What is known of each job, by its place."""
    most = cores()
    first = random.randrange(most)
    waiting, running = deque(range(len(jobs))), dict[Connection, tuple[int, BaseProcess]]()
    found: dict[int, dict[str, Any]] = {}
    while waiting or running:
        while waiting and len(running) < most:
            place = waiting.popleft()
            ours, theirs = _FORKING.Pipe(duplex=False)
            process = _FORKING.Process(target=_report, args=(theirs, *jobs[place], asked, (first + place) % most))
            process.start()
            theirs.close()
            running[ours] = (place, process)
        for answers in wait(list(running)):
            assert isinstance(answers, Connection)
            ended, compiler = running.pop(answers)
            found[ended] = _received(compiler, answers, asked["seconds"])
    return found


@contextlib.contextmanager
def _a_core(number: int) -> Iterator[None]:
    """Take a core of this process's that no other compilation of this user has, in whichever run, or wait for that of
    `number`, counted among them."""
    folder = Path(os.environ["TRITON_CACHE_DIR"])
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        locks = [stack.enter_context((folder / f"core-{core}.lock").open("w")) for core in processors()]
        if not any(map(_taken, locks[number:] + locks[:number])):
            fcntl.flock(locks[number], fcntl.LOCK_EX)
        yield


def _taken(lock: IO[str]) -> bool:
    """Take a lock that nobody has. Says whether it could be taken."""
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def _report(answers: Connection, folder: Path, launch: dict[str, Any], asked: dict[str, Any], core: int) -> None:
    """Compile one kernel, have what it needs beside it, and say what the cubin says."""
    seconds = int(asked["seconds"])
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    try:
        with _a_core(core):
            answers.send(_compiled(folder, launch, asked))
    except Exception as error:
        answers.send({"error": spelled(error)})


def _compiled(folder: Path, launch: dict[str, Any], asked: dict[str, Any]) -> dict[str, Any]:
    """What the cubin of one kernel says; what launching it needs is put beside it."""
    made = compiled(kernels_of(folder), launch, asked["capability"])
    if asked["load"]:
        import triton

        triton.runtime.driver.active.launcher_cls(made.src, made.metadata)
    for used in _used(made):
        os.utime(used)  # which says that it is in use
        _copy(used, folder / asked["cache"] / used.name)
    return {"shared_bytes": made.metadata.shared, **usage(made.asm["cubin"])}


def _received(process: BaseProcess, answers: Connection, seconds: float) -> dict[str, Any]:
    try:
        said: dict[str, Any] = answers.recv()
    except EOFError:
        process.join()
        if process.exitcode == -signal.SIGXCPU:
            return {"error": f"Triton took more than {seconds:.0f} s"}
        return {"error": f"Triton ended with {process.exitcode} and said nothing"}
    process.join()
    return said


def ready_to_compile() -> None:
    """Import what compiling needs, and have Triton hash its own files: processes are forked from here."""
    import triton.compiler.code_generator  # noqa: F401
    from triton.runtime.cache import triton_key

    triton_key()


def is_ready() -> bool:
    """Whether this process was forked from one that was ready to compile, and is not to simulate."""
    imported = {"akg_plugin_triton_cuda.warm", "triton.compiler.code_generator"} <= sys.modules.keys()
    return imported and "TRITON_INTERPRET" not in os.environ


def _ready_to_launch() -> None:
    """Build what Triton calls the driver by; the driver itself is not started, for processes are forked from here."""
    import triton
    from triton.backends.nvidia.driver import CudaDriver

    triton.runtime.driver.set_active(CudaDriver())


def _used(made: Any) -> Iterator[Path]:
    """The folders of Triton's cache that a compiled kernel consists of, and those of libraries loaded from there."""
    yield Path(next(iter(made.metadata_group.values()))).parent
    cache = Path(os.environ["TRITON_CACHE_DIR"])
    lines = Path("/proc/self/maps").read_text().splitlines()
    loaded = {Path(line.split(maxsplit=5)[5]) for line in lines if "/" in line}
    yield from {path.parent for path in loaded if path.is_relative_to(cache)}


def _copy(used: Path, place: Path) -> None:
    """Copy a folder of Triton's cache, but for what others, who compile the same, have not finished to write there."""
    shutil.copytree(used, place, dirs_exist_ok=True, ignore=shutil.ignore_patterns("tmp.*"))


def compiled(module: Any, launch: dict[str, Any], capability: int) -> Any:
    """A kernel of `module` as Triton compiles it for a launch, or as it kept it from an earlier time."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    types, aligned = signature(launch)
    source = ASTSource(getattr(module, launch["kernel"]), types, constexprs=launch["constants"], attrs=aligned)
    options = {"num_warps": launch["num_warps"], "num_stages": launch["num_stages"]}
    return triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options)


def usage(cubin: bytes) -> dict[str, int]:
    """Registers and spilled bytes of a thread, read from a cubin by the cuobjdump that comes with Triton."""
    from triton import knobs

    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        tool = knobs.nvidia.cuobjdump.path
        said = subprocess.run([tool, "-res-usage", file.name], capture_output=True, text=True).stdout
    found = {key: int(value) for key, value in re.findall(r"\b(REG|STACK|LOCAL):(\d+)", said)}
    return {"registers": found.get("REG", 0), "spilled_bytes": found.get("STACK", 0) + found.get("LOCAL", 0)}


if __name__ == "__main__":
    try:
        import triton.compiler  # noqa: F401
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(UNUSABLE)
    print(json.dumps(compile_all(json.load(sys.stdin))))
