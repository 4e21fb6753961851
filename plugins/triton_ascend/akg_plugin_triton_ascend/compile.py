"""Compiles every kernel of a source to HIVM, without an NPU (`ahead.py`).

`launches.json` says with which dtypes and numbers each kernel is launched; one of which it says nothing, such as a
model's, is compiled on its first call. What was compiled lies beside the kernel, in `compiled/`.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from akg_triton.build import Compiled, result, spelled
from akg_triton.manifest import launches_of

from akg_core.plugin import CompileResult, KernelSource, Target, ToolchainError, cores, version_of, write_source
from akg_plugin_triton_ascend import ahead, hivm
from akg_plugin_triton_ascend.ahead import Made
from akg_plugin_triton_ascend.chips import chip_of
from akg_plugin_triton_ascend.probe import SETUP, compiler
from akg_plugin_triton_ascend.shortages import shortage

SECONDS = 40  # of computing, for one kernel
FOLDER = "compiled"  # beside the kernel
LATER = "on its first call: what it needs of a core's memory is not known before"


def compile_kernel(source: KernelSource, target: Target, workdir: Path) -> CompileResult:
    """Build `source` in `workdir`. Raises ToolchainError where the compilers are missing; an error is a result."""
    began = time.perf_counter()
    chip = chip_of(target)
    if chip is None or compiler() is None or not version_of("triton-ascend"):
        raise ToolchainError("The compilers for Ascend NPUs are not here.", SETUP)
    folder = workdir.resolve()
    write_source(source, folder)
    launches = launches_of(source)
    found = zip(launches, _all(folder, launches, chip.target), strict=True)
    told = [_compiled(launch, made, chip.target) for launch, made in found]
    return result(source, folder, told, time.perf_counter() - began, LATER)


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
        return Made(error=spelled(error))


def _compiled(launch: dict[str, Any], made: Made, target: str) -> Compiled:
    """What came of a launch, in words."""
    name = launch["kernel"]
    if made.error:
        error = f"{name} does not compile for {target}:\n{made.error}\n"
        return Compiled(launch, error=error, lacks=shortage(launch, made.error))
    taken, where = hivm.planned(made.hivm), hivm.cores(made.hivm)
    spelled_out = ", ".join(f"{bytes} bytes of {level}" for level, bytes in sorted(taken.items()))
    form = "a binary" if made.binary else "HIVM"
    log = f"{name}: {form} for {where} cores, {spelled_out or 'no memory of a core'}\n"
    bytes_of = {f"{level.lower()}_bytes": bytes for level, bytes in taken.items()}
    return Compiled(launch, log, details={**bytes_of, "cores": where, "compiled": form})
