"""Functions that look at values only to refuse some are captured without that look, and are PyTorch's again after."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensorMode

from akg_core.task.tracing.unchecked import unchecked
from tests.design.judging import forward, judge, reference

LINES = [
    "F.gaussian_nll_loss(x, y, y.abs() + 0.1)", "F.gaussian_nll_loss(x, y, y.abs(), full=True, reduction='sum')",
    "F.gaussian_nll_loss(x, y, y[:, 0].abs() + 0.2, reduction='none')", "F.gaussian_nll_loss(x, y, 0.7)",
    "nn.GaussianNLLLoss()(x, y, y[:, :1].abs() + 1)", "torch.cov(x)", "x.cov(correction=0)", "torch.corrcoef(x)",
    "x.relu().fill_diagonal_(2.5)", "(x @ x.t()).t().fill_diagonal_(-math.inf)", "torch.cov(x[0])",
    "x[0].corrcoef() + y.corrcoef()", "torch.combinations(x[:, 0])", "torch.combinations(x[0, :4], 3, True)",
    "nn.BatchNorm1d(6).eval()(x.t())", "F.batch_norm(x.view(4, 6, 8).transpose(1, 2), None, None, training=True)",
    "F.batch_norm(x.view(2, 6, 2, 8).permute(0, 3, 1, 2), None, None, training=True)",
    "F.one_hot((y.abs() * 2).long().t(), 16)",
    "torch.angle(torch.complex(x, y).t())", "(x > y) << torch.arange(32)",
    "((x > y).view(6, 4, 8) << y.int()[0, :8] % 3)",
    "torch.bitwise_right_shift(x > y, (y > 0).int())",
]  # fmt: skip


@pytest.mark.parametrize("line", LINES)
def test_values_are_those_of_pytorch(line: str) -> None:
    judge(reference(forward(line, "x, y"), "[torch.randn(6, 32), torch.randn(6, 32)]"))


@pytest.mark.parametrize("dim", [None, 0, -1])
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("interpolation", ["linear", "lower", "higher", "midpoint", "nearest"])
def test_quantiles_are_those_of_pytorch(dim: int | None, keepdim: bool, interpolation: str) -> None:
    x = torch.randn(3, 4, 7)
    x[1, 2, 3] = math.nan
    for q in (0.3, 1.0, torch.tensor(0.5), torch.tensor([0.0, 0.77, 0.1])):
        for function in (torch.quantile, torch.nanquantile):
            plain = function(x, q, dim, keepdim, interpolation=interpolation)
            with unchecked():
                ours = getattr(torch, function.__name__)(x, q, dim, keepdim, interpolation=interpolation)
            torch.testing.assert_close(ours, plain, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("line", [
    "self.norm(x.t()).relu()", "self.wide(x)", "self.wide(x[0], y)", "self.shares.predict(x)",
    "D.Normal(x, y.exp()).log_prob(y)", "D.kl_divergence(D.Normal(x, y.exp()), D.Normal(torch.zeros(32), 1.0)).sum(-1)",
    "(lambda d: (d.entropy(), d.log_prob(y[:, 0].abs().long() % 32)))(D.Categorical(logits=x))",
    "D.Bernoulli(logits=x).log_prob((y > 0).float())",
])  # fmt: skip
def test_layers_and_distributions_do_not_look(line: str) -> None:
    init = """    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(6, momentum=None)
        self.shares = nn.AdaptiveLogSoftmaxWithLoss(32, 40, [8, 20])

    def wide(self, x, y=None):
        if y is not None:
            return tuple(self.shares(x, torch.tensor(11)))
        return tuple(self.shares(x, torch.tensor([0, 7, 8, 19, 20, 39])))

"""
    body = init + f"    def forward(self, x, y):\n        import torch.distributions as D\n        return {line}\n"
    judge(reference(body, "[torch.randn(6, 32), torch.randn(6, 32)]"))


@pytest.mark.parametrize("line", [
    "torch.sparse.mm(a, y.t())", "a @ y[0]", "torch.mm(a.t(), x)", "torch.sparse.addmm(x @ y.t(), a.coalesce(), y.t())",
    "a.to_dense()", "(a * 2).matmul(y.t())",
])  # fmt: skip
def test_products_with_sparse_matrices(line: str) -> None:
    made = "torch.sparse_coo_tensor(torch.tensor([[0, 1, 3, 1], [2, 0, 3, 0]]), y[0, :4], (6, 32))"
    body = f"    def forward(self, x, y):\n        a = {made}\n        return {line}\n"
    judge(reference(body, "[torch.randn(6, 32), torch.randn(6, 32)]"))


@pytest.mark.parametrize("line", [
    "b.data = b.data * 0.9 + a.data * 0.1", "b.data.mul_(0.9).add_(a.data, alpha=0.1)", "b.data[:1] = a.data[:1]",
])  # fmt: skip
def test_what_is_written_to_the_data_of_a_parameter_stays(line: str) -> None:
    body = f"""    def __init__(self):
        super().__init__()
        self.fast, self.slow = nn.Linear(8, 5), nn.Linear(8, 5)

    def forward(self, x):
        for a, b in zip(self.fast.parameters(), self.slow.parameters()):
            {line}
        return self.slow(x)

"""
    task = judge(reference(body, "[torch.randn(6, 8)]")).task
    assert set(task.graph.mutations) == {"slow.weight", "slow.bias"}


@pytest.mark.parametrize("function", [
    lambda x: F.max_pool1d(x.transpose(1, 2), 2), lambda x: F.one_hot(x.abs().long().permute(2, 0, 1), 9),
    lambda x: F.batch_norm(x.transpose(0, 1), None, None, training=True),
])  # fmt: skip
def test_results_lie_as_eager_pytorch_lays_them(function: Callable[[torch.Tensor], torch.Tensor]) -> None:
    x = torch.randn(4, 6, 8)
    with unchecked(), FakeTensorMode(allow_non_fake_inputs=True) as mode:
        traced = function(mode.from_tensor(x))
    assert traced.stride() == function(x).stride()


def test_pytorchs_own_functions_are_back_afterwards() -> None:
    before = torch.cov, torch.Tensor.cov, torch.nn.functional.gaussian_nll_loss
    with unchecked():
        assert torch.cov is not before[0]
    assert (torch.cov, torch.Tensor.cov, torch.nn.functional.gaussian_nll_loss) == before


def test_weighted_covariance_is_pytorchs() -> None:
    x, counts, weights = torch.randn(3, 9), torch.arange(1, 10), torch.rand(9)
    for given in ({"fweights": counts}, {"aweights": weights}, {"fweights": counts, "aweights": weights}):
        due = torch.cov(x, correction=2, **given)
        with unchecked():
            torch.testing.assert_close(torch.cov(x, correction=2, **given), due)


def test_the_mask_of_a_transformer_is_not_looked_at() -> None:
    body = (
        "    def __init__(self):\n        super().__init__()\n"
        "        self.m = nn.Transformer(8, 2, 1, 1, 16, batch_first=True, dropout=0.0)\n\n"
        "    def forward(self, x, y):\n"
        "        return self.m(x, y, tgt_mask=nn.Transformer.generate_square_subsequent_mask(3))"
    )
    judge(reference(body, "[torch.randn(2, 4, 8), torch.randn(2, 3, 8)]"))


@pytest.mark.skipif(not hasattr(torch.nn.functional, "grouped_mm"), reason="PyTorch has no products of groups here")
def test_products_of_groups_are_captured_of_any_float() -> None:
    judge(reference(forward("F.grouped_mm(x, y)", "x, y"), "[torch.randn(3, 32, 16), torch.randn(3, 16, 8)]"))
    inputs = "[torch.randn(7, 16), torch.randn(3, 16, 8), torch.tensor([2, 2, 7], dtype=torch.int32)]"
    judge(reference(forward("F.grouped_mm(x, y, offs=z)", "x, y, z"), inputs))


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_a_margin_that_is_nan_costs_nothing(reduction):
    x = torch.randn(4, 5)
    x[1, 2] = math.nan
    labels, some = torch.tensor([0, 4, 2, 1]), torch.tensor([[1, 3, -1, 0, 0]] * 4)

    def losses():
        yield F.multi_margin_loss(x, labels, p=2, margin=0.5, weight=torch.arange(5.0), reduction=reduction)
        yield F.multi_margin_loss(x[0], labels[0], reduction=reduction)
        yield F.multilabel_margin_loss(x, some, reduction=reduction)

    due = list(losses())
    with unchecked():
        found = list(losses())
    for one, other in zip(found, due, strict=True):
        torch.testing.assert_close(one, other, equal_nan=True)
