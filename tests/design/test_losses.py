"""Losses with class indices, in every way in which they are reduced, and losses of pairs and triples of rows."""

from __future__ import annotations

import pytest

from tests.design.judging import SMALL, USUAL, forward, judge, reference, several

OPTIONS = (
    "",
    "ignore_index=2, ",
    "weight=w, ",
    "label_smoothing=0.2, ",
    "weight=w, label_smoothing=0.1, ignore_index=1, ",
)
ROWS = "[torch.randn(50, 8), torch.randint(0, 8, (50,)), torch.rand(8)]"
MAPS = "[torch.randn(5, 8, 3, 7), torch.randint(0, 8, (5, 3, 7)), torch.rand(8)]"
TRIPLES = [
    "F.cosine_embedding_loss(x, y, torch.sign(z[:, 0]), margin=0.2)", "F.hinge_embedding_loss(x, torch.sign(y))",
    "F.triplet_margin_loss(x, y, z, margin=0.5, swap=True)", "F.multilabel_soft_margin_loss(x, (y > 0).float())",
    "F.multi_margin_loss(x, z[:, 0].abs().long())", "F.triplet_margin_loss(x, y, z, p=1, reduction='none')",
]  # fmt: skip
CONNECTED = [
    "F.ctc_loss(x, y, n, m)", "F.ctc_loss(x, y, n, m, reduction='none', blank=2, zero_infinity=True)",
    "nn.CTCLoss(reduction='sum')(x, y, torch.full((3,), 8), m)", "F.ctc_loss(x, y, n, m, reduction='none')",
    "torch.ctc_loss(x, y.flatten()[:7], n, m, 0, 1, True)", "F.ctc_loss(x, y[:, :2] * 0 + 1, (8, 6, 5), (2, 1, 1))",
    "F.ctc_loss(x[:, 0], y[0, :3], n[0], m[0])",
]  # fmt: skip


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("inputs", [ROWS, MAPS], ids=["rows", "maps"])
def test_class_indices(reduction: str, inputs: str) -> None:
    lines = [f"F.cross_entropy(x, y, {o}reduction='{reduction}')" for o in OPTIONS]
    lines += [f"F.nll_loss(x, y, {o}reduction='{reduction}')" for o in OPTIONS[:3]]
    judge(reference(forward(several(lines), "x, y, w"), inputs), traits=SMALL)


@pytest.mark.parametrize("option", OPTIONS)
def test_one_cross_entropy(option: str) -> None:
    outcome = judge(reference(forward(f"F.cross_entropy(x, y, {option})", "x, y, w"), ROWS), traits=USUAL)
    assert min(outcome.kernels) <= 2


@pytest.mark.parametrize("line", TRIPLES)
def test_rows_beside_rows(line: str) -> None:
    judge(reference(forward(line, "x, y, z"), "[torch.randn(45, 8) for _ in range(3)]"))


def test_one_row() -> None:
    judge(reference(forward("F.cross_entropy(x, y)", "x, y"), "[torch.randn(8), torch.tensor(3)]"))


@pytest.mark.parametrize("line", CONNECTED)
def test_connectionist_temporal_classification(line: str) -> None:
    inputs = "torch.randn(8, 3, 6).log_softmax(2), torch.randint(1, 4, (3, 5))"
    lengths = "torch.tensor([8, 7, 4]), torch.tensor([3, 0, 4])"
    judge(reference(forward(line, "x, y, n, m"), f"[{inputs}, {lengths}]"), traits=SMALL)
