"""Kernels for all sizes, of every family, are right by simulation at sizes that nothing was made for.

Where the toolchain is not set up there is nothing to judge. All families take two to four minutes on two cores.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from akg_core import environment
from akg_core.bench import runner
from akg_core.bench.results import Row
from akg_core.bench.suite import Problem
from akg_core.plugin import Target
from akg_core.registry import environment_of
from akg_core.stages.stages import Request

REFERENCE = """
import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = {layer}

    def forward(self, {arguments}):
        return {outputs}


def get_inputs():
    return [{inputs}]


def get_init_inputs():
    return []
"""
X, IMAGE, HEADS = "torch.randn(12, 20)", "torch.randn(2, 3, 6, 7)", "torch.randn(2, 2, 10, 8)"
# Of each family: its layer, arguments, outputs, inputs.
FAMILIES = {
    "elementwise": ("None", "x, z", "F.gelu(x) + torch.exp(-z.abs())", f"{X}, {X}"),
    "reduction": ("None", "x", "x.sum(0), x.mean(1), x.amax(), x.argmax(1)", X),
    "softmax": ("None", "x", "x.softmax(1), x.log_softmax(0)", X),
    "layer_norm": ("None", "x", "F.layer_norm(x, x.shape[1:])", X),
    "batch_norm": ("nn.BatchNorm2d(3)", "x", "self.layer(x)", IMAGE),
    "matmul": ("None", "x, z", "x @ z", f"{X}, torch.randn(20, 14)"),
    "linear": ("nn.Linear(20, 12)", "x", "F.relu(self.layer(x))", X),
    "convolution": ("nn.Conv2d(3, 4, 3, padding=1)", "x", "F.relu(self.layer(x))", IMAGE),
    "transposed convolution": ("nn.ConvTranspose1d(3, 4, 3, stride=2)", "x", "self.layer(x)", "torch.randn(2, 3, 9)"),
    "pooling": ("None", "x", "F.max_pool1d(x, 3, 2, 1), F.avg_pool1d(x, 2)", "torch.randn(2, 3, 12)"),
    "scan": ("None", "x", "x.cumsum(1), x.cumsum(0)", X),
    "loss": ("None", "x, t", "F.cross_entropy(x, t), F.mse_loss(x, x * x)", f"{X}, torch.randint(0, 20, (12,))"),
    "gather": ("nn.Embedding(11, 8)", "i", "self.layer(i)", "torch.randint(0, 11, (5, 7))"),
    "scatter": ("None", "x, i, s", "x.index_add(0, i, s)", f"{X}, torch.randint(0, 12, (7,)), torch.randn(7, 20)"),
    "attention": ("None", "q, k, v", "F.scaled_dot_product_attention(q, k, v)", f"{HEADS}, {HEADS}, {HEADS}"),
    "movement": ("None", "x, z", "torch.cat([x, z], 1), x.t().contiguous()", f"{X}, torch.randn(12, 9)"),
}
NEEDED = environment_of("triton_ascend")
MADE = environment.find("triton_ascend", NEEDED) if NEEDED else None

pytestmark = pytest.mark.skipif(MADE is None, reason="The environment of triton_ascend is not set up.")


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Row, set[str]]]:
    """Of each family its row, and the sizes that its kernel was right at."""
    folder = tmp_path_factory.mktemp("dynamic")
    problems = []
    for name, (layer, arguments, outputs, inputs) in FAMILIES.items():
        (path := folder / f"{name.replace(' ', '_')}.py").write_text(
            REFERENCE.format(layer=layer, arguments=arguments, outputs=outputs, inputs=inputs)
        )
        problems.append(Problem(name, path, "families"))
    request = Request(reference=folder, plugin="triton_ascend", target=Target(backend="ascend"), dynamic=True)
    plan = runner.Plan(suite="families", baselines=(), together=2, folder=folder / "runs")
    rows = runner.run(problems, request, plan, None, lambda *_: None).rows
    return {row.name: (row, _sizes(plan.folder / "families" / row.name / "verdict.json")) for row in rows}


def _sizes(verdict: Path) -> set[str]:
    cases = json.loads(verdict.read_text())["cases"] if verdict.exists() else []
    return {json.dumps(case["sizes"]) for case in cases if case["ok"] and case["sizes"]}


@pytest.mark.parametrize("family", FAMILIES)
def test_right_at_hidden_sizes(judged: dict[str, tuple[Row, set[str]]], family: str) -> None:
    row, sizes = judged[family]
    assert row.status == "correct", (row.reason, row.notes)
    assert len(sizes) >= 3, row.notes
    assert not any("refused" in note for note in row.notes if note.startswith("The variant")), row.notes
