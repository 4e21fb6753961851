"""`x[mask]` is captured where what is made of it does not depend on how many rows a mask picks; else it is refused."""

from __future__ import annotations

import pytest

from akg_core.errors import TaskError
from akg_core.task.capture import capture
from akg_core.task.source.load import load_source
from tests.design.judging import forward, judge, reference

INPUTS = (
    "[torch.randn(6, 5, 4), torch.randn(6, 5, 4), torch.rand(6, 5) > 0.4, torch.randint(0, 4, (6, 5)).masked_fill("
    "torch.rand(6, 5) > 0.7, -1)]"
)
LINES = [
    "x[m].sum()",
    "x[m].mean()",
    "x[m].mean(0)",
    "x[m].sum(dim=0)",
    "x[x > 0].mean()",
    "x[m].max()",
    "x[m].amin(0)",
    "x[m].std()",
    "x[m].var(0)",
    "x[m].norm()",
    "x[m].half().mean()",
    "(x[m] > 0).any()",
    "(x[m] > 0).all()",
    "(x[m] > 0).sum()",
    "x[m].softmax(-1).sum(0)",
    "(x[m] - y[m]).pow(2).mean()",
    "F.mse_loss(x[m], y[m])",
    "F.smooth_l1_loss(x[m], y[m], reduction='sum')",
    "F.l1_loss(x[m], y[m], reduction='none').sum(-1).mean()",
    "F.binary_cross_entropy_with_logits(x[m], (y[m] > 0).float())",
    "x[m, 0].mean()",
    "x[m][:, 1:3].sum()",
    "x[m].max(-1).values.sum()",
    "x[m].max(dim=1).indices.sum()",
    "torch.masked_select(x, y > 0).sum()",
    "F.relu(2 * x[m] + torch.ones(4)).exp().sum(0)",
    "(1 / x[m].abs().clamp(min=1e-3)).mean()",
    "(x[m].unsqueeze(-1) * y[m].unsqueeze(1)).sum((1, 2)).mean()",
    "(x[m] @ torch.ones(4, 2)).flatten(1).sum(0)",
    "F.layer_norm(x[m], (4,)).abs().sum()",
    "x[m].sum(-1, keepdim=True).squeeze(-1).sum()",
    "(1 - x[m]).sum()",
    "(x[m].sum() / m.sum().clamp(min=1))",
    "torch.where(x[m] > 0, x[m], y[m]).sum()",
    "F.linear(x[m], torch.ones(3, 4)).log_softmax(dim=-1).mean()",
    "F.cosine_similarity(x[m], y[m], dim=-1).mean()",
    "x[m].softmax(0).sum(0)",
    "x[m].cumsum(0).sum()",
    "x[m].max(0)[0]",
    "x[m].min(0)[1]",
    "x[m].argmax(0)",
    "x[m].shape[0] * x",
    "x / max(len(x[m]), 100)",
    "x[m].sum() if len(x[m]) else x.sum()",
    "x[m].view(-1, 2, 2).transpose(1, 2).flatten(1)[:, 1].sum()",
    "torch.cat([x[m], y[m]], -1).chunk(2, -1)[1].sum(0)",
    "torch.einsum('nd,ed->ne', x[m], torch.ones(3, 4)).sum(0)",
    "(x[m].unsqueeze(1) @ y[m].unsqueeze(2)).sum()",
    "x[m][:3].sum(0)",
    "x[m][2:-2].sum(0)",
    "x[m][..., 1].sum()",
    "x[m][x[m].sum(-1) > 0].sum(0)",
    "(x[m] * x.new_ones(x[m].shape[0], 1)).sum()",
    "x[m].gather(dim=1, index=t[m].clamp(min=0)[:, None]).sum()",
    "(x[y > 0] - y[y > 0]).abs().sum()",
]
OUTPUTS = [
    "x[m]",
    "(x[m] * 2, t[m], x[m].mean())",
    "m.nonzero()",
    "{'at': torch.where(m), 'y': y}",
    "(x > 0).argwhere()",
    "torch.masked_select(x, y > 0)",
    "F.linear(x[m], torch.ones(3, 4)).relu()",
    "x[m][x[m].sum(-1) > 0].half()",
    "x[m][:3]",
    "x[x > 9]",
    "x[m].reshape(-1, 2).sum(1)",
    "torch.cat([x[m], y[m], x[0]])",
    "torch.cat([x[m], y[x > 0].view(-1, 1) * torch.ones(4)])",
    "x[m][:, [0, 2]]",
]
ORDERED = [
    "(x[m].sort(0)[0], x[m].flatten().argsort())", "x[m].sum(-1).topk(3)",
    "t[m].sort(descending=True).values * t[m].sum()",
    "(x[m].median(), x[m].median(0).values)", "x[m][x[m].sum(-1).argsort()] - x[m]", "(x[m][0], x[m][-1], x[m][::2])",
    "x[m][x[m].sum(-1).sort().indices[:3]]", "torch.unique(t)", "x[m][t[0]]", "x[m][y[m][:, 0] > 0][-2:]",
    "torch.unique(t, return_inverse=True, return_counts=True)", "t[m].unique(return_counts=True)[1].float().std()",
    "torch.unique(t % 2, dim=1, return_inverse=True, return_counts=True)[0].sum(1)",
    "t[m].view(-1, 1).expand(-1, 2).unique(dim=0)",
    "torch.unique_consecutive(t, return_counts=True)", "x[m].sort(0)[0][1:] - x[m][1:][:-2].sum() * x[m][:-1]",
    "torch.dot(x[m, 0], torch.cat([x[m, 0][:1], x[m, 0][1:] - x[m, 0][:-1]]))",
    "x[m].T @ y[m]", "x[m].std(dim=0, unbiased=False) + x[m].var(correction=0) + x[m].quantile(0.3)",
    "x.masked_scatter(m.unsqueeze(-1), 2 * x[m]) * x.masked_select(m.unsqueeze(-1)).amax()",
    "(m.nonzero().t(), torch.stack([t[m], 2 * t[m]]))", "F.batch_norm(x[m], None, None, training=True)",
    "x[m, t[m]] + F.batch_norm(x[m], y[0, 0], y[1, 0] ** 2)[:, 0]", "x[m].sum(0, keepdim=True) * x[m].prod()",
]  # fmt: skip
RAGGED = [
    "x[:, m[0]] + y[:, m[0].clone()]",
    "x[..., y[0, 0] > 0].mean((1, 2))",
    "x[m] @ y[y[..., 0] > 0].T",
    "x[m].unsqueeze(0).sum() * x[:, m[0]].flatten(1)",
    "F.cross_entropy(x[m] @ y[m].T, torch.arange(m.sum()))",
    "((x[m] @ x[m].T) * ~torch.eye(len(t[m]), dtype=torch.bool)).logsumexp(1)",
    "torch.cdist(x[m], y[m]).min(1)",
    "(t[m][:, None] == t[m]).float() @ x[m]",
    "torch.einsum('nd,md->nm', x[m], y[m]).diagonal().mean()",
    "F.scaled_dot_product_attention(x, x[:, m[0]], y[:, m[0]])",
    "x[:, m[0]].reshape(-1, 4)[:, 1:]",
    "(x[:, m[0]].topk(1, dim=1), x[:, m[0]].transpose(1, 2) @ y[:, m[0]], x[m].T)",
    "(x[m].unsqueeze(0) - y[0][:, None]).pow(2).sum(-1).argmin(0, keepdim=True)",
]
CLASSES = [
    "F.cross_entropy(x[t >= 0], t[t >= 0])", "F.cross_entropy(x[m], t[m].clamp(min=0), reduction='sum')",
    "F.cross_entropy(x[m], t[m].clamp(min=0), reduction='none').sum()",
    "F.cross_entropy(x[m], t[m], ignore_index=-1, label_smoothing=0.1, weight=torch.arange(1.0, 5.0))",
    "F.nll_loss(x[m].log_softmax(-1), t[m].clamp(min=0))",
]  # fmt: skip
REFUSED = [
    "x[m].sum() if len(x[m]) else x", "x[m].view(2, -1).sum()", "x[m].norm(0)", "x[m].var(0, False)",
    "x[m] + y[y[..., 0] > 0]", "x[:, m[0]] + x[:, m[1]]", "x[m] @ y[y[..., 0] > 0]", "x[:, m[0]].view(3, -1)",
    "x[m].softmax(0, torch.float64).sum()", "(x[m] * torch.ones(18, 1)).sum()",
    "F.dropout(x[m]).sum()", "x[m].sum(-1) if x[m].sum() > 0 else y", "torch.unique(x, dim=0)",
]  # fmt: skip


@pytest.mark.parametrize("line", LINES)
def test_what_does_not_depend_on_how_many_is_captured(line: str) -> None:
    judge(reference(forward(line, "x, y, m, t"), INPUTS))


@pytest.mark.parametrize("line", OUTPUTS + ORDERED + RAGGED)
def test_results_are_as_long_as_a_mask_says(line: str) -> None:
    judge(reference(forward(line, "x, y, m, t"), INPUTS))


@pytest.mark.parametrize("line", ["(x > 0).nonzero()", "torch.masked_select(x, x > 0)"])
def test_what_is_kept_is_put_to_its_place_where_it_is_counted(line: str) -> None:
    assert judge(reference(forward(line), "[torch.randn(6, 5)]")).kernels[0] == 2  # and one for how many there are


@pytest.mark.parametrize("line", CLASSES)
def test_labels_of_rows_that_are_left_out_are_not_looked_up(line: str) -> None:
    line = line.replace("x[t >= 0], t[t >= 0]", "x[p], t[p]").replace("(x[p]", "(x[(p := t >= 0)]")
    judge(reference(forward(line, "x, y, m, t"), INPUTS))


BODIES = [
    "x[m] = y[m]", "x[m] = 2 * x[m] - 1", "x[m] += 1", "x[m] = 0.0; x[x > 1] = 1.0", "p = x > 0; x[p] = x[p].sqrt()",
    "x[m] *= y[m].sum(-1, keepdim=True)", "r = x[m]; x[m] = 0.0; x += r.sum(0)", "r = x[m]; s = r; r *= 2; x[m] = s",
    "r = x[m]; x += 1; x[m] = F.relu(r, inplace=True)",
    "r = x[m]; m = m.clone(); m[0] = False; x[m] = 0.0; x += r.sum()",
    "x[:, m[0]] = 2 * y[:, m[0]]; x[:, m[1]] += 1", "r = x[:, m[0]]; s = r; r *= 2; x[:, m[0]] = s",
]  # fmt: skip


@pytest.mark.parametrize("lines", BODIES)
def test_what_is_written_back_goes_where_the_mask_says(lines: str) -> None:
    judge(reference(f"    def forward(self, x, y, m, t):\n        x = x.clone(); {lines}; return x", INPUTS))


@pytest.mark.parametrize("line", REFUSED)
def test_what_depends_on_how_many_is_refused(line: str) -> None:
    with pytest.raises(TaskError, match="reference, line 9: forward looks at the values of tensors"):
        capture(load_source(reference(forward(line, "x, y, m, t"), INPUTS), "reference", traced=True))


PLACES = [
    "i = p.nonzero().squeeze(1); y[i] = 2 * x[i]", "i = p.nonzero()[:, 0]; y[i] += x[i, 1][:, None]",
    "i, j = torch.where(q); y.index_add_(0, i, x[j] * w[i, j, None])", "i, j = q.nonzero().t(); y[j] -= 1.0",
    "i, j = q.nonzero(as_tuple=True); w = w * 1; w[j, i] = x[i, 0]; y[:, 0] = w.sum(0)",
    "i, j = torch.where(q); y.index_put_((i,), x[j], accumulate=True)",
    "i = torch.where(p)[0]; y = y.index_fill(0, i, 3.0)", "i, j = torch.where(q); y[i] = x[j]",
    "i, j = torch.where(q); y[t[j]] = x[i]", "i, j = torch.where(q); y[t[j]] += x[i]",
    "i = torch.where(p)[0]; y.index_copy_(0, i, x[i]); y = y * i.numel()",
    "i = torch.where(p)[0]; y = x.index_select(0, i) @ w[:4]; y = y.amax(0)",
    "i, j = torch.where(q); y[:, 0] = torch.zeros(6).scatter_reduce(0, j, w[i, j], 'amax')",
    "i, j = torch.where(q); y.scatter_add_(0, i[:, None].expand(-1, 4), x[j])",
    "i, j = torch.where(q); y[:, 1] = torch.bincount(j, minlength=6)",
    "i = p.nonzero().squeeze(1); i = i[x[i, 0] > 0]; y[i] = F.embedding(t[i].clamp(min=0), x)",
    "i = torch.where(p)[0][:2]; y[i] = x[i]", "i = (x[:, 0] > 9).nonzero().squeeze(1); y = y + x[i].sum(0)",
    "e = torch.where(p)[0]; y[e[-1:]] = 0.0; y[e[1:3]] += 1", "for i in p.nonzero(): y[i] += x[i]",
    "for i, j in q[:2, :3].nonzero(): y[i] += x[j] * i.item()",
    "for i in p.nonzero().flatten().tolist(): y = y + i * x[i]",
    "y = x[None, torch.where(p)[0]].reshape(-1, 4).sum(0)",
]  # fmt: skip


@pytest.mark.parametrize("lines", PLACES)
def test_places_of_a_mask_pick_rows_and_say_where_these_go(lines: str) -> None:
    body = f"    def forward(self, x, p, q, w, t):\n        y = torch.ones(6, 4)\n        {lines}\n        return y"
    inputs = (
        "torch.randn(6, 4), torch.rand(6) > 0.4, torch.rand(6, 6) > 0.5, torch.randn(6, 6), torch.randint(-6, 6, (6,))"
    )
    judge(reference(body, f"[{inputs}]"))
