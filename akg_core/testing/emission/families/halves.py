"""Designed sketches of products made of halves: stored ahead or not, in batches, split, and in one step."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from akg_core.design import design
from akg_core.records import Traits
from akg_core.task.capture import capture
from akg_core.task.source.load import load_source
from akg_core.testing.emission.running import Case

TRAITS = Traits(units=1, lanes=4, on_chip_bytes=4096, tile_elements=64, dot_tile=(16, 16, 16), half_tile=(16, 16, 16))
PRODUCTS = {
    "halves": ("x @ y", (64, 70), (70, 61)),
    "halves_turned": ("x.T @ y.T", (70, 64), (64, 70)),
    "halves_batched": ("torch.bmm(x, y).relu()", (3, 48, 32), (3, 32, 64)),
    "halves_masked": ("torch.tril(x @ y.T)", (64, 48), (64, 48)),
    "halves_swept": ("x @ y", (130, 16), (16, 150)),
    "halves_unstored": ("x.T @ y + 1", (900, 20), (900, 24)),
}
REFERENCE = """
from torch import nn
import torch

class Model(nn.Module):
    def forward(self, x, y):
        return {line}

def get_inputs():
    return [torch.randn{left}, torch.randn{right}]

def get_init_inputs():
    return []
"""


def cases() -> Iterator[Case]:
    for name, (line, left, right) in PRODUCTS.items():
        module = load_source(REFERENCE.format(line=line, left=left, right=right), name)
        torch.manual_seed(0)
        x, y = module.get_inputs()
        x[len(x) // 2] *= 1e30  # halves do not hold it
        sketch = design(capture(module), TRAITS)[0]
        yield Case(name, sketch.text, (x, y), tolerance=1e-5)
