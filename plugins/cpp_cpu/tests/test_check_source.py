"""What is forbidden is found by reading, and a forward without anything to compute needs no kernel."""

from __future__ import annotations

from akg_plugin_cpp_cpu.check_source import check_source

from akg_core.plugin import KernelSource, Target

KERNEL = 'extern "C" void akg_f(void* const* tensors, const std::int64_t* sizes) {}\n'
MODEL = """
import torch
from reference import Model
class ModelNew(Model):
    def forward(self, x):
        y = torch.zeros((0, 3))
        {line}
        return y
"""


def codes(line: str, kernel: str = KERNEL) -> list[str]:
    files = {"model_new.py": MODEL.format(line=line), "kernel.cpp": kernel}
    return [f.code for f in check_source(KernelSource(plugin="cpp_cpu", target=Target(backend="cpu"), files=files))]


def test_the_library_is_called_neither_from_python_nor_from_cpp() -> None:
    assert codes("_f(x, y)") == []
    assert codes("y = x.softmax(1)") == ["CPP202"]
    assert codes("_f(x, y)", kernel=f"#include <torch/extension.h>\n{KERNEL}") == ["CPP302"]


def test_there_is_a_kernel_unless_forward_only_moves() -> None:
    assert codes("_f(x, y)", kernel="void f() {}") == ["CPP301"]
    assert codes("y = x.sort(1)[0]", kernel="void f() {}") == ["CPP301"]
    assert codes("(x,) = _fitted(self, (x,)); y = x.permute(1, 0)", kernel="") == []
