"""How cases are written down: tensors that are the same each time, and frames around the lines of a kernel."""

from __future__ import annotations

import torch
from torch import Tensor

from akg_core.testing.emission.running import Case

X = 'x: In["f32", "M", "N"]'
Y = 'y: Out["f32", "M", "N"]'
NANS = torch.tensor([[1.0, float("nan"), 3.0, -2.0, 3.0] * 5, [float("-inf")] * 25, [2.0, 2.0, -7.0, -7.0, 0.0] * 5])


def randn(*shape: int, seed: int = 0) -> Tensor:
    """Standard normal f32, by the shape and `seed`."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed + sum(shape)))


def ints(*shape: int, low: int = -50, high: int = 50, dtype: torch.dtype = torch.int64) -> Tensor:
    """Integers from `low` to `high` - 1, by the shape."""
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(sum(shape))).to(dtype)


class Cases(list[Case]):
    """Cases in the making."""

    def add(self, name: str, text: str, *inputs: Tensor) -> None:
        """Append the case of a sketch."""
        self.append(Case(name, text, inputs))

    def rows(self, name: str, ins: str, outs: str, body: str, *inputs: Tensor, m: int = 3, n: int = 16) -> None:
        """Append that of a kernel over tiles of rows of x[M, N]."""
        self._framed(
            name, f"{ins}, {outs}", [f"for m in grid(M, {m}):", f"    for n in grid(N, {n}):"], 3, body, inputs
        )

    def whole_rows(self, name: str, ins: str, outs: str, body: str, *inputs: Tensor, m: int = 3) -> None:
        """Append that of a kernel over tiles of whole rows."""
        self._framed(name, f"{ins}, {outs}", [f"for m in grid(M, {m}):", "    n = whole(N)"], 2, body, inputs)

    def _framed(
        self, name: str, tensors: str, frame: list[str], depth: int, body: str, inputs: tuple[Tensor, ...]
    ) -> None:
        lines = [f"    {line}" for line in frame] + [f"{'    ' * depth}{line}" for line in body.strip().split("\n")]
        self.add(name, "\n".join(["", "@kernel", f"def k({tensors}):", *lines, ""]), *inputs)
