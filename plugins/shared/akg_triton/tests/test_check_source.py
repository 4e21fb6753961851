"""What Triton sources must have and must not do is found by reading."""

from __future__ import annotations

import pytest
from akg_triton.check_source import check_source
from akg_triton.dialect import Dialect
from akg_triton.emit import emit

from akg_core.plugin import KernelSource, Schedule, Target
from akg_core.testing.emission.sized import sized
from akg_core.testing.emission.sketches import sketch_of

KERNEL = """
import torch, triton
import triton.language as tl

@triton.jit
def double(x, y, n: tl.constexpr):
    i = tl.arange(0, n)
    tl.store(y + i, tl.load(x + i) * 2)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        double[(1,)](x, y, 64)
        return y
"""


def codes(text: str) -> list[str]:
    source = KernelSource(plugin="triton_npu", target=Target(backend="npu"), files={"model_new.py": text})
    return [finding.code for finding in check_source(source)]


def test_what_is_emitted_is_allowed() -> None:
    source = emit(sized("layer_norm"), Schedule(), Target(backend="npu"), "triton_npu", Dialect(device="npu"))
    assert check_source(source) == ()


def test_a_program_of_views_needs_no_kernel() -> None:
    text = """
@program
def model(x: In["f32", 4, 6]):
    y = permute(x, 1, 0)
    return y
"""
    source = emit(sketch_of(text), Schedule(), Target(backend="npu"), "triton_npu", Dialect(device="npu"))
    assert "permute" in source.files["model_new.py"] and check_source(source) == ()


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("double", "double", ""),
        ("@triton.jit", "", "TRITON104"),
        ("return y", "return torch.relu(y)", "TRITON202"),
        ("* 2)", "* tl.sum(tl.load(x + i), 0))", ""),
        ("* 2)", "* tl.load(x + i).sum(0))", ""),
    ],
)
def test_findings(old: str, new: str, code: str) -> None:
    assert old in KERNEL
    assert codes(KERNEL.replace(old, new)) == ([code] if code else [])
