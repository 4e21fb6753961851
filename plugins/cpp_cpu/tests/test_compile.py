"""Building: what comes out, how fast, what a mistake in the source gives, and that nothing is made twice."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
import torch
from akg_plugin_cpp_cpu import compile as building
from akg_plugin_cpp_cpu import launch, probe
from akg_plugin_cpp_cpu.explain import explain

from akg_core.plugin import KernelSource, Target

CPU = Target(backend="cpu")
DOUBLED = """#include "akg/akg.hpp"
// {note}
namespace akg {{
extern "C" void akg_twice(void* const* tensors, const std::int64_t* sizes) {{
    const f32* x = static_cast<const f32*>(tensors[0]);
    f32* y = static_cast<f32*>(tensors[1]);
    for (i64 i = 0; i < sizes[0]; i += LANES) store(y + i, load(x + i, sizes[0] - i) * {factor}, sizes[0] - i);
}}
}}
"""
MODEL = """
import importlib.util
from pathlib import Path

import torch

{prelude}

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        {call}
        return y
"""


def source(factor: str = "2.0f", note: str = "", **more: object) -> KernelSource:
    call = launch.statement("akg_twice", ["x", "y"], ["x.numel()"])
    model = MODEL.format(prelude=launch.prelude(["akg_twice"]), call=call)
    files = {"kernel.cpp": DOUBLED.format(factor=factor, note=note), "model_new.py": model}
    return KernelSource(plugin="cpp_cpu", target=CPU, files=files, **more)


def run_in_new_python(folder: Path, prefix: str = "pass") -> str:
    code = (
        f"import sys, torch; sys.path.insert(0, {str(folder)!r}); {prefix}; import model_new;"
        "x = torch.arange(37.); assert torch.equal(model_new.ModelNew()(x), 2 * x);"
        "assert not any(name.startswith('akg_core') for name in sys.modules); print('good')"
    )
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100).stdout.strip()


def test_builds_a_folder_that_runs_alone(tmp_path: Path) -> None:
    result = building.compile_kernel(source(), CPU, tmp_path)
    assert result.ok and result.artifact and result.artifact.folder == tmp_path
    assert {"kernel.so", "kernel.cpp", "model_new.py", "CMakeLists.txt", "akg", "build.log"} <= {
        path.name for path in tmp_path.iterdir()
    }
    assert not (tmp_path / "build").exists()
    assert run_in_new_python(tmp_path) == "good"


def test_falls_back_to_ctypes_for_another_python(tmp_path: Path) -> None:
    building.compile_kernel(source(), CPU, tmp_path)
    other = "import sysconfig; known = sysconfig.get_config_var; sysconfig.get_config_var = lambda name: '.other.so'"
    assert run_in_new_python(tmp_path, other) == "good"


def test_the_second_build_is_quick_and_cached(tmp_path: Path) -> None:
    note = uuid.uuid4().hex
    first = building.compile_kernel(source(note=note), CPU, tmp_path / "a")
    second = building.compile_kernel(source(note=note), CPU, tmp_path / "b")
    assert first.ok and not first.cached
    assert second.ok and second.cached
    assert run_in_new_python(tmp_path / "b") == "good"


def test_the_folder_builds_by_hand(tmp_path: Path) -> None:
    building.compile_kernel(source(), CPU, tmp_path)
    (tmp_path / "kernel.so").unlink()
    tools = probe.toolchain()
    generate = [tools.cmake, "-G", "Ninja", "-S", ".", "-B", "build", f"-DCMAKE_MAKE_PROGRAM={tools.ninja}"]
    subprocess.run(generate, cwd=tmp_path, check=True, capture_output=True, timeout=100)
    subprocess.run([tools.cmake, "--build", "build"], cwd=tmp_path, check=True, capture_output=True, timeout=100)
    library = ctypes.CDLL(str(tmp_path / "build" / "kernel.so"))
    x, y = torch.arange(5.0), torch.empty(5)
    library.akg_twice((ctypes.c_void_p * 2)(x.data_ptr(), y.data_ptr()), (ctypes.c_int64 * 1)(5))
    assert torch.equal(y, 2 * x)


def test_a_mistake_is_a_result_with_both_lines(tmp_path: Path) -> None:
    result = building.compile_kernel(source("speed", line_map={"kernel.cpp:7": 4}), CPU, tmp_path)
    assert not result.ok and result.artifact is None
    assert "kernel.cpp:7" in result.log and "(sketch line 4)" in result.log and str(tmp_path) not in result.log
    assert (tmp_path / "build.log").read_text() == result.log
    advice = explain(result.log)[0]
    assert (advice.source_line, advice.sketch_line) == (7, 4)
    assert "speed" in advice.problem and "Declare speed" in advice.advice


def test_a_failed_build_leaves_no_library(tmp_path: Path) -> None:
    assert building.compile_kernel(source(), CPU, tmp_path).ok
    assert not building.compile_kernel(source("speed"), CPU, tmp_path).ok
    assert not (tmp_path / "kernel.so").exists()


def test_time_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "SECONDS", 0.01)
    result = building.compile_kernel(source(note=uuid.uuid4().hex), CPU, tmp_path)
    assert not result.ok and "took more than" in result.log


def test_two_kernels_live_in_one_process(tmp_path: Path) -> None:
    from akg_core.plugin.harness import load_entry

    models = []
    for name, factor in (("a", "2.0f"), ("b", "3.0f")):
        result = building.compile_kernel(source(factor), CPU, tmp_path / name)
        assert result.artifact
        models.append(load_entry(result.artifact).ModelNew())
    x = torch.arange(5.0)
    assert torch.equal(models[0](x), 2 * x) and torch.equal(models[1](x), 3 * x)


def test_no_second_openmp_is_loaded(tmp_path: Path) -> None:
    building.compile_kernel(source(), CPU, tmp_path)
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import torch, model_new;"
        "model_new.ModelNew()(torch.ones(9));"
        "print(len({line.split()[-1] for line in open('/proc/self/maps') if 'libgomp' in line}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert done.stdout.strip() == "1", done
