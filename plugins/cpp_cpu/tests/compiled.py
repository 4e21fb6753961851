"""Runs sketches with their kernels compiled to C++, and compares with the interpreter.

`Batch` lowers the kernels of many sketches first and compiles them side by side in a few files, because most of a
compilation's time is reading the headers.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import akg_plugin_cpp_cpu
from akg_plugin_cpp_cpu.emit import translation_units
from akg_plugin_cpp_cpu.emit.kernel import function

from akg_core.plugin.lower import Instance
from akg_core.testing.emission.running import Case, Launched, Results, Run, compare_all

INCLUDE = Path(akg_plugin_cpp_cpu.__file__).parent / "include"
FOLDER = Path(tempfile.gettempdir()) / "akg-cpp-tests"
FLAGS = ["-std=c++20", "-march=native", "-fopenmp", "-fPIC", "-shared", "-fno-math-errno", "-fno-trapping-math"]


def library(text: str, optimise: str = "-O1") -> ctypes.CDLL:
    """A C++ file, built once for its content."""
    headers = b"".join(path.read_bytes() for path in sorted(INCLUDE.rglob("*.hpp")))
    key = hashlib.sha256(text.encode() + headers + optimise.encode()).hexdigest()[:20]
    built = FOLDER / f"{key}.so"
    if not built.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        source = FOLDER / f"{key}.cpp"
        source.write_text(text)
        partial = FOLDER / f"{key}.{os.getpid()}.tmp"
        command = ["g++", optimise, *FLAGS, f"-I{INCLUDE}", str(source), "-o", str(partial)]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode:
            raise RuntimeError(f"{source}:\n{result.stderr[:6000]}")
        partial.rename(built)
    return ctypes.CDLL(str(built))


class Compiled(Run):
    """A case's run in which every launch calls the compiled function of its instance."""

    def __init__(self, case: Case, functions: Mapping[str, Any]) -> None:
        super().__init__(case)
        self.functions = functions

    def execute(self, launched: Launched) -> None:
        tensors, sizes = launched.tensors.values(), launched.sizes.values()
        pointers = (ctypes.c_void_p * len(tensors))(*(tensor.data_ptr() for tensor in tensors))
        numbers = (ctypes.c_int64 * max(1, len(sizes)))(*sizes)
        self.functions[launched.instance.symbol](pointers, numbers)


class Batch:
    """Cases interpreted at once and compiled together."""

    def __init__(self, cases: Sequence[Case], files: int = 2, optimise: str = "-O1") -> None:
        self.cases = {case.name: case for case in cases}
        assert len(self.cases) == len(cases), "names of cases are unique"
        self.wanted: dict[str, Results] = {}
        instances: list[Instance] = []
        for case in cases:
            run = Run(case)
            self.wanted[case.name] = run.go()
            instances += run.instances
        parts = [instances[i::files] for i in range(files) if instances[i::files]]
        texts = [
            "".join(text for text, _ in translation_units(function(each).lines for each in part)) for part in parts
        ]
        with ThreadPoolExecutor(files) as pool:
            libraries = list(pool.map(lambda text: library(text, optimise), texts))
        self.functions = {
            instance.symbol: getattr(found, f"akg_{instance.symbol}")
            for part, found in zip(parts, libraries, strict=True)
            for instance in part
        }

    def check(self, name: str) -> None:
        """Run the compiled case and compare every result and every parameter with the interpreter's."""
        case = self.cases[name]
        compare_all(Compiled(case, self.functions).go(), self.wanted[name], case.tolerance)
