"""Normalisations, losses and small modules: parameters, running statistics, several outputs."""

from __future__ import annotations

import pytest

from tests.design.judging import SMALL, USUAL, forward, judge, reference, several

MODULE = """
    def __init__(self):
        super().__init__()
        self.layer = {}

    def forward(self, x):
        return {}
"""
NORMS = {
    "nn.LayerNorm(12)": "(5, 7, 12)", "nn.LayerNorm((7, 12))": "(5, 7, 12)", "nn.LayerNorm(700)": "(9, 700)",
    "nn.LayerNorm(12, elementwise_affine=False)": "(50, 12)", "nn.RMSNorm(12)": "(5, 7, 12)",
    "nn.GroupNorm(3, 12)": "(2, 12, 5, 7)", "nn.GroupNorm(12, 12)": "(2, 12, 9)",
    "nn.GroupNorm(2, 6, affine=False)": "(3, 6, 40, 30)", "nn.InstanceNorm2d(6)": "(3, 6, 8, 9)",
    "nn.InstanceNorm1d(6, affine=True)": "(3, 6, 80)", "nn.BatchNorm2d(6)": "(4, 6, 5, 7)",
    "nn.BatchNorm1d(30)": "(40, 30)", "nn.BatchNorm1d(3)": "(5, 3, 90)",
    "nn.BatchNorm2d(6, affine=False)": "(4, 6, 5, 7)",
    "nn.BatchNorm3d(2)": "(3, 2, 4, 5, 6)", "nn.BatchNorm2d(6, track_running_stats=False)": "(4, 6, 5, 7)",
    "nn.BatchNorm2d(6, momentum=0.3).eval()": "(4, 6, 5, 7)", "nn.BatchNorm1d(2)": "(2000, 2)",
}  # fmt: skip


@pytest.mark.parametrize("layer", NORMS)
@pytest.mark.parametrize("traits", [SMALL, USUAL], ids=["small", "usual"])
def test_normalisation(layer: str, traits) -> None:
    judge(
        reference(MODULE.format(layer, "self.layer(x)").rstrip(), f"[torch.randn{NORMS[layer]} * 3 + 2]"), traits=traits
    )


@pytest.mark.parametrize(
    "after", ["F.relu(self.layer(x))", "self.layer(x) + x", "F.gelu(self.layer(x * 2)).mean(1)", "self.layer(x).sum()"]
)
def test_normalisation_with_neighbours(after: str) -> None:
    judge(reference(MODULE.format("nn.LayerNorm(30)", after).rstrip(), "[torch.randn(9, 30)]"))
    judge(reference(MODULE.format("nn.BatchNorm2d(3)", after).rstrip(), "[torch.randn(9, 3, 5, 6)]"))


PAIRS = [
    "F.mse_loss(x, y)", "F.l1_loss(x, y)", "F.smooth_l1_loss(x, y)", "F.huber_loss(x, y, delta=0.4)",
    "F.kl_div(x.log_softmax(1), y.softmax(1), reduction='batchmean')", "F.mse_loss(x, y, reduction='none')",
    "torch.mean(torch.clamp(1 - x * y, min=0))", "F.binary_cross_entropy_with_logits(x, y.sigmoid())",
    "F.binary_cross_entropy(x.sigmoid(), y.sigmoid())", "F.poisson_nll_loss(x, y)",
    "F.soft_margin_loss(x, torch.sign(y))", "F.margin_ranking_loss(x, y, torch.sign(x * y))",
]  # fmt: skip
ROWS = [
    "F.cosine_similarity(x, y, dim=1)", "F.triplet_margin_loss(x, y, x * y)", "F.pairwise_distance(x, y)",
    "1 - F.cosine_similarity(x, y).mean()", "F.nll_loss(x.log_softmax(1), y[:, 0].abs().long())",
    "F.normalize(x, dim=1) * F.normalize(y, dim=0)", "F.cross_entropy(x, y.softmax(1))",
    "F.cross_entropy(x, y[:, 0].abs().long(), label_smoothing=0.1)",
]  # fmt: skip


@pytest.mark.parametrize("lines", [PAIRS, ROWS], ids=["pairs", "rows"])
def test_losses_together(lines: list[str]) -> None:
    judge(reference(forward(several(lines), "x, y"), "[torch.randn(40, 9), torch.randn(40, 9)]"))


@pytest.mark.parametrize("line", [PAIRS[0], PAIRS[4], ROWS[1], ROWS[4]])
def test_loss(line: str) -> None:
    judge(reference(forward(line, "x, y"), "[torch.randn(70, 9), torch.randn(70, 9)]"), traits=USUAL)


def test_cross_entropy_ignores_and_counts() -> None:
    target = "torch.where(torch.rand(70) < 0.3, -100, torch.randint(0, 33, (70,)))"
    outcome = judge(
        reference(forward("F.cross_entropy(x, y)", "x, y"), f"[torch.randn(70, 33), {target}]"), traits=USUAL
    )
    assert outcome.kernels[0] == 2
    judge(reference(forward("F.cross_entropy(x, y)", "x, y"), "[torch.randn(4, 33, 5), torch.randint(0, 33, (4, 5))]"))


MLP = """
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(20, 33), nn.ReLU(), nn.LayerNorm(33), nn.Linear(33, 7), nn.Dropout(0.0))
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))
        self.register_buffer("average", torch.zeros(7))
        self.scale = torch.rand(7)

    def forward(self, x):
        y = self.net(x)
        self.steps += 1
        self.average = 0.9 * self.average + 0.1 * y.mean(0).detach()
        return {"out": y * self.scale, "soft": y.softmax(1), "best": y.argmax(1)}
"""


def test_a_small_network() -> None:
    outcome = judge(reference(MLP.rstrip(), "[torch.randn(50, 20)]"), traits=USUAL)
    assert outcome.kernels[0] <= 7


STATE = """
    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.rand(9))
        self.register_buffer("b", torch.rand(9))

    def forward(self, x):
        old = self.a.clone()
        self.a.copy_(self.b * 2)
        self.b.copy_(old + x.sum(0))
        return x + old
"""


def test_buffers_that_swap() -> None:
    judge(reference(STATE.rstrip(), "[torch.randn(50, 9)]"))


DYNAMIC = [
    "x * 2 + y", "x.softmax(1)", "x.sum(0)", "x.mean()", "F.layer_norm(x, (x.shape[1],))", "x @ y.t()",
    "(x * y).reshape(-1)", "x.transpose(0, 1) + 1", "x.argmax(1)", "x.var(0)", "torch.cat([x, y], 1)", "x.flip(0)",
    "x.mean(1, keepdim=True) * y", "x * x.shape[0] + x.shape[1] ** 0.5", "x.view(x.shape[0], 3, -1).sum(1)",
    "F.pad(x, (1, 1))", "x.cumsum(1)", "x.triu()", "(x @ y.t()).softmax(1) @ y",
]  # fmt: skip


@pytest.mark.parametrize("lines", [DYNAMIC[:7], DYNAMIC[7:13], DYNAMIC[13:], *([line] for line in DYNAMIC[::3])])
def test_sizes_known_only_at_launch(lines: list[str]) -> None:
    source = reference(forward(several(lines), "x, y"), "[torch.randn(50, 36), torch.randn(50, 36)]")
    assert '"s0"' in judge(source, dynamic=True).sketches[0].text


def test_several_outputs_and_none() -> None:
    judge(reference(forward("[x + 1, None, x.sum(), x]"), "[torch.randn(5, 6)]"))
    judge(reference(forward("{'a': x + 1, 'b': (x + 1).t()}"), "[torch.randn(5, 6)]"))


def test_one_value_twice() -> None:
    judge(reference(forward("(lambda y: (y, y, y.t()))(x + 1)"), "[torch.randn(5, 6)]"))


TOKENS = """
    def __init__(self):
        super().__init__()
        self.token = nn.Parameter(torch.randn(1, 1, 8))
        self.embed = nn.Linear(6, 8)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)

    def forward(self, x):
        x = torch.cat((self.token.expand(x.shape[0], -1, -1), self.embed(x)), dim=1)
        return self.layer(x)[:, 0]
"""


@pytest.mark.parametrize("traits", [SMALL, USUAL], ids=["small", "usual"])
def test_what_inputs_reach_is_not_kept_between_calls(traits) -> None:
    source = reference(TOKENS.rstrip(), "[torch.randn(3, 5, 6)]")
    for sketch in judge(source, traits=traits).sketches:
        assert "once=True" not in sketch.text


FROM_PARAMETERS = """
    def __init__(self):
        super().__init__()
        self.v = nn.Parameter(torch.randn(4, 3, 5))
        self.g = nn.Parameter(torch.randn(4, 1, 1))

    def forward(self, x):
        weight = torch.cat((self.v * (self.g / self.v.norm(2, (1, 2), keepdim=True)), self.v.softmax(2)), 1)
        return torch.einsum("bk,ok->bo", x, weight.reshape(4, -1))
"""


def test_what_parameters_alone_make_is_kept_between_calls() -> None:
    outcome = judge(reference(FROM_PARAMETERS.rstrip(), "[torch.randn(7, 30)]"))
    assert "once=True" in outcome.sketches[0].text


def test_modules_that_have_numbers_for_names() -> None:
    """A model that is a Sequential itself has parameters such as `0.0.weight`, which is no name in a sketch."""
    body = """
    def __init__(self):
        super().__init__()
        self.add_module("0", nn.Sequential(nn.Linear(12, 8), nn.BatchNorm1d(8)))

    def forward(self, x):
        return F.relu(self.get_submodule("0")(x))
"""
    judge(reference(body.rstrip(), "[torch.randn(40, 12)]"))
