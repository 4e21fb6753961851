"""NVRTC, CUDA's compiler as a library: it starts no process, and reads a language's headers once for many kernels.

    compiler = Compiler(find(roots), headers)
    compiler.start(arch)                           # in a warm parent of workers: precompiles the headers
    cubin, log = compiler.compiled(text, source, arch)

What it precompiles holds in the process that made it and in what is forked from there, at the addresses of that
process; and NVRTC starts CUDA for it, where that is, which what is forked afterwards could use no more. So a process
beside the warm parents does that, without a GPU (`akg_core.plugin.helper`), and compiles for all others. Where there is
none, the headers are compiled with each text.

What NVRTC makes is PTX, for ptxas: all constants of the headers are in it, and would make a cubin ten times as large.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import functools
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

from akg_core.plugin.helper import Answer, Helper, HelperFailed

_FIRST = (13, 1)  # earlier ones address shared memory by 64 bits, which nvcc does not
_PARTS = ("bin/ptxas", "include/cccl", "include/crt", "include/cuda.h")
_SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
_HEAP_BYTES = 1 << 30  # of addresses for headers that are precompiled; what they do not fill takes no memory
_helpers: dict[Compiler, Helper] = {}


@dataclass(frozen=True)
class Nvrtc:
    """The folder of a CUDA toolkit, and in it the libraries of NVRTC and of its builtins."""

    root: Path
    library: Path
    builtins: Path
    version: str


@dataclass(frozen=True)
class Headers:
    """What every text of a language begins with, in which folders that is found, and how it is compiled.

    `further`: lines that some texts have, all of them, which are read once for these, too.
    """

    prelude: str
    further: str = ""
    include: tuple[Path, ...] = ()
    options: tuple[str, ...] = ()


def find(roots: Sequence[Path]) -> Nvrtc | None:
    """The first NVRTC in folders of toolkits that addresses memory as nvcc does, with headers and a ptxas that runs."""
    for builtins in (path for root in roots for path in sorted(root.glob("lib*/libnvrtc-builtins.so.*"))):
        major, minor = (int(number) for number in re.findall(r"\d+", builtins.name)[:2])
        library, root = builtins.with_name(f"libnvrtc.so.{major}"), builtins.parents[1]
        whole = all((root / part).exists() for part in (library, *_PARTS)) and os.access(root / "bin/ptxas", os.X_OK)
        if (major, minor) >= _FIRST and whole and _version(root / "include/cuda.h") == 1000 * major + 10 * minor:
            return Nvrtc(root, library, builtins, f"{major}.{minor}")
    return None


@dataclass(frozen=True)
class Compiler:
    """NVRTC for a language."""

    nvrtc: Nvrtc
    headers: Headers

    def start(self, arch: str) -> None:
        """Have a process compile for this one, and for what is forked from it, headers precompiled for `arch`."""
        _helpers[self] = Helper(lambda: self._precompiled(arch))

    def compiled(self, text: str, source: Path, arch: str) -> tuple[bytes, str]:
        """The cubin of a kernel, empty where it is refused, and what is said of it; `source`: where its text lies."""
        text = f'{self._prelude_of(text)}#line 1 "{source}"\n{text}'
        try:
            answer = _helpers[self].ask({"text": text, "name": source.name, "arch": arch})
            ptx, log = answer["ptx"], answer["log"]
        except (KeyError, HelperFailed):
            ptx, log = self._run(text, source.name, arch)
        if not ptx:
            return b"", log
        written, cubin = source.with_suffix(".ptx"), source.with_suffix(".cubin")
        written.write_text(_used(ptx), encoding="utf-8")
        command = [str(self.nvrtc.root / "bin/ptxas"), f"-arch={arch}", "-v", "--generate-line-info", str(written)]
        ended = subprocess.run([*command, "-o", str(cubin)], capture_output=True, text=True)
        return (b"" if ended.returncode else cubin.read_bytes()), f"{log}\n{ended.stdout}{ended.stderr}"

    def _precompiled(self, arch: str) -> Answer:
        """Precompile the headers for an architecture; what answers requests, by them where that worked."""
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
        headers = dict[str, str]()  # where they are, by prelude
        for prelude in dict.fromkeys((self.headers.prelude, self.headers.prelude + self.headers.further)):
            with contextlib.suppress(OSError), tempfile.TemporaryDirectory() as folder:
                made = Path(folder, "headers")
                self._run(prelude, "headers", arch, f"--create-pch={made}")
                headers[prelude] = _sealed(made)

        def answer(request: dict[str, Any]) -> dict[str, Any]:
            text, name, asked = (str(request[word]) for word in ("text", "name", "arch"))
            found = [path for prelude, path in headers.items() if asked == arch and text.startswith(prelude)]
            ptx, log = self._run(text, name, asked, *(f"--use-pch={path}" for path in found[-1:]))
            return {"ptx": ptx, "log": log}

        return answer

    def _prelude_of(self, text: str) -> str:
        whole = set(self.headers.further.splitlines()) <= set(text.splitlines())
        return self.headers.prelude + self.headers.further * whole

    def _run(self, text: str, name: str, arch: str, *more: str) -> tuple[str, str]:
        """The PTX of a text of CUDA, "" where it is refused, and what is said of it."""
        library, program = _loaded(self.nvrtc), ctypes.c_void_p()
        folders = (*self.headers.include, self.nvrtc.root / "include", self.nvrtc.root / "include/cccl")
        virtual = arch.replace("sm", "compute")
        options = [f"--gpu-architecture={virtual}", *self.headers.options, "-lineinfo", "-w"]
        options += [*(f"-I{path}" for path in folders), *more]
        words = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), name.encode(), 0, None, None)
        try:
            refused = library.nvrtcCompileProgram(program, len(options), words)
            return ("" if refused else _got(library, program, "PTX")), _got(library, program, "ProgramLog")
        finally:
            library.nvrtcDestroyProgram(ctypes.byref(program))


def _sealed(made: Path) -> str:
    """Where a file's content is kept, in memory that no kernel can change and nobody has to remove."""
    kept = os.memfd_create("headers", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    with made.open("rb") as source, open(kept, "wb", closefd=False) as target:
        shutil.copyfileobj(source, target, 1 << 20)
    fcntl.fcntl(kept, fcntl.F_ADD_SEALS, _SEALS)
    return f"/proc/self/fd/{kept}"


def _used(ptx: str) -> str:
    """The text without the variables that nothing in it uses."""
    named = Counter(re.findall(r"\w+", ptx))
    variable = re.compile(r"^\.global .*?(\w+)(\[\d+\])?( = .*)?;\n", re.MULTILINE)
    return variable.sub(lambda found: found[0] if named[found[1]] > 1 else "", ptx)


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
    library = ctypes.CDLL(str(nvrtc.library))
    library.nvrtcSetPCHHeapSize(ctypes.c_size_t(_HEAP_BYTES))
    return library


def _version(header: Path) -> int:
    found = re.search(r"#define CUDA_VERSION (\d+)", header.read_text(encoding="utf-8", errors="replace"))
    return int(found[1]) if found else 0
