"""Loops of a program that one call turns: what they compute, by the binding and by ctypes, and which loops are left."""

from __future__ import annotations

import importlib.util
import itertools
import subprocess
from pathlib import Path
from types import ModuleType

import pytest
import torch
from akg_plugin_cpp_cpu import compile as building
from akg_plugin_cpp_cpu.emit import emit

from akg_core.plugin import Schedule, Sketch, Target
from akg_core.records import Argument, Interface
from akg_core.sketch.interpret import interpret
from akg_core.sketch.parse import parse

CPU = Target(backend="cpu")
REFERENCE = "import torch\nclass Model(torch.nn.Module):\n    pass\n"
KERNELS = """
@kernel
def step(x: In["f32", "A", "B"], y: Out["f32", "A", "B"], S: Const = 2):
    for a in grid(A, 1):
        b = whole(B)
        store(y[a, b], load(x[a, b]) * S + 1)


@kernel
def mixed(x: In["f32", "A", "B"], y: InOut["f32", "A", "B"]):
    for b in grid(B, 16):
        a = whole(A)
        store(y[a, b], load(y[a, b]) + reduce_sum(load(x[a, b]), a))


@kernel
def counted(x: In["f32", "A", "B"], total: InOut["f32", 1]):
    for a in grid(A, 1):
        b = whole(B)
        atomic_add(total[0], reduce_sum(load(x[a, b]), (a, b)))
"""
EVEN = """
@program
def model(x: In["f32", 4, COLUMNS]):
    y = empty("f32", 32, COLUMNS)
    first = narrow(y, 0, 0, 4)
    step(x, first, S=1)
    for t in range(TURNS):
        before = narrow(y, 0, t * 4, 4)
        after = narrow(y, 0, t * 4 + 4, 4)
        step(before, after)
        mixed(x, after)
    z = narrow(y, 0, 0, 4 * TURNS + 4)
    return z
"""
BACKWARDS = """
@program
def model(x: In["f32", 4, 8]):
    y = empty("f32", 24, 8)
    last = narrow(y, 0, 20, 4)
    step(x, last, S=1)
    for t in range(1, 6):
        before = narrow(y, 0, 24 - t * 4, 4)
        after = narrow(y, 0, 20 - 4 * t, 4)
        step(before, after)
    return y
"""
JOINED = """
@program
def model(x: In["f32", 24, 8]):
    total = zeros("f32", 1)
    for t in range(0, 6, 2):
        part = narrow(x, 0, t * 4, 4)
        counted(part, total)
    return total
"""
UNEVEN = """
@program
def model(x: In["f32", 32, 8]):
    y = zeros("f32", 32, 8)
    for t in range(4):
        before = narrow(x, 0, t * t, 4)
        after = narrow(y, 0, t * 4, 4)
        step(before, after)
    return y
"""
_names = itertools.count()


def build(folder: Path, text: str) -> tuple[ModuleType, str]:
    argument = Argument(name="x", kind="tensor", dtype="f32", shape=(4, 8))
    sketch = Sketch(name="turned", text=text, interface=Interface(arguments=(argument,)))
    source = emit(sketch, Schedule(), CPU)
    result = building.compile_kernel(source, CPU, folder)
    assert result.ok, result.log
    (folder / "reference.py").write_text(REFERENCE)
    return loaded(folder), source.files["model_new.py"]


def loaded(folder: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"turned_{next(_names)}", folder / "model_new.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def check(folder: Path, program: str, rows: int, columns: int, name: str = "step") -> str:
    """What kernels give, by the binding and by ctypes, and their module's text. `name`: of the kernel `step`."""
    sketch = (KERNELS + program).replace("step(", f"{name}(")
    module, text = build(folder, sketch)
    x = torch.randn(rows, columns)
    (want,) = interpret(parse(sketch), [x]).outputs
    assert torch.allclose(module.ModelNew()(x), want, rtol=1e-5, atol=1e-4)
    next(folder.glob("akg_binding*")).unlink()
    assert torch.allclose(loaded(folder).ModelNew()(x), want, rtol=1e-5, atol=1e-4)
    return text


@pytest.mark.parametrize("turns", [0, 1, 2, 7])
def test_a_loop_of_so_many_turns(tmp_path: Path, turns: int) -> None:
    text = check(tmp_path, EVEN.replace("COLUMNS", "48").replace("TURNS", str(turns)), 4, 48)
    assert f"_library.turns(range(0, {turns}, 1), _turn, False)" in text, "too little to wake threads for"


@pytest.mark.parametrize("name", ["turns", "all_turns", "_turn"])
def test_kernels_may_be_called_as_what_turns_them(tmp_path: Path, name: str) -> None:
    check(tmp_path, EVEN.replace("COLUMNS", "8").replace("TURNS", "3"), 4, 8, name)


def test_threads_stay_at_it_where_there_is_much(tmp_path: Path) -> None:
    text = check(tmp_path, EVEN.replace("COLUMNS", "100000").replace("TURNS", "7"), 4, 100000)
    assert "_library.turns(range(0, 7, 1), _turn, True)" in text


def test_what_a_loop_links_is_what_any_kernel_does(tmp_path: Path) -> None:
    """More of the library of C++ would be more than a kernel may call, where that is linked statically."""
    build(tmp_path, KERNELS + EVEN.replace("COLUMNS", "48").replace("TURNS", "7"))
    names = subprocess.run(
        ["nm", "-D", "--undefined-only", "kernel.so"], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    assert "_ZSt" not in names.replace("_ZSt9terminatev", "")


def test_a_loop_may_go_backwards(tmp_path: Path) -> None:
    assert "_library.turns(range(1, 6, 1), _turn, False)" in check(tmp_path, BACKWARDS, 4, 8)


def test_updates_that_are_joined_are_one_launch_after_the_other(tmp_path: Path) -> None:
    program = JOINED.replace("8]", "100000]")
    assert "_library.turns(range(0, 6, 2), _turn, False)" in check(tmp_path, program, 24, 100000)


def test_a_loop_whose_turns_differ_is_turned_in_python(tmp_path: Path) -> None:
    text = check(tmp_path, UNEVEN, 32, 8)
    assert "for t in range(0, 4, 1):" in text and "_library.turns" not in text.partition("def forward")[2]
