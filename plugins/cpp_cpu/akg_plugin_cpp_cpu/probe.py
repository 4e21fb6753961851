"""What this machine offers for a target: compiler, build tools, instruction set, cores, caches."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from akg_core.plugin import Availability, Target, ToolchainError, Traits, cores, machine, write_whole
from akg_core.plugin import cache_folder as users_cache_folder
from akg_plugin_cpp_cpu import levels
from akg_plugin_cpp_cpu.levels import NATIVE

OLDEST_GCC = 10
_LONGEST_SORTED = 1 << 24  # 128 MiB of keys
FLAGS = (
    "-O3",
    "-fPIC",
    "-fopenmp",
    "-fno-math-errno",  # sqrt is an instruction
    "-fno-trapping-math",  # comparisons may become selects; no value changes
    "-fno-gnu-unique",  # kernels of one process keep their statics apart
    "-fdiagnostics-color=never",
    "-fmax-errors=20",
    "-Wno-psabi",
    "-Wno-aggressive-loop-optimizations",
)
_MACROS = frozenset(
    [
        "__clang__",
        "__GNUC__",
        "__VERSION__",
        "__AVX512F__",
        "__AVX512BW__",
        "__AVX512VL__",
        "__AVX512DQ__",
        "__AVX2__",
        "__FMA__",
        "__F16C__",
    ]
)


@dataclass(frozen=True)
class Toolchain:
    """A compiler that works: its command, version, flags for the processor `arch`, and the build tools.

    `identity` changes when anything does that could change what is built.
    """

    arch: str
    compiler: str
    version: str
    flags: tuple[str, ...]
    vector_bytes: int
    cmake: str
    ninja: str
    identity: str


def probe(target: Target) -> Availability:
    """Whether kernels for `target` can be built and run here; never raises."""
    if target.backend != "cpu" or target.arch not in ("", NATIVE, *levels.known()):
        reason = f"it makes kernels for cpu, the processor that is in this machine, not for {target}."
        others = f" or one of {', '.join(f'cpu:{level}' for level in levels.known())}" if levels.known() else ""
        return Availability(can_compile=False, can_run=False, reason=reason, cure=f"Choose cpu{others}.")
    try:
        tools = toolchain(arch_of(target))
    except ToolchainError as error:
        return Availability(can_compile=False, can_run=False, reason=error.message, cure=error.cure)
    caches = {level: machine.cache_bytes(level) for level in (1, 2, 3)}
    details = {
        "compiler": f"{tools.compiler} {tools.version}",
        "flags": " ".join(tools.flags),
        "vector": f"{8 * tools.vector_bytes} bits",
        "processor": machine.processor(),
        "caches": ", ".join(f"L{level} {size // 1024} KiB" for level, size in caches.items() if size),
    }
    traits = Traits(
        units=cores(),
        lanes=tools.vector_bytes // 4,
        on_chip_bytes=(caches[2] or 512 * 1024) // 2,
        longest_sorted=_LONGEST_SORTED,
        partial_sorts=True,
        tile_elements=(caches[1] or 32 * 1024) // 8,
        dot_tile=(256, 256, 128),
        fused_products=4,
        block_bytes=2 * cores() * (caches[2] or 512 * 1024),  # the third level is near
    )
    if missing := levels.lacking(tools.arch):
        reason = f"kernels for {target} can be built here, not run: this processor lacks {', '.join(missing)}."
        cure = "Choose cpu, the processor that is here, or a lower level."
        return Availability(can_compile=True, can_run=False, reason=reason, cure=cure, traits=traits, details=details)
    return Availability(can_compile=True, can_run=True, traits=traits, details=details)


def arch_of(target: Target) -> str:
    """The processor of a target, as gcc's -march names it."""
    return target.arch or NATIVE


@functools.cache
def toolchain(arch: str = NATIVE) -> Toolchain:
    """The compiler and tools of this machine; raises ToolchainError saying what is missing and what to install."""
    compiler = _compiler()
    cmake, ninja = _tool("cmake"), _tool("ninja", "ninja-build")
    found = _described(compiler, arch)
    if "__clang__" in found or int(found.get("__GNUC__", 0)) < OLDEST_GCC:
        raise ToolchainError(
            f"{shlex.join(compiler)} is not g++ {OLDEST_GCC} or newer.",
            "Install g++ (apt install g++) or set CXX to one.",
        )
    avx512 = all(f"__AVX512{part}__" in found for part in ("F", "BW", "VL", "DQ"))
    avx2 = all(f"__{part}__" in found for part in ("AVX2", "FMA", "F16C"))
    flags = (*found["flags"].split(), *FLAGS)
    version = found["__VERSION__"].strip('"')
    return Toolchain(
        arch=arch,
        compiler=shlex.join(compiler),
        version=version,
        flags=flags,
        vector_bytes=64 if avx512 else 32 if avx2 else 16,
        cmake=cmake,
        ninja=ninja,
        identity=_digest([*compiler, *flags, _stamp(cmake), _stamp(ninja), json.dumps(found, sort_keys=True)]),
    )


def cache_folder() -> Path:
    """Where this plugin keeps what is worth keeping."""
    return users_cache_folder() / "cpp_cpu"


def _compiler() -> list[str]:
    chosen = os.environ.get("CXX", "").strip()
    if chosen:
        command = shlex.split(chosen)
        if found := shutil.which(command[0]):
            return [found, *command[1:]]
        raise ToolchainError(f"CXX is {chosen!r}, which is not installed.", "Set CXX to a g++, or unset it.")
    for name in ("g++", *(f"g++-{major}" for major in range(16, OLDEST_GCC - 1, -1))):
        if found := shutil.which(name):
            return [found]
    raise ToolchainError("there is no C++ compiler.", "Install g++: apt install g++, or dnf install gcc-c++.")


def _tool(*names: str) -> str:
    """A build tool beside this Python, where its PyPI package puts it, or on PATH."""
    beside = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    for name in names:
        if found := shutil.which(name, path=beside):
            return found
    raise ToolchainError(f"{names[0]} is missing.", f"Install it: pip install {names[0]}.")


def _described(compiler: list[str], arch: str) -> dict[str, str]:
    """The macros that matter and the flags for a processor, remembered while compiler and processor stay."""
    here = [machine.processor(), *sorted(levels.features())] if arch == NATIVE else []
    note = cache_folder() / f"compiler-{_digest([*compiler, _stamp(compiler[0]), arch, *here])[:16]}.json"
    try:
        return json.loads(note.read_text())
    except (OSError, ValueError):
        pass
    for flags in (["-march=native"], ["-mcpu=native"], []) if arch == NATIVE else ([f"-march={arch}"],):
        command = [*compiler, *flags, "-dM", "-E", "-x", "c++", os.devnull]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ToolchainError(f"{shlex.join(compiler)} does not run: {error}.", "Reinstall g++.") from None
        if done.returncode == 0:
            break
    else:
        if "-march" in done.stderr:
            raise ToolchainError(f"{shlex.join(compiler)} knows no processor {arch}.", "Install g++ 11 or newer.")
        raise ToolchainError(f"{shlex.join(compiler)} does not run: {done.stderr[:200]}.", "Reinstall g++.")
    macros = dict(line.split(" ", 2)[1:] for line in done.stdout.splitlines() if line.count(" ") >= 2)
    found = {name: macros[name] for name in sorted(_MACROS & macros.keys())} | {"flags": " ".join(flags)}
    with contextlib.suppress(OSError):  # where nothing can be kept, a run takes a few milliseconds more
        write_whole(note, json.dumps(found))
    return found


def _stamp(tool: str) -> str:
    path = Path(tool).resolve()
    return f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}"


def _digest(parts: list[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
