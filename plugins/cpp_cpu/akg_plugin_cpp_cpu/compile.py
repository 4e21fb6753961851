"""Builds a kernel folder with CMake and Ninja, quickly: what does not change between kernels is made once and kept.

Kept under the cache folder, by content: CMake's knowledge of the compiler, the headers precompiled, the pybind11
binding, and whole builds. The result folder needs none of it: it holds sources, headers, CMakeLists.txt, kernel.so
and the binding, and builds again by hand with `cmake -G Ninja -S . -B build && cmake --build build`.
"""

from __future__ import annotations

import hashlib
import re
import shlex
import shutil
import sysconfig
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from akg_core.plugin import Artifact, CompileResult, KernelSource, Target, prune, with_sketch_lines, write_source
from akg_plugin_cpp_cpu import prepare
from akg_plugin_cpp_cpu.cache import keep, kept
from akg_plugin_cpp_cpu.levels import NATIVE
from akg_plugin_cpp_cpu.probe import Toolchain, arch_of, cache_folder, toolchain
from akg_plugin_cpp_cpu.process import run

INCLUDE = Path(__file__).parent / "include" / "akg"
BINDING = Path(__file__).parent / "binding"
LIBRARY = "kernel.so"
SECONDS = 180.0


def compile_kernel(source: KernelSource, target: Target, workdir: Path) -> CompileResult:
    """Build `source` in `workdir`. Raises ToolchainError with no compiler for `target`; compile errors are results."""
    began = time.perf_counter()
    tools = toolchain(arch_of(target))
    workdir = workdir.resolve()
    _write(source, workdir, tools.arch)
    with ThreadPoolExecutor(1) as beside:
        binding = beside.submit(prepare.binding, tools)
        shelf = f"builds/{_key(source, tools)}"
        found = kept(shelf, LIBRARY)
        if found:
            shutil.copyfile(found, workdir / LIBRARY)
            ok, log = True, "kernel.so is taken from the cache: these sources were built before.\n"
        else:
            ok, log = _build(workdir, tools)
        log = located(log, workdir, source.line_map) or log
        (workdir / "build.log").write_text(log, encoding="utf-8")
        if not ok:
            return CompileResult(ok=False, seconds=time.perf_counter() - began, log=log)
        if not found:
            keep(shelf, {LIBRARY: workdir / LIBRARY})
            prune(cache_folder() / "builds", 512)
        shutil.copyfile(binding.result(), workdir / binding_name())
    artifact = Artifact(folder=workdir, entry=source.entry)
    return CompileResult(ok=True, seconds=time.perf_counter() - began, artifact=artifact, log=log, cached=bool(found))


def binding_name() -> str:
    """The file name of the binding for this Python's ABI."""
    return f"akg_binding{sysconfig.get_config_var('EXT_SUFFIX')}"


def located(log: str, folder: Path, line_map: dict[str, int]) -> str:
    """A build's log without the build tools' own lines, with paths relative to `folder`.

    Beside each place that came from a line of the sketch, that line.
    """
    log = re.sub(r"(?m)^(-- |FAILED: |ninja: (?!error)|\S*(?:g\+\+|c\+\+)\S* ).*\n", "", log)
    return with_sketch_lines(log.replace(f"{folder}/", ""), line_map)


def _write(source: KernelSource, folder: Path, arch: str) -> None:
    write_source(source, folder)
    (folder / "akg").mkdir(exist_ok=True)
    for header in INCLUDE.glob("*.hpp"):
        shutil.copyfile(header, folder / "akg" / header.name)
    project = (BINDING / "CMakeLists.txt").read_text(encoding="utf-8")
    (folder / "CMakeLists.txt").write_text(project.replace(f"-march={NATIVE}", f"-march={arch}"), encoding="utf-8")


def _key(source: KernelSource, tools: Toolchain) -> str:
    sources = sorted((name, text) for name, text in source.files.items() if not name.endswith(".py"))
    return hashlib.sha256(repr([tools.identity, prepare.headers_digest(), sources]).encode()).hexdigest()


def _build(folder: Path, tools: Toolchain) -> tuple[bool, str]:
    """Configure and build in a folder of its own beside the sources, which goes when it worked."""
    build = folder / "build"
    shutil.rmtree(build, ignore_errors=True)
    ready = prepare.prepared(tools)
    shutil.copytree(ready / "CMakeFiles", build / "CMakeFiles")
    (folder / LIBRARY).unlink(missing_ok=True)
    define = {
        "CMAKE_BUILD_TYPE": "None",
        "CMAKE_CXX_COMPILER": shlex.split(tools.compiler)[0],
        "CMAKE_MAKE_PROGRAM": tools.ninja,
        "CMAKE_PLATFORM_INFO_INITIALIZED": "1",  # what CMakeFiles/ says of the compiler holds
        "AKG_FLAGS": ";".join(prepare.compiler_flags(tools)),
        "AKG_PRECOMPILED": str(ready / "akg_all.hpp"),
    }
    configure = [tools.cmake, "-G", "Ninja", "-S", str(folder), "-B", str(build), "--log-level=WARNING"]
    log = ""
    for command in (
        [*configure, *(f"-D{name}={value}" for name, value in define.items())],
        [tools.ninja, "-C", str(build), "--quiet"],
    ):
        ended = run(command, SECONDS)
        log += ended.output
        if ended.code != 0:
            return False, log or f"{Path(command[0]).name} ended with {ended.code} and said nothing\n"
    (build / LIBRARY).replace(folder / LIBRARY)
    shutil.rmtree(build, ignore_errors=True)
    return True, log
