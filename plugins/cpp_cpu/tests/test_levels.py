"""Kernels for the levels of x86-64: designed, emitted, built and judged, with no instruction beyond the level."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from akg_plugin_cpp_cpu import levels

from akg_core.pipeline.pipeline import Pipeline
from akg_core.plugin import Target
from akg_core.runs import RunFolder
from akg_core.stages.progress import Progress
from akg_core.stages.stages import Request
from akg_core.stages.variants import Defaults
from akg_core.stages.warm import WARM
from akg_core.worker.pool import Pool

REFERENCE = """
import torch
from torch import nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(75, 41)
        self.conv = nn.Conv2d(5, 11, 3, padding=1)

    def forward(self, {arguments}):
        return {outputs}


def get_inputs():
    return [{inputs}]


def get_init_inputs():
    return []
"""
X, Z = "torch.randn(37, 75)", "torch.randn(37, 75)"
MODELS = {
    "elementwise": ("F.gelu(x) + torch.exp(-x.abs()), torch.sin(z) / (1 + z * z), z % 0.7", "x, z", f"{X}, {Z}"),
    "reductions": ("x.softmax(1), z.sum(0), z.argmax(1), x.cumsum(1), F.layer_norm(z, (75,))", "x, z", f"{X}, {Z}"),
    "products": ("F.relu(self.fc(x)), self.conv(z)", "x, z", f"{X}, torch.randn(2, 5, 19, 23)"),
    "formats": (
        "h * 2 + z.half(), b - z.bfloat16(), h.float() * b.float(), (h > b) & (x < z), x.double() / 3, (9 * z).int()",
        "x, z, h, b",
        f"{X}, {Z}, {X}.half(), {X}.bfloat16()",
    ),
}  # fmt: skip
# Registers of higher levels, which no instruction may name.
BEYOND = {"x86-64": ("%ymm", "%zmm"), "x86-64-v3": ("%zmm",)}
HERE = [level for level in BEYOND if level in levels.known() and not levels.lacking(level)]


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(warm=WARM) as pool:
        yield pool


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("level", HERE)
def test_judged(pool: Pool, tmp_path: Path, level: str, name: str) -> None:
    outputs, arguments, inputs = MODELS[name]
    reference = tmp_path / f"{name}.py"
    reference.write_text(REFERENCE.format(outputs=outputs, arguments=arguments, inputs=inputs))
    request = Request(reference=reference, plugin="cpp_cpu", target=Target(backend="cpu", arch=level))
    pipeline = Pipeline(request, pool, RunFolder(tmp_path / "run"), Progress())
    assert pipeline.require_toolchain().details["flags"].startswith(f"-march={level} ")
    task = pipeline.capture()
    artifact = pipeline.made(task, next(iter(Defaults(pipeline.design(task))))).artifact
    assert artifact is not None
    code = subprocess.run(["objdump", "-d", artifact.folder / "kernel.so"], capture_output=True, text=True, check=True)
    assert "%xmm" in code.stdout and not any(register in code.stdout for register in BEYOND[level])
    assert f"-march={level};" in (artifact.folder / "CMakeLists.txt").read_text()
    with pipeline.reference(task) as prepared:
        verdict = pipeline.verify(prepared, artifact)
    assert verdict.correct, verdict
