"""Compiles kernels ahead of their launch, in a process that `compile` forks.

What comes out for each function of kernel.py under T.prim_func: registers and spilled bytes of a thread, shared memory
and threads of a program; or the message of TileLang or of CUDA's compiler. The cubin lies beside the kernel, and so
does TileLang's cache, in which the first launch finds the kernel ready.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from akg_cuda.nvrtc import Compiler

from akg_core.plugin import cores, kernels_of

CACHE = "compiled"  # the folder beside the kernel in which lies what TileLang compiled
_ASIDE = (
    r"ptxas info| +\d+ bytes stack frame|.* using precompiled header file"  # what is said of a kernel besides errors
)


def report(answers: Connection, folder: Path, arch: str, compiler: Compiler | Path) -> None:
    """Send what `compile_all` finds, or why TileLang cannot be imported."""
    try:
        answers.send(compile_all(folder, arch, compiler))
    except ImportError as error:
        answers.send(f"{type(error).__name__}: {error}")


def compile_all(folder: Path, arch: str, compiler: Compiler | Path) -> dict[str, dict[str, Any]]:
    """What is known of each PrimFunc in the folder's kernel.py, by name; one that takes lanes first is not known."""
    import tilelang
    from tilelang import tvm  # it brings a TVM of its own

    cache = folder / CACHE
    shutil.rmtree(cache, ignore_errors=True)
    os.environ |= {"TILELANG_CACHE_DIR": str(cache), "TILELANG_PRINT_ON_COMPILATION": "0"}
    os.environ.setdefault("CC", shutil.which("gcc") or "")  # what launches is C: as C++ it takes twice as long
    try:
        functions = {n: f for n, f in vars(kernels_of(folder)).items() if isinstance(f, tvm.tirx.PrimFunc)}
    except Exception as error:
        return {"kernel.py": {"error": _spelled(error)}}
    found: dict[int, dict[str, Any]] = {}  # by the thread that compiles

    def device_code(text: str, *_: object) -> bytearray:
        said = found[threading.get_ident()]
        return built(text, folder / f"{said['name']}.cubin", arch, compiler, said)

    tvm.ffi.register_global_func("tilelang_callback_cuda_compile", device_code, override=True)

    def compiled(name: str) -> dict[str, Any]:
        said: dict[str, Any] = {"name": name}
        found[threading.get_ident()] = said
        try:
            options = dict(functions[name].attrs.get("pass_configs", {}))
            kernel = tilelang.compile(functions[name], target={"kind": "cuda", "arch": arch}, pass_configs=options)
            said |= _launch(kernel.artifact.device_mod)
        except Exception as error:
            said.setdefault("error", _spelled(error))
        del said["name"]
        return said

    with ThreadPoolExecutor(cores()) as pool:
        return dict(zip(functions, pool.map(compiled, functions), strict=True))


def _launch(module: Any) -> dict[str, int]:
    """The threads of a program and the bytes of shared memory that its launch gives it."""
    (device,) = module.functions.values()
    extents = dict(device.attrs["thread_extent"].items()) if "thread_extent" in device.attrs else {}
    shared = int(device.attrs["dyn_shared_memory_buf"]) if "dyn_shared_memory_buf" in device.attrs else 0
    return {"threads": int(extents.get("threadIdx.x", 0)), "shared_bytes": shared}


def built(text: str, cubin: Path, arch: str, compiler: Compiler | Path, said: dict[str, Any]) -> bytearray:
    """Compile CUDA to a cubin as TileLang would, and add what ptxas says of it to what is `said`."""
    source = cubin.with_suffix(".cu")
    source.write_text(text, encoding="utf-8")
    if isinstance(compiler, Compiler):
        code, log = compiler.compiled(text, source, arch)
    else:
        code, log = _by_nvcc(compiler, source, arch)
    if not code:
        lines = [line for line in log.splitlines() if not re.match(_ASIDE, line)]
        said["error"] = "\n".join(lines).replace(f"{cubin.parent}/", "").strip()
        raise RuntimeError("CUDA's compiler refused the kernel")
    registers = [int(n) for n in re.findall(r"Used (\d+) registers", log)]
    spilled = [int(n) for n in re.findall(r"(\d+) bytes spill stores", log)]
    said |= {"registers": max(registers, default=0), "spilled_bytes": max(spilled, default=0)}
    return bytearray(code)


def _by_nvcc(nvcc: Path, source: Path, arch: str) -> tuple[bytes, str]:
    """The cubin, empty where nvcc refuses the source, and what is said of it."""
    import tilelang

    own, cubin = Path(tilelang.__file__).parent, source.with_suffix(".cubin")
    include = [f"-I{own / 'src'}", f"-I{own / '3rdparty/cutlass/include'}"]
    options = ["-cubin", f"-arch={arch}", "-std=c++20", "-O3", "-lineinfo", "-Xptxas", "-v", *include]
    ended = subprocess.run([nvcc, *options, "-o", str(cubin), str(source)], capture_output=True, text=True)
    return (b"" if ended.returncode else cubin.read_bytes()), ended.stderr


def _spelled(error: BaseException) -> str:
    """What an error says, with the last place in kernel.py that it came from."""
    lines = [each for each in traceback.extract_tb(error.__traceback__) if each.filename.endswith("kernel.py")]
    if isinstance(error, SyntaxError):
        return f"kernel.py:{error.lineno}: {error.msg}"
    said = f"{type(error).__name__}: {error}".strip().splitlines()
    text = said[0] if len(said) == 1 else f"{said[0]}\n{said[-1]}"
    return f"kernel.py:{lines[-1].lineno}: {text}" if lines else text
