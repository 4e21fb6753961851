"""How cases are written down: tensors that are the same each time, and frames around the lines of a kernel."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from akg_core.testing.emission.running import Case

X = 'x: In["f32", "M", "N"]'
Y = 'y: Out["f32", "M", "N"]'


def randn(*shape: int, seed: int = 0) -> Tensor:
    """Standard normal f32, by the shape and `seed`."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed + sum(shape)))


def ints(*shape: int, low: int = -50, high: int = 50, dtype: torch.dtype = torch.int64) -> Tensor:
    """Integers from `low` to `high` - 1, by the shape."""
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
    """Cases in the making."""

    def add(self, name: str, text: str, *inputs: Tensor, **more: Any) -> None:
        """Append a case; `more` are its other fields."""
        self.append(Case(name, text, inputs, **more))
