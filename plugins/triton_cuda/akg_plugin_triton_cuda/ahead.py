"""Compiles kernels ahead of their launch: `python -m akg_plugin_triton_cuda.ahead`, JSON in, JSON out.

What comes out for each: registers and spilled bytes of a thread, and shared memory of a program, as the cubin says; or
the compiler's message.
"""

from __future__ import annotations

import importlib.util
import json
import multiprocessing.process
import re
import subprocess
import sys
import tempfile
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any


def compile_all(asked: dict[str, Any]) -> list[dict[str, Any]]:
    """Compile the kernels of `asked["launches"]`, each in a process of its own that has Triton imported already.

    With `load`, the GPU of this machine is made ready for them, by one process for all.
    """
    import triton.compiler  # noqa: F401  for the processes that are forked from here

    module = _module(Path(asked["folder"]) / "kernel.py")
    forking = multiprocessing.get_context("fork")
    running = []
    for launch in asked["launches"]:
        ours, theirs = forking.Pipe(duplex=False)
        process = forking.Process(target=_report, args=(theirs, module, launch, asked["capability"]))
        process.start()
        theirs.close()
        running.append((process, ours))
    found = [_received(process, answers) for process, answers in running]
    if asked["load"]:
        for launch, said in zip(asked["launches"], found, strict=True):
            if "error" not in said:
                compiled(module, launch, asked["capability"])._init_handles()  # builds what launches it, too
    return found


def _report(answers: Connection, module: Any, launch: dict[str, Any], capability: int) -> None:
    try:
        made = compiled(module, launch, capability)
        answers.send({"shared_bytes": made.metadata.shared, **usage(made.asm["cubin"])})
    except Exception as error:
        answers.send({"error": f"{type(error).__name__}: {error}"})


def _received(process: multiprocessing.process.BaseProcess, answers: Connection) -> dict[str, Any]:
    try:
        said: dict[str, Any] = answers.recv()
    except EOFError:
        process.join()
        return {"error": f"Triton ended with {process.exitcode} and said nothing"}
    process.join()
    return said


def compiled(module: Any, launch: dict[str, Any], capability: int) -> Any:
    """A kernel of `module` as Triton compiles it for a launch, or as it kept it from an earlier time."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from akg_plugin_triton_cuda.compile import POINTERS

    kinds = [dtype.partition("[") for dtype in launch["tensors"].values()]
    types = [f"tensordesc<{POINTERS[dtype][1:]}[{block}>" if block else POINTERS[dtype] for dtype, _, block in kinds]
    signature = dict(zip(launch["tensors"], types, strict=True))
    signature |= dict.fromkeys(launch["sizes"], "i32")
    signature |= dict.fromkeys(launch["constants"], "constexpr")
    aligned = {(index,): [["tt.divisibility", 16]] for index, type in enumerate(types) if type[0] == "*"}
    source = ASTSource(getattr(module, launch["kernel"]), signature, constexprs=launch["constants"], attrs=aligned)
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


def _module(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("kernel", path)
    assert spec is not None and spec.loader is not None
    module = sys.modules["kernel"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    print(json.dumps(compile_all(json.load(sys.stdin))))
