"""Compiles every kernel of one or more sources to cubins, with or without a GPU, side by side (`ahead.py`).

`launches.json` says with which dtypes, numbers and options each kernel is launched; one of which it says
nothing, such as a model's, is compiled on its first call. What was compiled lies beside the kernel, so that on a
machine with the GPU the first launch finds it ready; it is kept in the user's cache, too.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from akg_cuda.chips import CHIPS, LANES, capability_of, gpu_of
from akg_triton import build
from akg_triton.build import Compiled, kernel_of, result
from akg_triton.manifest import launches_of

from akg_core.plugin import (
    CompileResult,
    KernelSource,
    Shortage,
    Target,
    ToolchainError,
    cache_folder,
    prune,
    resources,
    write_source,
)
from akg_plugin_triton_cuda import ahead
from akg_plugin_triton_cuda.probe import INSTALL, triton_version

SECONDS = 240.0  # for all kernels of one source
SECONDS_OF_MANY = 30.0  # of a core, for one kernel of many sources, none of which is worth to wait for
CACHE = "compiled"  # the folder beside the kernel in which lies what Triton compiled
LATER = "on its first call: registers, spills and occupancy are not known before"
KEPT = 2000  # folders of Triton's own cache, one a kernel
_MESSAGES = {
    r"too much shared data \((?P<needs>0x\w+) bytes, (?P<has>0x\w+) max\)": "bytes of shared memory",
}
IN_USE_SECONDS = 3600.0  # since a folder was used, in which some build, of whichever run, may still read it


def compile_kernel(source: KernelSource, target: Target, workdir: Path) -> CompileResult:
    """Build `source` in `workdir`. Raises ToolchainError without a Triton that works; a compile error is a result."""
    return _build([source], target, [workdir], SECONDS)[0]


def compile_all(sources: Sequence[KernelSource], target: Target, workdirs: Sequence[Path]) -> tuple[CompileResult, ...]:
    """Build each source in its folder, all at once; a kernel that takes long is an error."""
    return _build(sources, target, workdirs, SECONDS_OF_MANY)


def _build(
    sources: Sequence[KernelSource], target: Target, workdirs: Sequence[Path], seconds: float
) -> tuple[CompileResult, ...]:
    began = time.perf_counter()
    if not triton_version():
        raise ToolchainError("Triton is not installed.", f"{INSTALL}.")
    capability = capability_of(target)
    builds = []
    for source, workdir in zip(sources, workdirs, strict=True):
        write_source(source, workdir.resolve())
        builds.append((workdir.resolve(), launches_of(source)))
    answers = compiled(builds, capability, seconds)
    took = time.perf_counter() - began
    return tuple(
        result(source, folder, [_compiled(*each, capability) for each in zip(launches, said, strict=True)], took, LATER)
        for source, (folder, launches), said in zip(sources, builds, answers, strict=True)
    )


def _compiled(launch: dict[str, Any], said: dict[str, Any], capability: int) -> Compiled:
    """What is known of a launch, in words."""
    name, warps, lacks = launch["kernel"], launch["num_warps"], shortage(launch, said, capability)
    if "error" in said:
        return Compiled(launch, error=f"{name} does not compile:\n{said['error']}\n", lacks=lacks)
    share = resources.occupancy(said["registers"], said["shared_bytes"], warps, CHIPS[capability].unit)
    log = (
        f"{name}: {said['registers']} registers, {said['spilled_bytes']} bytes spilled, "
        f"{said['shared_bytes']} bytes of shared memory, {warps} warps, occupancy {share:.0%}\n"
    )
    error = f"{name} needs {lacks.needs} {lacks.of}; sm_{capability} has {lacks.has}\n" if lacks else ""
    details = {**said, "warps": warps, "occupancy": round(share, 3)}
    return Compiled(launch, log, error, details, lacks, said["spilled_bytes"] * warps * LANES)


def shortage(launch: dict[str, Any], said: dict[str, Any], capability: int) -> Shortage | None:
    """What is too little for the kernel of a launch, of which `said` is known; None where it fits."""
    if "error" in said:
        return build.shortage(launch, said["error"], _MESSAGES)
    needed = said["registers"], said["shared_bytes"], launch["num_warps"]
    return resources.shortage(kernel_of(launch), *needed, CHIPS[capability].unit)


def compiled(
    builds: Sequence[tuple[Path, list[dict[str, Any]]]], capability: int, seconds: float = SECONDS
) -> list[list[dict[str, Any]]]:
    """Compile the kernels of each (folder, launches) in other processes; what is known of each, or its "error"."""
    payload = {
        "builds": [{"folder": str(folder), "launches": launches} for folder, launches in builds],
        "capability": capability,
        "load": gpu_of(capability) is not None,
        "seconds": seconds,
        "cache": CACHE,
    }
    kept = cache_folder() / f"triton-{triton_version()}"
    said = _here(payload, kept) if ahead.is_ready() else _elsewhere(payload, kept, builds[0][0])
    prune(kept, KEPT, IN_USE_SECONDS)
    if isinstance(said, str):
        return [[{"error": said} for _ in launches] for _, launches in builds]
    return said


def _here(payload: dict[str, Any], kept: Path) -> list[list[dict[str, Any]]] | str:
    """What is compiled by processes that are forked from this one, or what is wrong."""
    before = os.environ.get("TRITON_CACHE_DIR")
    os.environ["TRITON_CACHE_DIR"] = str(kept)
    try:
        return ahead.compile_all(payload)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        os.environ.pop("TRITON_CACHE_DIR")
        if before is not None:
            os.environ["TRITON_CACHE_DIR"] = before


def _elsewhere(payload: dict[str, Any], kept: Path, folder: Path) -> list[list[dict[str, Any]]] | str:
    """What another process compiles, or what is wrong with it. Raises ToolchainError when it cannot import Triton."""
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    environment["TRITON_CACHE_DIR"] = str(kept)
    command, asked = [sys.executable, "-m", "akg_plugin_triton_cuda.ahead"], json.dumps(payload)
    try:
        ended = subprocess.run(
            command, input=asked, capture_output=True, text=True, timeout=SECONDS, env=environment, cwd=folder
        )
    except subprocess.TimeoutExpired:
        return f"Triton took more than {SECONDS:.0f} s"
    if ended.returncode == ahead.UNUSABLE:
        why = ended.stderr.strip().splitlines()[-1].rstrip(".")
        raise ToolchainError(f"Triton {triton_version()} is installed and cannot be imported: {why}.", f"{INSTALL}.")
    lines = ended.stdout.splitlines()
    if ended.returncode == 0 and lines:
        found: list[list[dict[str, Any]]] = json.loads(lines[-1])
        return found
    return ended.stderr.strip() or f"Triton ended with {ended.returncode} and said nothing"
