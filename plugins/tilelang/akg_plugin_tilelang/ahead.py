"""Lowers and compiles kernels ahead of their launch, in a process that `compile` forks.

What comes out for each function of kernel.py under T.prim_func: registers and spilled bytes of a thread, shared memory
and threads of a program; or the message of TileLang or nvcc. The cubin lies beside the kernel.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from akg_core.plugin import cores


def report(answers: Connection, folder: Path, arch: str, nvcc: str) -> None:
    """Send what `compile_all` finds, or why TileLang cannot be imported."""
    try:
        answers.send(compile_all(folder, arch, nvcc))
    except ImportError as error:
        answers.send(f"{type(error).__name__}: {error}")


def compile_all(folder: Path, arch: str, nvcc: str) -> dict[str, dict[str, Any]]:
    """What is known of each PrimFunc in the folder's kernel.py, by name; one that takes lanes first is not known."""
    from tilelang import tvm  # it brings a TVM of its own

    target = tvm.target.Target({"kind": "cuda", "arch": arch})
    try:
        functions = {n: f for n, f in vars(_module(folder / "kernel.py")).items() if isinstance(f, tvm.tirx.PrimFunc)}
    except Exception as error:
        return {"kernel.py": {"error": _spelled(error)}}
    found: dict[str, dict[str, Any]] = {}
    with ThreadPoolExecutor(cores()) as pool:
        pending = {}
        for name, function in functions.items():
            try:
                text, found[name] = lowered(function, target)
            except Exception as error:
                found[name] = {"error": _spelled(error)}
            else:
                pending[name] = pool.submit(built, text, folder / f"{name}.cubin", arch, nvcc)
        for name, result in pending.items():
            found[name] |= result.result()
    return found


def lowered(function: Any, target: Any) -> tuple[str, dict[str, Any]]:
    """The CUDA of a PrimFunc, with its threads and the bytes of shared memory that its launch gives it."""
    import tilelang

    with target:
        made = tilelang.lower(function, target=target)
    (device,) = made.device_mod.functions.values()
    extents = dict(device.attrs["thread_extent"].items()) if "thread_extent" in device.attrs else {}
    threads = int(extents.get("threadIdx.x", 0))
    shared = int(device.attrs["dyn_shared_memory_buf"]) if "dyn_shared_memory_buf" in device.attrs else 0
    return made.kernel_source, {"threads": threads, "shared_bytes": shared}


def built(text: str, cubin: Path, arch: str, nvcc: str) -> dict[str, Any]:
    """Compile CUDA to a cubin, and tell what ptxas says of it."""
    import tilelang

    own = Path(tilelang.__file__).parent
    source = cubin.with_suffix(".cu")
    source.write_text(text, encoding="utf-8")
    include = [f"-I{own / 'src'}", f"-I{own / '3rdparty/cutlass/include'}"]
    options = ["-cubin", f"-arch={arch}", "-std=c++17", "-O3", "-Xptxas", "-v", *include]
    ended = subprocess.run([nvcc, *options, "-o", str(cubin), str(source)], capture_output=True, text=True)
    if ended.returncode:
        return {"error": ended.stderr.replace(f"{cubin.parent}/", "").strip()}
    registers = [int(n) for n in re.findall(r"Used (\d+) registers", ended.stderr)]
    spilled = [int(n) for n in re.findall(r"(\d+) bytes spill stores", ended.stderr)]
    return {"registers": max(registers, default=0), "spilled_bytes": max(spilled, default=0)}


def _spelled(error: BaseException) -> str:
    """What an error says, with the last place in kernel.py that it came from."""
    lines = [each for each in traceback.extract_tb(error.__traceback__) if each.filename.endswith("kernel.py")]
    if isinstance(error, SyntaxError):
        return f"kernel.py:{error.lineno}: {error.msg}"
    said = f"{type(error).__name__}: {error}".strip().splitlines()
    text = said[0] if len(said) == 1 else f"{said[0]}\n{said[-1]}"
    return f"kernel.py:{lines[-1].lineno}: {text}" if lines else text


def _module(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("kernel", path)
    assert spec is not None and spec.loader is not None
    module = sys.modules["kernel"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
