"""NVRTC, CUDA's compiler as a library: it starts no process, and reads TileLang's headers once for many kernels.

For them it precompiles these, in a process that others are forked from: what it keeps holds there and in its children,
at the addresses of that process. It lies in sealed memory, which no kernel can change and nobody has to remove.

What NVRTC makes is PTX, for ptxas: all constants of the headers are in it, and would make a cubin ten times as large.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import functools
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_FIRST = (13, 1)  # earlier ones address shared memory by 64 bits, which nvcc does not
_PARTS = ("bin/ptxas", "include/cccl", "include/crt", "include/cuda.h")
_COMMON = ("reduce.h", "scan.h", "ldsm.h", "threadblock_swizzle.h", "debug.h", "cuda_bf16_fallbacks.cuh")
_PRELUDE = "".join(f"#include <tl_templates/cuda/{name}>\n" for name in ("nvrtc_std.h", *_COMMON))
_SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
_precompiled: dict[str, str] = {}  # by architecture: where the headers are, here and in what is forked from here


@dataclass(frozen=True)
class Nvrtc:
    """The folder of a CUDA toolkit, and in it the libraries of NVRTC and of its builtins."""

    root: Path
    library: Path
    builtins: Path
    version: str


def find(roots: Sequence[Path]) -> Nvrtc | None:
    """The first NVRTC in folders of toolkits that addresses memory as nvcc does, with its own headers and ptxas."""
    for builtins in (path for root in roots for path in sorted(root.glob("lib*/libnvrtc-builtins.so.*"))):
        major, minor = (int(number) for number in re.findall(r"\d+", builtins.name)[:2])
        library, root = builtins.with_name(f"libnvrtc.so.{major}"), builtins.parents[1]
        whole = all((root / part).exists() for part in (library, *_PARTS))
        if (major, minor) >= _FIRST and whole and _version(root / "include/cuda.h") == 1000 * major + 10 * minor:
            return Nvrtc(root, library, builtins, f"{major}.{minor}")
    return None


def precompile(nvrtc: Nvrtc, arch: str) -> None:
    """Precompile TileLang's headers for an architecture; where that fails, kernels are compiled with them as text."""
    with contextlib.suppress(OSError), tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "headers")
        _run(nvrtc, _PRELUDE, "headers", arch, f"--create-pch={made}")
        with made.open("rb") as source:
            kept = os.memfd_create("headers", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
            with open(kept, "wb", closefd=False) as target:
                shutil.copyfileobj(source, target, 1 << 20)
        fcntl.fcntl(kept, fcntl.F_ADD_SEALS, _SEALS)
        _precompiled[arch] = f"/proc/self/fd/{kept}"


def compiled(nvrtc: Nvrtc, text: str, source: Path, arch: str) -> tuple[bytes, str]:
    """The cubin of a kernel, empty where it is refused, and what is said of it; `source`: where its text lies."""
    options = [f"--use-pch={_precompiled[arch]}"] if arch in _precompiled else []
    ptx, log = _run(nvrtc, f'{_PRELUDE}#line 1 "{source}"\n{text}', source.name, arch, *options)
    if not ptx:
        return b"", log
    written, cubin = source.with_suffix(".ptx"), source.with_suffix(".cubin")
    written.write_text(_used(ptx), encoding="utf-8")
    command = [str(nvrtc.root / "bin/ptxas"), f"-arch={arch}", "-v", "--generate-line-info", str(written)]
    ended = subprocess.run([*command, "-o", str(cubin)], capture_output=True, text=True)
    return (b"" if ended.returncode else cubin.read_bytes()), f"{log}\n{ended.stdout}{ended.stderr}"


def _used(ptx: str) -> str:
    """The text without the variables that nothing in it uses."""
    named = Counter(re.findall(r"\w+", ptx))
    variable = re.compile(r"^\.global .*?(\w+)(\[\d+\])?( = .*)?;\n", re.MULTILINE)
    return variable.sub(lambda found: found[0] if named[found[1]] > 1 else "", ptx)


def _run(nvrtc: Nvrtc, text: str, name: str, arch: str, *more: str) -> tuple[str, str]:
    """The PTX of a text of CUDA, "" where it is refused, and what is said of it."""
    library, program = _loaded(nvrtc), ctypes.c_void_p()
    spec = importlib.util.find_spec("tilelang")
    own = Path((spec and spec.origin) or "").parent
    include = ("src", "3rdparty/cutlass/include", nvrtc.root / "include", nvrtc.root / "include/cccl")
    virtual = arch.replace("sm", "compute")
    options = [f"--gpu-architecture={virtual}", "-std=c++20", "-default-device", "-lineinfo", "-w"]
    options += [*(f"-I{own / path}" for path in include), *more]
    words = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), name.encode(), 0, None, None)
    try:
        refused = library.nvrtcCompileProgram(program, len(options), words)
        return ("" if refused else _got(library, program, "PTX")), _got(library, program, "ProgramLog")
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _got(library: Any, program: ctypes.c_void_p, what: str) -> str:
    size = ctypes.c_size_t()
    getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    found = ctypes.create_string_buffer(size.value)
    getattr(library, f"nvrtcGet{what}")(program, found)
    return found.value.decode(errors="replace")


@functools.cache
def _loaded(nvrtc: Nvrtc) -> Any:
    """The library; by its builtins' name alone it would find those of whatever CUDA the system has."""
    ctypes.CDLL(str(nvrtc.builtins), mode=ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(str(nvrtc.library))


def _version(header: Path) -> int:
    found = re.search(r"#define CUDA_VERSION (\d+)", header.read_text(encoding="utf-8", errors="replace"))
    return int(found[1]) if found else 0
