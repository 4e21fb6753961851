"""How the emitter's cases are written down."""

from __future__ import annotations

import torch
from torch import Tensor

from tests.emission.running import Case

X = 'x: In["f32", "M", "N"]'
Y = 'y: Out["f32", "M", "N"]'


def randn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed + sum(shape)))


def ints(*shape: int, low: int = -50, high: int = 50, dtype: torch.dtype = torch.int64) -> Tensor:
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(sum(shape))).to(dtype)


def rows(ins: str, outs: str, body: str, m: int = 3, n: int = 16) -> str:
    """A kernel over tiles of rows of x[M, N]."""
    lines = "\n".join(f"            {line}" for line in body.strip().split("\n"))
    return f"""
@kernel
def k({ins}, {outs}):
    for m in grid(M, {m}):
        for n in grid(N, {n}):
{lines}
"""


def whole_rows(ins: str, outs: str, body: str, m: int = 3) -> str:
    """A kernel over tiles of whole rows."""
    lines = "\n".join(f"        {line}" for line in body.strip().split("\n"))
    return f"""
@kernel
def k({ins}, {outs}):
    for m in grid(M, {m}):
        n = whole(N)
{lines}
"""


class Cases(list[Case]):
    def add(self, name: str, text: str, *inputs: Tensor | float, **more: object) -> None:
        self.append(Case(name, text, inputs, **more))
