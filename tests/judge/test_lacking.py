"""What eager PyTorch lacks for a dtype it computes in float32 and rounds, or on the host."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from akg_core.judge.reference.lacking import _Fallbacks, is_lacking, with_fallbacks


class Pools(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.avg_pool3d(x, 2) + 1


def test_an_operator_that_is_missing_is_computed_in_float32_and_rounded() -> None:
    x = torch.randn(2, 4, 4, 4).bfloat16()
    with pytest.raises(NotImplementedError) as lacking:
        Pools()(x)
    assert is_lacking(lacking.value) and not is_lacking(NotImplementedError("forward"))
    assert is_lacking(RuntimeError("HalfTensor is not supported")), "as histc says it on a GPU"
    model = with_fallbacks(Pools())
    due = torch.nn.functional.avg_pool3d(x.float(), 2).bfloat16() + 1
    assert torch.equal(copy.deepcopy(model)(x), due)
    assert model(x.double()).dtype == torch.float64


def test_what_the_host_lacks_for_whole_numbers_stays_an_error() -> None:
    with pytest.raises(NotImplementedError):
        with_fallbacks(Pools())(torch.ones(2, 4, 4, 4, dtype=torch.int32))


def test_what_writes_to_a_tensor_is_not_computed_beside_it() -> None:
    class Writes(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.special.ndtri(x, out=torch.empty_like(x))

    with pytest.raises(NotImplementedError, match="Half"):
        with_fallbacks(Writes())(torch.rand(4).half())


def test_what_a_device_lacks_for_whole_numbers_is_computed_on_the_host(monkeypatch) -> None:
    """The host's own product of whole numbers is refused once, as that of a GPU is."""
    calls = []

    def product(*args):
        calls.append(args)
        if len(calls) == 1:
            raise NotImplementedError("\"baddbmm_cuda\" not implemented for 'Int'")
        return torch.bmm(*args)

    product._schema = torch.ops.aten.bmm.default._schema
    x, y = torch.randint(-5, 5, (2, 3, 4), dtype=torch.int32), torch.randint(-5, 5, (2, 4, 5), dtype=torch.int32)
    with pytest.raises(NotImplementedError):
        _Fallbacks().__torch_dispatch__(product, (), (x, y))
    calls.clear()
    monkeypatch.setattr(torch.Tensor, "is_cpu", property(lambda _: len(calls) != 1))
    assert torch.equal(_Fallbacks().__torch_dispatch__(product, (), (x, y)), torch.bmm(x, y))
    assert len(calls) == 2
    assert is_lacking(NotImplementedError("\"baddbmm_cuda\" not implemented for 'Int'"))
