"""`x[mask]` is captured where what is made of it does not depend on how many rows a mask picks; else it is refused."""

from __future__ import annotations

import pytest

from akg_core.errors import TaskError
from akg_core.task.capture import capture
from akg_core.task.load import load_source
from tests.design.judging import forward, judge, reference

INPUTS = (
    "[torch.randn(6, 5, 4), torch.randn(6, 5, 4), torch.rand(6, 5) > 0.4, torch.randint(0, 4, (6, 5)).masked_fill("
    "torch.rand(6, 5) > 0.7, -1)]"
)
LINES = [
    "x[m].sum()", "x[m].mean()", "x[m].mean(0)", "x[m].sum(dim=0)", "x[x > 0].mean()", "x[m].max()", "x[m].amin(0)",
    "x[m].std()", "x[m].var(0)", "x[m].norm()", "x[m].half().mean()", "(x[m] > 0).any()", "(x[m] > 0).all()",
    "(x[m] > 0).sum()", "x[m].softmax(-1).sum(0)", "(x[m] - y[m]).pow(2).mean()", "F.mse_loss(x[m], y[m])",
    "F.smooth_l1_loss(x[m], y[m], reduction='sum')", "F.l1_loss(x[m], y[m], reduction='none').sum(-1).mean()",
    "F.binary_cross_entropy_with_logits(x[m], (y[m] > 0).float())", "x[m, 0].mean()", "x[m][:, 1:3].sum()",
    "x[m].max(-1).values.sum()", "x[m].max(dim=1).indices.sum()", "torch.masked_select(x, y > 0).sum()",
    "F.relu(2 * x[m] + torch.ones(4)).exp().sum(0)", "(1 / x[m].abs().clamp(min=1e-3)).mean()",
    "(x[m].unsqueeze(-1) * y[m].unsqueeze(1)).sum((1, 2)).mean()", "(x[m] @ torch.ones(4, 2)).flatten(1).sum(0)",
    "F.layer_norm(x[m], (4,)).abs().sum()", "x[m].sum(-1, keepdim=True).squeeze(-1).sum()", "(1 - x[m]).sum()",
    "(x[m].sum() / m.sum().clamp(min=1))", "torch.where(x[m] > 0, x[m], y[m]).sum()",
    "F.linear(x[m], torch.ones(3, 4)).log_softmax(dim=-1).mean()", "F.cosine_similarity(x[m], y[m], dim=-1).mean()",
]  # fmt: skip
CLASSES = [
    "F.cross_entropy(x[t >= 0], t[t >= 0])", "F.cross_entropy(x[m], t[m].clamp(min=0), reduction='sum')",
    "F.cross_entropy(x[m], t[m].clamp(min=0), reduction='none').sum()",
    "F.cross_entropy(x[m], t[m], ignore_index=-1, label_smoothing=0.1, weight=torch.arange(1.0, 5.0))",
    "F.nll_loss(x[m].log_softmax(-1), t[m].clamp(min=0))",
]  # fmt: skip
REFUSED = [
    "x[m]", "x[m] + 1", "x[m].sort(0)[0]", "x[m].numel()", "x[m].sum() if len(x[m]) else x", "x[m].flatten()",
    "x[m].unsqueeze(0).sum()",
    "x[m].unsqueeze(-3).sum()", "x[m].flatten(0).sum()", "x[m].squeeze().sum()",
    "x[m].shape[0] * x", "x[m] @ y[m].T", "x[m].norm(0)", "x[m].median()", "x[m].sum(0, True)", "x[m].var(0, False)",
    "x[m].max(0)[0]", "(x[m] + y[m.clone()]).sum()", "x[m].softmax(0).sum()", "x[m, t[m].abs()].sum()",
    "(x[m] * torch.ones(18, 1)).sum()", "F.dropout(x[m]).sum()", "x[m].cumsum(0).sum()", "x[m][0]",
    "torch.cat([x[m], y[m]]).sum()", "x[m].sum(-1) if x[m].sum() > 0 else y",
]  # fmt: skip


@pytest.mark.parametrize("line", LINES)
def test_what_does_not_depend_on_how_many_is_captured(line: str) -> None:
    judge(reference(forward(line, "x, y, m, t"), INPUTS))


@pytest.mark.parametrize("line", CLASSES)
def test_labels_of_rows_that_are_left_out_are_not_looked_up(line: str) -> None:
    line = line.replace("x[t >= 0], t[t >= 0]", "x[p], t[p]").replace("(x[p]", "(x[(p := t >= 0)]")
    judge(reference(forward(line, "x, y, m, t"), INPUTS))


BODIES = [
    "x[m] = y[m]", "x[m] = 2 * x[m] - 1", "x[m] += 1", "x[m] = 0.0; x[x > 1] = 1.0", "p = x > 0; x[p] = x[p].sqrt()",
    "x[m] *= y[m].sum(-1, keepdim=True)",
]  # fmt: skip


@pytest.mark.parametrize("lines", BODIES)
def test_what_is_written_back_goes_where_the_mask_says(lines: str) -> None:
    judge(reference(f"    def forward(self, x, y, m, t):\n        x = x.clone(); {lines}; return x", INPUTS))


@pytest.mark.parametrize("line", REFUSED)
def test_what_depends_on_how_many_is_refused(line: str) -> None:
    with pytest.raises(TaskError, match="reference, line 9: forward looks at the values of tensors"):
        capture(load_source(reference(forward(line, "x, y, m, t"), INPUTS), "reference"))
