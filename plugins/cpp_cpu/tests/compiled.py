"""Runs sketches with their kernels compiled to C++, tensor by tensor as the interpreter does, and compares the two.

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
from dataclasses import dataclass, field, replace
from pathlib import Path

import akg_plugin_cpp_cpu
import torch
from akg_plugin_cpp_cpu.emit import translation_unit
from torch import Tensor

from akg_core.records import Schedule
from akg_core.sketch import ast
from akg_core.sketch.check import require
from akg_core.sketch.interpret import _bind_sizes, _ProgramRun
from akg_core.sketch.interpret_expression import Frame
from akg_core.sketch.lower import Instance, specialise
from akg_core.sketch.parse import parse
from akg_core.sketch.program import program_of
from akg_core.sketch.schedule import bind

INCLUDE = Path(akg_plugin_cpp_cpu.__file__).parent / "include"
FOLDER = Path(os.environ.get("AKG_TEST_BUILDS", Path(tempfile.gettempdir()) / "akg-cpp-tests"))
FLAGS = ["-std=c++20", "-march=native", "-fopenmp", "-fPIC", "-shared", "-fno-math-errno", "-fno-trapping-math"]
ROUGH = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2}


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


@dataclass
class Case:
    """A sketch with what it is run on. `static`: sizes folded into the kernels."""

    name: str
    text: str
    inputs: Sequence[Tensor | float]
    parameters: Mapping[str, Tensor] = field(default_factory=dict)
    schedule: Mapping[str, int | str] = field(default_factory=dict)
    static: bool = True
    tolerance: float = 3e-6


class Run(_ProgramRun):
    """A program's run that notes every launch's instance. Launches are interpreted until there are `functions`."""

    def __init__(self, case: Case) -> None:
        self.tree: ast.SketchFile = bind(
            require(parse(case.text, case.name), case.name), Schedule(values=dict(case.schedule))
        )
        super().__init__(self.tree, program_of(self.tree))
        self.case = case
        self.instances: list[Instance] = []
        self.functions: Mapping[str, ctypes._CFuncPtr] | None = None
        self.calls: list[tuple] = []

    def _launch(self, launch: ast.Launch) -> None:
        kernel = self.tree.kernel(launch.kernel)
        tensors = {p.name: self.tensors[name] for p, name in zip(kernel.tensors, launch.tensors, strict=True)}
        frame = Frame(self._constants(kernel, launch))
        _bind_sizes(kernel.tensors, tensors, frame, launch.place)
        constants = {c.name: frame.values[c.name].value.item() for c in kernel.constants}
        sizes = {name: int(frame.values[name].value) for name in kernel.dimensions}
        symbol = f"{self.case.name}_{len(self.instances)}"
        self.instances.append(specialise(kernel, constants, sizes if self.case.static else {}, symbol))
        if self.functions is None:
            super()._launch(launch)
            return
        pointers = (ctypes.c_void_p * len(tensors))(*(t.data_ptr() for t in tensors.values()))
        numbers = (ctypes.c_int64 * max(1, len(sizes)))(*sizes.values())
        self.calls.append((self.functions[symbol], pointers, numbers))
        self.functions[symbol](pointers, numbers)

    def go(self) -> tuple[tuple[Tensor, ...], dict[str, Tensor]]:
        """Results, and parameters as the program leaves them."""
        held = {name: tensor.clone() for name, tensor in self.case.parameters.items()}
        self.instances = []
        return self.run(list(self.case.inputs), held), held


class Batch:
    """Cases interpreted at once and compiled together."""

    def __init__(self, cases: Sequence[Case], files: int = 2, optimise: str = "-O1") -> None:
        self.cases = {case.name: case for case in cases}
        assert len(self.cases) == len(cases), "names of cases are unique"
        self.wanted: dict[str, tuple[tuple[Tensor, ...], dict[str, Tensor]]] = {}
        instances: list[Instance] = []
        for case in cases:
            run = Run(case)
            self.wanted[case.name] = run.go()
            instances += run.instances
        parts = [instances[i::files] for i in range(files) if instances[i::files]]
        self.texts = [translation_unit(part)[0] for part in parts]
        with ThreadPoolExecutor(files) as pool:
            libraries = list(pool.map(lambda text: library(text, optimise), self.texts))
        self.functions = {
            instance.symbol: getattr(found, f"akg_{instance.symbol}")
            for part, found in zip(parts, libraries, strict=True)
            for instance in part
        }

    def check(self, name: str) -> None:
        """Run the compiled case and compare every result and every parameter with the interpreter's."""
        run = Run(self.cases[name])
        run.functions = self.functions
        results, held = run.go()
        wanted, wanted_held = self.wanted[name]
        for number, (found, due) in enumerate(zip(results, wanted, strict=True)):
            compare(f"output {number}", found, due, self.cases[name].tolerance)
        for key, due in wanted_held.items():
            compare(key, held[key], due, self.cases[name].tolerance)


def compare(what: str, found: Tensor, due: Tensor, tolerance: float) -> None:
    assert found.dtype == due.dtype and found.shape == due.shape, what
    if not due.dtype.is_floating_point:
        assert torch.equal(found, due), f"{what}: {int((found != due).sum())} of {due.numel()} differ"
        return
    finite = due.double().nan_to_num(0, 0, 0).abs()
    scale = float(finite.max()) if due.numel() else 0.0
    tolerance = max(tolerance, ROUGH.get(due.dtype, 0.0))
    torch.testing.assert_close(
        found.double(),
        due.double(),
        rtol=tolerance,
        atol=tolerance * scale,
        equal_nan=True,
        msg=lambda m: f"{what}: {m}",
    )


def retimed(case: Case) -> Case:
    """The case with its sizes left to the launch."""
    return replace(case, name=f"{case.name}_dynamic", static=False)
