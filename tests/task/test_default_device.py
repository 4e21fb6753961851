"""Reference files that do not say where their tensors lie run on a device, too; "meta" stands for one."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.distributions import AffineTransform, Independent, Normal, TransformedDistribution

from akg_core.task.source.attributes import moved
from akg_core.task.source.default_device import making_on

MADE = [
    ("import torch", "torch.arange(3)"),
    ("import torch as th", "th.zeros(3)"),
    ("from torch import ones", "ones(3)"),
    ("from torch import nn", "nn.Linear(2, 3).weight"),
    ("from torch.nn import Embedding", "Embedding(2, 3).weight"),
    ("from torch.distributions import Normal as N", "N(0.0, 1.0, validate_args=False).sample((3,))"),
    ("import torch.distributions as D", "D.Uniform(0.0, 1.0, validate_args=False).icdf(x)"),
    ("from torch.distributions.gamma import Gamma", "Gamma(1.0, 2.0, validate_args=False).mean"),
]


class Holder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.LSTM(2, 3)
        self.weight = nn.Parameter(torch.ones(2))
        self.both = [self.weight, torch.ones(2)]
        self.named, self.pair = {"a": [torch.ones(2)], "b": 3}, (torch.ones(2), "text")
        self.prior = Independent(Normal(torch.zeros(2), torch.ones(2)), 1)
        self.warped = TransformedDistribution(self.prior, [AffineTransform(torch.zeros(2), torch.ones(2))])


def test_attributes_that_hold_tensors_move_with_their_module() -> None:
    model = moved(Holder(), "meta")
    assert isinstance(model.both[0], nn.Parameter)  # whose memory a device's takes the place of
    held = [model.both[1], *model.named["a"], model.pair[0], model.prior.mean, model.warped.transforms[0].loc]
    assert {each.device.type for each in [*held, *model.parameters()]} == {"meta"}
    assert model.named["b"] == 3 and model.pair[1] == "text"


@pytest.mark.parametrize(("imports", "made"), MADE)
def test_what_forward_makes_is_on_the_device(imports: str, made: str) -> None:
    text = f"""import torch
{imports}
class Model(torch.nn.Module):
    def forward(self, x):
        return {made}
"""
    names: dict[str, type[nn.Module]] = {}
    exec(text, names)
    model = making_on(names["Model"](), "meta", text)
    assert model(torch.ones(3, device="meta")).device.type == "meta"


@pytest.mark.parametrize(
    "line", ["x.zeros_like()", "torch.arange(3, device=x.device)", "torch.relu(x)", "nn.functional.relu(x)"]
)
def test_forward_is_left_as_it_is_where_it_makes_nothing(line: str) -> None:
    text = (
        f"import torch\nfrom torch import nn\nclass Model(nn.Module):\n    def forward(self, x):\n        return {line}"
    )
    model = nn.Module()
    assert type(making_on(model, "meta", text)) is nn.Module
