"""Compiles every kernel of a source to a cubin, with or without a GPU, in a process of its own (`ahead`).

A function that is made for a number of lanes which only a launch knows is compiled on its first call.
"""

from __future__ import annotations

import json
import subprocess
import sys
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
from akg_plugin_tilelang.probe import INSTALL, nvcc, tilelang_version

SECONDS = 240.0  # for all kernels of one source


def compile_kernel(source: KernelSource, target: Target, workdir: Path) -> CompileResult:
    """Build `source` in `workdir`. Raises ToolchainError without TileLang or nvcc; a compile error is a result."""
    began = time.perf_counter()
    if not tilelang_version() or nvcc() is None:
        missing = "TileLang is not installed." if not tilelang_version() else "There is no nvcc."
        raise ToolchainError(missing, f"`{INSTALL}` installs it.")
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
    """What another process finds of each function, or what is wrong with it."""
    arch = f"sm_{capability}a" if capability >= 90 else f"sm_{capability}"
    asked = json.dumps({"folder": str(folder), "arch": arch, "nvcc": str(nvcc())})
    command = [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}; import runpy; {_RUN}"]
    try:
        ended = subprocess.run(command, input=asked, capture_output=True, text=True, timeout=SECONDS, cwd=folder)
    except subprocess.TimeoutExpired:
        return {"kernel.py": {"error": f"TileLang took more than {SECONDS:.0f} s"}}
    lines = ended.stdout.splitlines()
    if ended.returncode == 0 and lines:
        found: dict[str, dict[str, Any]] = json.loads(lines[-1])
        return found
    said = ended.stderr.strip().splitlines() or [f"it ended with {ended.returncode} and said nothing"]
    if "ImportError" in said[-1] or "ModuleNotFoundError" in said[-1]:
        raise ToolchainError(f"TileLang cannot be imported: {said[-1].rstrip('.')}.", f"`{INSTALL}` makes it anew.")
    return {"kernel.py": {"error": said[-1]}}


_RUN = "runpy.run_module('akg_plugin_tilelang.ahead', run_name='__main__')"
