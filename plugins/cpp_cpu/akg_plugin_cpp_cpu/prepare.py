"""What all builds share, made once per compiler, flags and headers: CMake's findings, precompiled headers, binding."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import os
import shlex
import shutil
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from akg_core.plugin import ToolchainError, prune
from akg_plugin_cpp_cpu.probe import Toolchain, cache_folder
from akg_plugin_cpp_cpu.process import run

PACKAGE = Path(__file__).parent
SECONDS = 180.0


@functools.cache
def headers_digest() -> str:
    """Identifies the headers, the binding and the CMake file."""
    files = sorted([*PACKAGE.glob("include/akg/*.hpp"), *PACKAGE.glob("binding/*")])
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()


def compiler_flags(tools: Toolchain) -> tuple[str, ...]:
    """All flags of a kernel; arguments inside CXX count as flags."""
    return (*shlex.split(tools.compiler)[1:], *tools.flags)


def prepared(tools: Toolchain) -> Path:
    """A folder with CMakeFiles/ (the compiler already examined) and akg_all.hpp precompiled for `tools`."""
    return _made("prepared", f"{tools.identity} {headers_digest()}", lambda folder: _prepare(folder, tools))


def binding(tools: Toolchain) -> Path:
    """The pybind11 module that launches kernels, for this Python."""
    import pybind11

    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    identity = f"{tools.identity} {headers_digest()} {suffix} {pybind11.__version__}"
    includes = [pybind11.get_include(), sysconfig.get_path("include")]
    name = f"akg_binding{suffix}"

    def make(folder: Path) -> None:
        command = [*shlex.split(tools.compiler), "-std=c++17", "-O1", "-fPIC", "-shared", "-fvisibility=hidden"]
        command += [
            *(f"-I{path}" for path in includes),
            str(PACKAGE / "binding" / "binding.cpp"),
            "-o",
            str(folder / name),
        ]
        _require(
            command, "the binding of kernels to Python", "Python's headers may be missing: apt install python3-dev."
        )

    return _made("binding", identity, make) / name


def _prepare(folder: Path, tools: Toolchain) -> None:
    shutil.copytree(PACKAGE / "include" / "akg", folder / "akg", ignore=shutil.ignore_patterns("*.md"))
    whole = folder / "akg_all.hpp"
    names = ["<algorithm>", *(f'"akg/{header.name}"' for header in sorted((folder / "akg").iterdir()))]
    whole.write_text("".join(f"#include {name}\n" for name in names))
    command = [_compiler(tools), *compiler_flags(tools), "-std=gnu++20", f"-I{folder}", "-x", "c++-header", str(whole)]
    with ThreadPoolExecutor(1) as beside:
        examined = beside.submit(_examine, folder, tools)
        _require([*command, "-o", f"{whole}.gch"], "the headers of kernels")
        examined.result()


def _examine(folder: Path, tools: Toolchain) -> None:
    """Let CMake examine the compiler in an empty project and keep what it found in CMakeFiles/."""
    empty = folder / "empty"
    empty.mkdir()
    (empty / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.20)\nproject(empty LANGUAGES CXX)\n")
    define = [f"-DCMAKE_MAKE_PROGRAM={tools.ninja}", f"-DCMAKE_CXX_COMPILER={_compiler(tools)}"]
    configure = [tools.cmake, "-G", "Ninja", *define, "-S", str(empty), "-B", str(empty / "build")]
    _require(configure, "CMake's examination of the compiler")
    known = next((empty / "build" / "CMakeFiles").glob("*/CMakeCXXCompiler.cmake")).parent
    keep = folder / "CMakeFiles" / known.name
    keep.mkdir(parents=True)
    for file in known.glob("*.cmake"):
        shutil.copyfile(file, keep / file.name)
    shutil.rmtree(empty)


def _compiler(tools: Toolchain) -> str:
    return shlex.split(tools.compiler)[0]


def _require(command: list[str], what: str, cure: str = "") -> None:
    ended = run(command, SECONDS)
    if ended.code != 0:
        said = next((line for line in ended.output.splitlines() if "rror" in line), ended.output[-300:])
        raise ToolchainError(f"Building {what} failed: {said.strip()}", cure)


def _made(kind: str, identity: str, make: Callable[[Path], None]) -> Path:
    """The folder for `identity`, made by one process while others wait, and renamed into place when it is whole."""
    folder = cache_folder() / kind / hashlib.sha256(identity.encode()).hexdigest()[:32]
    if not folder.is_dir():
        with _locked(folder):
            if not folder.is_dir():
                with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".new-") as scratch:
                    whole = Path(scratch) / "whole"
                    whole.mkdir()
                    make(whole)
                    whole.rename(folder)
                prune(folder.parent, 8)
    with contextlib.suppress(OSError):
        os.utime(folder)
    return folder


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
