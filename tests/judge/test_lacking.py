"""What eager PyTorch lacks for floats of 16 bits it computes in float32, and rounds."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from akg_core.judge.reference.lacking import is_lacking, widened


class Pools(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.avg_pool3d(x, 2) + 1


def test_an_operator_that_is_missing_is_computed_in_float32_and_rounded() -> None:
    x = torch.randn(2, 4, 4, 4).bfloat16()
    with pytest.raises(NotImplementedError) as lacking:
        Pools()(x)
    assert is_lacking(lacking.value) and not is_lacking(NotImplementedError("forward"))
    assert is_lacking(RuntimeError("HalfTensor is not supported")), "as histc says it on a GPU"
    model = widened(Pools())
    due = torch.nn.functional.avg_pool3d(x.float(), 2).bfloat16() + 1
    assert torch.equal(copy.deepcopy(model)(x), due)
    assert model(x.double()).dtype == torch.float64


def test_what_else_is_missing_stays_an_error() -> None:
    with pytest.raises(NotImplementedError):
        widened(Pools())(torch.ones(2, 4, 4, 4, dtype=torch.int32))


def test_what_writes_to_a_tensor_is_not_computed_beside_it() -> None:
    class Writes(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.special.ndtri(x, out=torch.empty_like(x))

    with pytest.raises(NotImplementedError, match="Half"):
        widened(Writes())(torch.rand(4).half())
