"""The main job on a machine without a GPU: smaller sizes, a verdict by simulation, and no time."""

from __future__ import annotations

from pathlib import Path

import pytest
from akg_cuda import chips

from akg_core.pipeline.jobs import Tuning, run
from akg_core.plugin import Target
from akg_core.runs import RunFolder
from akg_core.stages.stages import Request

REFERENCE = """
import torch
from torch import nn

ROWS, COLUMNS = 8192, 4096


class Model(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(columns))

    def forward(self, x):
        return torch.tanh(x) * self.scale


def get_inputs():
    return [torch.randn(ROWS, COLUMNS)]


def get_init_inputs():
    return [COLUMNS]
"""


@pytest.mark.skipif(bool(chips.gpus()), reason="with a GPU nothing is simulated")
@pytest.mark.parametrize("where", ["ROWS", "dim 0 of x"])
def test_a_verdict_by_simulation(tmp_path: Path, where: str) -> None:
    reference = tmp_path / "scaled_tanh.py"
    in_place = REFERENCE.replace("(ROWS, COLUMNS)", "(8192, 4096)").replace("[COLUMNS]", "[4096]")
    reference.write_text(REFERENCE if where == "ROWS" else in_place)
    request = Request(reference=reference, plugin="triton_cuda", target=Target(backend="cuda", arch="sm_90"))
    result = run(request, RunFolder(tmp_path / "run"), lambda stage: None)
    assert result.error is None and result.exit_code == 0
    assert result.verdict is not None and result.verdict.correct and result.verdict.simulated
    assert result.timing is None
    assert {stage.name: stage.status for stage in result.stages}["time"] == "skipped"
    assert any(f"{where} 8192 ->" in note for note in result.notes), "sizes are made smaller, and it is said"


def test_a_wrong_kernel_is_found_by_simulation(tmp_path: Path) -> None:
    reference = tmp_path / "scaled_tanh.py"
    reference.write_text(REFERENCE.replace("8192, 4096", "64, 100"))
    sketch = tmp_path / "wrong.py"
    sketch.write_text("""
@kernel
def k(x: In["f32", "M", "N"], scale: In["f32", "N"], y: Out["f32", "M", "N"]):
    for m in grid(M, 4):
        for n in grid(N, 64):
            store(y[m, n], tanh(load(x[m, n])) * load(scale[0]))


@program
def model(x: In["f32", "M", "N"], scale: Param["scale", "f32", "N"]):
    y = empty("f32", M, N)
    k(x, scale, y)
    return y
""")
    target = Target(backend="cuda", arch="sm_90")
    request = Request(reference=reference, plugin="triton_cuda", target=target, sketch=sketch)
    result = run(request, RunFolder(tmp_path / "run"), lambda stage: None)
    assert result.verdict is not None and result.verdict.status == "incorrect" and result.exit_code == 1


@pytest.mark.skipif(bool(chips.gpus()), reason="with a GPU there are times")
def test_nothing_is_tuned_by_simulation(tmp_path: Path) -> None:
    reference = tmp_path / "scaled_tanh.py"
    reference.write_text(REFERENCE.replace("8192, 4096", "64, 100"))
    request = Request(reference=reference, plugin="triton_cuda", target=Target(backend="cuda", arch="sm_90"))
    archive = f"sqlite:///{tmp_path / 'archive.db'}"
    tuning = Tuning(seconds=1, archive=archive)
    result = run(request, RunFolder(tmp_path / "run"), lambda stage: None, tuning)
    assert result.error is not None and result.exit_code == 2
    assert result.error.message.startswith("Nothing can be timed. There is no NVIDIA GPU here")
