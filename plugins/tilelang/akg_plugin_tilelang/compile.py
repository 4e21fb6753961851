"""Compiles every kernel of a source to a cubin, with or without a GPU, in a process of its own (`ahead`).

A function that is made for a number of lanes which only a launch knows is compiled on its first call.
"""

from __future__ import annotations

import multiprocessing
import time
from pathlib import Path
from typing import Any

from akg_cuda.chips import CHIPS, LANES, capability_of

from akg_core.plugin import (
    Artifact,
    CompileResult,
    KernelSource,
    Scalar,
    Shortage,
    Target,
    ToolchainError,
    with_sketch_lines,
    write_source,
)
from akg_core.plugin.resources import shortage
from akg_plugin_tilelang import ahead
from akg_plugin_tilelang.probe import CURE, arch_of, missing, nvcc, nvrtc

SECONDS = 240.0  # for all kernels of one source
_FORKING = multiprocessing.get_context("fork")  # where TileLang is imported already


def compile_kernel(source: KernelSource, target: Target, workdir: Path) -> CompileResult:
    """Build `source` in `workdir`. Raises ToolchainError without what it needs; a compile error is a result."""
    began = time.perf_counter()
    if lacking := missing():
        raise ToolchainError(lacking, CURE)
    folder, capability = workdir.resolve(), capability_of(target)
    write_source(source, folder)
    found = _compiled(folder, capability) if "kernel.py" in source.files else {}
    logs: list[str] = []
    details: dict[str, Scalar] = {}
    short: list[Shortage | None] = []
    for name, said in found.items():
        short.append(_shortage(name, said, capability))
        logs.append(_told(name, said, short[-1], capability))
        if "error" not in said:
            details |= {f"{name}.{key}": value for key, value in said.items()}
    log = with_sketch_lines("".join(logs), source.line_map)
    (folder / "build.log").write_text(log, encoding="utf-8")
    took = time.perf_counter() - began
    faulty = any("error" in said for said in found.values())
    if faulty or any(short):
        shortages = () if faulty else tuple(each for each in short if each)
        return CompileResult(ok=False, seconds=took, log=log, shortages=shortages)
    spilled = {name: said["spilled_bytes"] * said["threads"] for name, said in found.items()}
    artifact = Artifact(folder=folder, entry=source.entry)
    return CompileResult(ok=True, seconds=took, artifact=artifact, log=log, details=details, spilled=spilled)


def _shortage(name: str, said: dict[str, Any], capability: int) -> Shortage | None:
    """What one program of a kernel needs more of than the chip has."""
    if "error" in said:
        return None
    warps = max(1, said["threads"] // LANES)
    return shortage(name, said["registers"], said["shared_bytes"], warps, CHIPS[capability].unit)


def _told(name: str, said: dict[str, Any], lacks: Shortage | None, capability: int) -> str:
    if "error" in said:
        return f"{name} does not compile:\n{said['error']}\n"
    if lacks:
        return f"{name} needs {lacks.needs} {lacks.of}; sm_{capability} has {lacks.has}\n"
    keys = ("registers", "spilled_bytes", "shared_bytes", "threads")
    return f"{name}: {', '.join(f'{said[key]} {key}' for key in keys)}\n"


def _compiled(folder: Path, capability: int) -> dict[str, dict[str, Any]]:
    """What a process that is forked from this one finds of each function, or what is wrong with it."""
    answers, theirs = _FORKING.Pipe(duplex=False)
    process = _FORKING.Process(target=ahead.report, args=(theirs, folder, arch_of(capability), nvrtc() or nvcc()))
    process.start()
    theirs.close()
    try:
        if not answers.poll(SECONDS):
            return {"kernel.py": {"error": f"TileLang took more than {SECONDS:.0f} s"}}
        found: dict[str, dict[str, Any]] | str = answers.recv()
    except EOFError:
        process.join()
        return {"kernel.py": {"error": f"TileLang ended with {process.exitcode} and said nothing"}}
    finally:
        process.kill()
        process.join()
    if isinstance(found, str):
        raise ToolchainError(f"TileLang cannot be imported: {found.rstrip('.')}.", CURE)
    return found
