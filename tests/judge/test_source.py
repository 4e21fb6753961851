"""What is forbidden in a kernel's Python files is found by reading, and what the host has to do is allowed."""

from __future__ import annotations

import ast

import pytest

from akg_core.judge.source.text import only_views, python_findings
from akg_core.records import KernelSource, Target

MODEL = """
import math
import torch
import torch as t
import torch.nn.functional as F
import dsl.language as dl
from torch.nn.functional import softmax
from reference import Model
class ModelNew(Model):
    def __init__(self):
        super().__init__()
    def forward(self, x):
        y = torch.empty_like(x)
        {line}
        return y
"""


def source(model: str, **more: str) -> KernelSource:
    return KernelSource(plugin="toy", target=Target(backend="toy"), files={"model_new.py": model, **more})


def codes(model: str, **more: str) -> list[str]:
    return [finding.code for finding in python_findings(source(model, **more), "X")]


@pytest.mark.parametrize(
    "line",
    [
        "y = torch.matmul(x, x)",
        "y = t.exp(x)",
        "y = F.relu(x)",
        "y = softmax(x, 1)",
        "y = x @ x",
        "y = x.sum(1)",
        "y = (x + 1).softmax(0)",
        "y = torch.ops.aten.mm(x, x)",
        "y = torch.nn.functional.gelu(x)",
        "y = torch.compile(Model)(x)",
        "y = super().forward(x)",
    ],
)
def test_the_library_computes(line: str) -> None:
    (found,) = python_findings(source(MODEL.format(line=line)), "X")
    assert found.code == "X202" and found.line == 14 and found.column and found.suggestion


@pytest.mark.parametrize(
    "line",
    [
        "y = x.view(3, 4).contiguous()",
        "names = set(); names.add(1)",
        "n = x.stride(0)",
        "_f([x.data_ptr()], [sum([1])])",
        "n = math.sqrt(2)",
        "n = dl.cumsum(2)",
        "y = torch.return_types.sort((x, x))",
        "_f[(4,)](x)",
    ],
)
def test_host_work_is_allowed(line: str) -> None:
    assert codes(MODEL.format(line=line)) == []


def test_files_have_their_parts() -> None:
    assert codes("def f(:") == ["X101"]
    assert codes("import torch") == ["X102"]
    assert codes("class ModelNew: pass") == ["X103"]
    assert codes(MODEL.format(line="try: pass\n        except Exception: pass")) == ["X201"]


def test_every_file_is_read_except_the_reference() -> None:
    good, other = MODEL.format(line="pass"), "import torch\ntorch.mm(a, b)"
    assert codes(good, **{"extra.py": other}) == ["X202"]
    assert codes(good, **{"extra.py": "def f(:"}) == ["X101"]
    assert codes(good, **{"reference.py": other, "kernel.txt": other}) == []


def test_what_is_inside_of_a_kernel_is_the_language_s_own() -> None:
    text = MODEL.format(line="pass") + "\ndef kernel(x):\n    return x.softmax(0)\n"
    assert codes(text) == ["X202"]
    inside = lambda node: isinstance(node, ast.FunctionDef) and node.name == "kernel"  # noqa: E731
    assert python_findings(source(text), "X", inside) == []


def test_a_forward_of_views_computes_nothing() -> None:
    views = MODEL.replace("y = torch.empty_like(x)", "y = torch.zeros((0, 3))")
    assert only_views(source(views.format(line="(x,) = _fitted(self, (x,)); y = x.permute(1, 0)")))
    assert only_views(source(views.format(line="y = x.unfold(1, 3, 2)")))
    assert not only_views(source(views.format(line="y = x.cumsum(0)")))
    assert not only_views(source("class ModelNew: pass")) and not only_views(source("def f(:"))
