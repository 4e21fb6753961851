"""Windows whose taps are neighbours in memory: a thread has them, and each is loaded alone, by a mask of its own."""

from __future__ import annotations

import re
from pathlib import Path

from akg_plugin_triton_cuda.compile import compile_kernel
from akg_plugin_triton_cuda.emit import dialect
from akg_plugin_triton_cuda.probe import traits
from akg_triton.emit import emit

from akg_core.design import design
from akg_core.plugin import Schedule, Target
from akg_core.task.capture import capture
from akg_core.task.source.load import load_source

SM_90 = Target(backend="cuda", arch="sm_90")
DEPTHWISE = """
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, weight):
        return nn.functional.conv2d(x, weight, padding=2, groups=12)


def get_inputs():
    return [torch.zeros(2, 12, 48, 48), torch.zeros(12, 1, 5, 5)]


def get_init_inputs():
    return []
"""


def test_a_mask_of_each_tap(tmp_path: Path) -> None:
    """Triton compares lanes once that it takes for alike, from what it is told of where they begin."""
    sketch = design(capture(load_source(DEPTHWISE, "depthwise")), traits(90))[0]
    source = emit(sketch, Schedule(), SM_90, "triton_cuda", dialect(SM_90))
    result = compile_kernel(source, SM_90, tmp_path)
    assert result.ok, result.log
    code, layouts = (next(tmp_path.glob(f"compiled/*/*.{kind}")).read_text() for kind in ("llir", "ttgir"))
    assert "sizePerThread = [4, 1]" in layouts, "a thread has four taps of a place"
    places = re.findall(r"icmp [\w ]*ult i32 %\d+, (?:48|50),", code)
    assert len(places) == 1 + 4, "of the thread's place, and of each tap: by itself, or by what is two further"
