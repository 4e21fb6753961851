"""Compiles every kernel of a source to HIVM, without an NPU (`ahead.py`).

`launches.json` says with which dtypes and numbers each kernel is launched; one of which it says nothing, such as a
model's, is compiled on its first call. What was compiled lies beside the kernel, in `compiled/`.
"""

from __future__ import annotations

import os
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from akg_triton.check_source import kernels
from akg_triton.manifest import launches_of

from akg_core.plugin import (
    Artifact,
    CompileResult,
    KernelSource,
    Scalar,
    Target,
    ToolchainError,
    cores,
    with_sketch_lines,
    write_source,
)
from akg_plugin_triton_ascend import ahead, hivm
from akg_plugin_triton_ascend.ahead import Made
from akg_plugin_triton_ascend.chips import chip_of
from akg_plugin_triton_ascend.probe import SETUP, compiler, version
from akg_plugin_triton_ascend.shortages import shortage

SECONDS = 40.0  # for one kernel
FOLDER = "compiled"  # beside the kernel
LATER = "on its first call: what it needs of a core's memory is not known before"


def compile_kernel(source: KernelSource, target: Target, workdir: Path) -> CompileResult:
    """Build `source` in `workdir`. Raises ToolchainError where the compilers are missing; an error is a result."""
    began = time.perf_counter()
    chip = chip_of(target)
    if chip is None or compiler() is None or not version("triton-ascend"):
        raise ToolchainError("The compilers for Ascend NPUs are not here.", SETUP)
    folder = workdir.resolve()
    write_source(source, folder)
    launches = launches_of(source)
    found = list(zip(launches, _all(folder, launches, chip.target), strict=True))
    return _result(source, folder, chip.target, found, time.perf_counter() - began)


def _all(folder: Path, launches: list[dict[str, Any]], target: str) -> list[Made]:
    """What comes of each launch: its IR is made here, one after the other; the compilers run side by side."""
    os.environ.pop("TRITON_INTERPRET", None)
    names = [f"{number}_{launch['kernel']}" for number, launch in enumerate(launches)]

    def later(name: str, text: str | Made) -> Made:
        return text if isinstance(text, Made) else ahead.made(text, folder / FOLDER / name, target, SECONDS)

    texts = [_tensor_ir(folder, launch, target) for launch in launches]
    with ThreadPoolExecutor(cores()) as threads:
        return list(threads.map(later, names, texts))


def _tensor_ir(folder: Path, launch: dict[str, Any], target: str) -> str | Made:
    """A launch's Triton IR, or what Triton says against it."""
    try:
        return ahead.tensor_ir(folder, launch, target)
    except Exception as error:
        cause: BaseException = error
        while cause.__cause__:
            cause = cause.__cause__
        said, reason = f"{type(error).__name__}: {error}", str(cause).strip().rpartition("\n")[2]
        return Made(error=said if reason in said else f"{said}\n{reason}")


def _result(
    source: KernelSource, folder: Path, target: str, found: list[tuple[dict[str, Any], Made]], took: float
) -> CompileResult:
    """What came out of the kernels of one source; writes build.log."""
    details: dict[str, Scalar] = {} if found else {f"{name}.compiled": LATER for name in kernels(source)}
    logs = [f"{key.removesuffix('.compiled')} is compiled {said}\n" for key, said in details.items()]
    errors: list[str] = []
    short = [shortage(launch, made.error) if made.error else None for launch, made in found]
    for launch, made in found:
        name = launch["kernel"]
        if made.error:
            errors.append(f"{name} does not compile for {target}:\n{made.error}\n")
            continue
        taken, where = hivm.planned(made.hivm), hivm.cores(made.hivm)
        spelled = ", ".join(f"{bytes} bytes of {level}" for level, bytes in sorted(taken.items()))
        form = "a binary" if made.binary else "HIVM"
        logs.append(f"{name}: {form} for {where} cores, {spelled or 'no memory of a core'}\n")
        details |= {f"{name}.{level.lower()}_bytes": bytes for level, bytes in taken.items()}
        details |= {f"{name}.cores": where, f"{name}.compiled": form}
    log = located("".join(logs + errors), folder, source)  # what is wrong comes last, where people and `explain` look
    (folder / "build.log").write_text(log, encoding="utf-8")
    if errors:
        faulty = any(made.error and lacks is None for (_, made), lacks in zip(found, short, strict=True))
        shortages = () if faulty else tuple(lacks for lacks in short if lacks)  # smaller tiles mend no fault
        return CompileResult(ok=False, seconds=took, log=log, shortages=shortages)
    artifact = Artifact(folder=folder, entry=source.entry)
    return CompileResult(ok=True, seconds=took, artifact=artifact, log=log, details=details)


def located(log: str, folder: Path, source: KernelSource) -> str:
    """The log with places as kernel.py:LINE, and beside each the line of the sketch that it came from.

    Triton counts from the function's own first line: "at 6:22:", and then the text from `def NAME(`.
    """
    lines = source.files.get("kernel.py", "").splitlines()
    starts = {text.removeprefix("def ").split("(")[0]: n for n, text in enumerate(lines, 1) if text.startswith("def ")}
    log = log.replace(f"{folder}/", "")

    def counted(match: re.Match[str]) -> str:
        line = starts.get(match["name"], 1) + int(match["line"]) - 1
        return f"at kernel.py:{line}:{match['column']}:\ndef {match['name']}("

    log = re.sub(r"at (?P<line>\d+):(?P<column>\d+):\s*\ndef (?P<name>\w+)\(", counted, log)
    return with_sketch_lines(log, source.line_map)
