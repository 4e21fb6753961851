"""What is forbidden is found by reading, and generated code is not."""

from __future__ import annotations

import pytest
from akg_plugin_cpp_cpu.check_source import check_source

from akg_core.records import KernelSource, Target

KERNEL = 'extern "C" void akg_f(void* const* tensors, const std::int64_t* sizes) {}\n'
MODEL = """
import torch
import torch.nn.functional as F
from torch.nn.functional import softmax
from reference import Model
class ModelNew(Model):
    def forward(self, x):
        y = torch.empty_like(x)
        {line}
        return y
"""


def codes(model: str, kernel: str = KERNEL, **more: str) -> list[str]:
    files = {"model_new.py": model, "kernel.cpp": kernel, **more}
    return [f.code for f in check_source(KernelSource(plugin="cpp_cpu", target=Target(backend="cpu"), files=files))]


@pytest.mark.parametrize(
    "line",
    [
        "y = torch.matmul(x, x)",
        "y = F.relu(x)",
        "y = softmax(x, 1)",
        "y = x @ x",
        "y = x.sum(1)",
        "y = (x + 1).softmax(0)",
        "y = torch.ops.aten.mm(x, x)",
        "y = torch.nn.functional.gelu(x)",
        "y = super().forward(x)",
        "y = torch.exp(x)",
    ],
)
def test_library_compute(line: str) -> None:
    assert codes(MODEL.format(line=line)) == ["CPP202"]


@pytest.mark.parametrize(
    "line",
    [
        "y = x.view(3, 4).contiguous()",
        "names = set(); names.add(1)",
        "n = x.stride(0)",
        "_f([x.data_ptr()], [sum([1])])",
    ],
)
def test_host_work_is_allowed(line: str) -> None:
    assert codes(MODEL.format(line=line)) == []


def test_try_and_missing_parts() -> None:
    good = MODEL.format(line="pass")
    assert codes(MODEL.format(line="try: pass\n        except Exception: pass")) == ["CPP201"]
    assert codes("def f(:") == ["CPP101"]
    assert codes("import torch") == ["CPP102"]
    assert codes("class ModelNew: pass") == ["CPP103"]
    assert codes(good, kernel="void f() {}") == ["CPP301"]
    assert codes(MODEL.format(line="y = x.sort(1)[0]"), kernel="void f() {}") == ["CPP301"]
    assert codes(good, kernel=f"#include <torch/extension.h>\n{KERNEL}") == ["CPP302"]
    assert codes(good, **{"extra.py": "import torch\ntorch.mm(a, b)"}) == ["CPP202"]
    assert codes(good, **{"reference.py": "import torch\ntorch.mm(a, b)"}) == []


def test_a_forward_of_views_needs_no_kernel() -> None:
    views = MODEL.replace("y = torch.empty_like(x)", "y = torch.zeros((0, 3))")
    assert codes(views.format(line="y = _tensor('x', x, torch.float32, 2).permute(1, 0)"), kernel="") == []
    assert codes(views.format(line="y = x.cumsum(0)"), kernel="") == ["CPP202", "CPP301"]
    assert codes(views.format(line="y = torch.return_types.sort((x, x))"), kernel=KERNEL) == []


def test_findings_have_places() -> None:
    files = {"model_new.py": MODEL.format(line="y = F.relu(x)"), "kernel.cpp": KERNEL}
    (found,) = check_source(KernelSource(plugin="cpp_cpu", target=Target(backend="cpu"), files=files))
    assert found.line == 9 and "F.relu" in found.message and found.suggestion
