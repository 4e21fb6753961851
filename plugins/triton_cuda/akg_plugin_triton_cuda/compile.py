"""Compiles every kernel of a source to a cubin, with or without a GPU, side by side (`ahead.py`).

`launches.json` says with which dtypes, numbers and options each kernel is launched. Triton keeps what it compiled, so
that on a machine with the GPU the first launch finds it ready.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from akg_core.errors import ToolchainError
from akg_core.records import Artifact, CompileResult, KernelSource, Scalar, Target
from akg_core.toolchain import with_sketch_lines, write_source
from akg_plugin_triton_cuda.probe import CHIPS, INSTALL, capability_of, gpus, triton_version

SECONDS = 240.0
CACHE = "compiled"  # the folder beside the kernel in which Triton keeps what it compiled
POINTERS = {
    "f64": "*fp64",
    "f32": "*fp32",
    "f16": "*fp16",
    "bf16": "*bf16",
    "i64": "*i64",
    "i32": "*i32",
    "i16": "*i16",
    "i8": "*i8",
    "u8": "*u8",
    "bool": "*i1",
}


def compile_kernel(source: KernelSource, target: Target, workdir: Path) -> CompileResult:
    """Build `source` in `workdir`. Raises ToolchainError without Triton; a compile error is a result."""
    began = time.perf_counter()
    if not triton_version():
        raise ToolchainError("Triton is not installed.", f"{INSTALL}.")
    workdir = workdir.resolve()
    write_source(source, workdir)
    launches = json.loads(source.files.get("launches.json", "[]"))
    capability = capability_of(target)
    found = _compiled(workdir, capability, launches)
    details: dict[str, Scalar] = {}
    logs = []
    for launch, said in zip(launches, found, strict=True):
        name = launch["kernel"]
        if "error" in said:
            logs.append(f"{name} does not compile:\n{said['error']}\n")
            continue
        logs.append(
            f"{name}: {said['registers']} registers, {said['spilled_bytes']} bytes spilled, "
            f"{said['shared_bytes']} bytes of shared memory, {launch['num_warps']} warps\n"
        )
        details |= {f"{name}.{key}": value for key, value in said.items()}
        room = CHIPS[capability].shared_bytes
        if said["shared_bytes"] > room:
            logs.append(f"{name} needs {said['shared_bytes']} bytes of shared memory; sm_{capability} has {room}\n")
    log = located("".join(logs), workdir, source)
    (workdir / "build.log").write_text(log, encoding="utf-8")
    good = not any("error" in said for said in found) and not re.search(r"of shared memory; sm_", log)
    artifact = Artifact(folder=workdir, entry=source.entry) if good else None
    return CompileResult(
        ok=good, seconds=time.perf_counter() - began, artifact=artifact, log=log, details=details if good else {}
    )


def _compiled(folder: Path, capability: int, launches: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Compile all kernels in another process; what is known of each, or the compiler's message as its "error"."""
    load = any(gpu.capability == capability for gpu in gpus())
    payload = json.dumps({"folder": str(folder), "capability": capability, "load": load, "launches": launches})
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    environment["TRITON_CACHE_DIR"] = str(folder / CACHE)
    command = [sys.executable, "-m", "akg_plugin_triton_cuda.ahead"]
    try:
        ended = subprocess.run(
            command, input=payload, capture_output=True, text=True, timeout=SECONDS, env=environment, cwd=folder
        )
    except subprocess.TimeoutExpired:
        return [{"error": f"Triton took more than {SECONDS:.0f} s"} for _ in launches]
    lines = ended.stdout.splitlines()
    if ended.returncode == 0 and lines:
        found: list[dict[str, Any]] = json.loads(lines[-1])
        return found
    said = ended.stderr.strip() or f"Triton ended with {ended.returncode} and said nothing"
    return [{"error": said} for _ in launches]


def located(log: str, folder: Path, source: KernelSource) -> str:
    """The log with places as kernel.py:LINE, and beside each the line of the sketch that it came from.

    Triton counts from the function's own first line: "at 6:22:", and then the text from `def NAME(`.
    """
    lines = source.files.get("kernel.py", "").splitlines()
    starts = {text.removeprefix("def ").split("(")[0]: n for n, text in enumerate(lines, 1) if text.startswith("def ")}
    log = log.replace(f"{folder}/", "")
    log = re.sub(r'File "(kernel\.py)", line (\d+)', r"\1:\2", log)

    def counted(match: re.Match[str]) -> str:
        line = starts.get(match["name"], 1) + int(match["line"]) - 1
        return f"at kernel.py:{line}:{match['column']}:\ndef {match['name']}("

    log = re.sub(r"at (?P<line>\d+):(?P<column>\d+):\s*\ndef (?P<name>\w+)\(", counted, log)
    return with_sketch_lines(log, source.line_map)
