"""Builds small C++ drivers of the headers, for several instruction sets, and loads them with ctypes."""

from __future__ import annotations

import ctypes
import hashlib
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from akg_plugin_cpp_cpu import prepare, probe

sys.path.append(str(Path(__file__).parent))  # tests share modules; pytest's importlib mode adds no path

HEADERS = Path(prepare.PACKAGE) / "include"
# "native" and what older machines have: the same source must compute the same with 512, 256 and 128 bits.
ISAS = ("native", "x86-64-v3", "x86-64")

Native = Callable[[str, str], ctypes.CDLL]


@pytest.fixture(scope="session")
def native(tmp_path_factory: pytest.TempPathFactory) -> Native:
    """native(source, isa) compiles C++ against the headers, once a session and again only when something changed."""
    built: dict[tuple[str, str], ctypes.CDLL] = {}

    def build(source: str, isa: str = "native") -> ctypes.CDLL:
        if (source, isa) not in built:
            tools = probe.toolchain()
            flags = [flag for flag in prepare.compiler_flags(tools) if not flag.startswith("-march")]
            key = hashlib.sha256(f"{tools.identity} {prepare.headers_digest()} {isa} {source}".encode()).hexdigest()
            library = Path(tempfile.gettempdir()) / "akg-cpp-tests" / f"{key}.so"
            if not library.exists():
                library.parent.mkdir(parents=True, exist_ok=True)
                folder = tmp_path_factory.mktemp("native")
                (folder / "driver.cpp").write_text(source)
                command = [
                    *shlex.split(tools.compiler)[:1],
                    *flags,
                    f"-march={isa}",
                    "-O2" if isa == "native" else "-O1",
                    "-std=gnu++20",
                    "-shared",
                ]
                command += [f"-I{HEADERS}", "driver.cpp", "-o", "driver.so"]
                subprocess.run(command, cwd=folder, check=True, timeout=120)
                (folder / "driver.so").replace(library)
            built[source, isa] = ctypes.CDLL(str(library))
        return built[source, isa]

    return build
