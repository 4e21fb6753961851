"""Numbers that forward reads from tensors stay tensors, where nothing needs their values; else they are refused."""

from __future__ import annotations

import pytest

from akg_core.errors import TaskError
from akg_core.task.capture import capture
from akg_core.task.source.load import load_source
from tests.design.judging import forward, judge, reference

INPUTS = "[torch.randn(3, 6, 5), torch.randint(0, 5, (4,)), torch.randn(3, 4, 5)]"
LINES = [
    "x[1, p[0].item(), 2:]", "x[:, p[0].item()].clone()", "x[..., p[1].item()] + 1", "x * p[2].item()",
    "x[:, p[0].item(), p[1].item()] * 2", "x[p[0].item() // 3, :, [1, 2]]", "x / y[0, 0, 0].item()",
    "x[:, -p[0].item()].exp()", "x + sum(p.tolist())", "x[None, :, p[3]].sum(-1)", "p.tolist()[1] * y",
    "x[:, p[0].item()][:, 1:3] + 0",
    "(n := p[0].item() // 2, x[1, n : n + 2, 3:] + 0, x.narrow(2, n, 3) * 2, y[0, 0, torch.arange(n - 1, n + 2)])[1:]",
    "x.narrow(dim=2, start=p[0].item() // 2, length=3) * x.narrow(dim=2, start=0, length=3)",
    "x * math.sqrt(1 - 0.9 ** (p[0].item() + 1)) * (1e-3 / (1 - 0.999 ** (p[1].item() + 1)))",
    "x[: p[0].item()] * 2", "(x[p[0].item() : p[1].item()], x[p[0].item() : 2, 0].sum(0), x[-p[1].item() :].exp())",
    "x * int(p[0].item()) + int(y[0, 0, 0]) + float(p[1])",
]  # fmt: skip
WRITES = [
    "x[:, p[0].item()] = y[:, 1]", "x[:, p[0].item() + 1, 1:3] = 2.0", "x[0, p[0], p[1]] += y[0, 0, 0]",
    "x[..., p[0].item()] = y[0, 0, 0]", "x[:, p[1].item()] *= 2", "x[..., p[2].item(), :] = y[:, 3, :]",
    "n = int(p[0]); x[:, n : n + 2] = y[:, :2]; x[p[1] // 2, n : 1 + n, 1:3] += 1",
    "n = m = p[0].item(); n += 1; p = p + 1; x[:, n - 1] = y[:, 0] * m * n",
    "p = p + 0; n = p[0].item(); p += 9; x *= n",
    "i = [slice(None)] * 3; i[1] = p[3].item(); x[tuple(i)] = y[:, 2]",
]  # fmt: skip
REFUSED = [
    "x[:, : p[0].item()]", "torch.zeros(p[0].item(), 3)", "x if p[0].item() > 2 else -x", "x * math.gamma(p[0].item())",
    "x.sum(p[0].item())", "x.view(p[0].item(), -1)", "x * p[0].item().bit_length()",
    "sum(x[0, 0, i] for i in range(p[0].item()))",
]  # fmt: skip
STALE = [
    "v = x[:, i]; x += 1; return v * 2",
    "v = x[:, i]; x[:, 0] = 3.0; return torch.relu(v)",
    "v = x[:, i]; w = v[:, :2]; x.zero_(); return w * 2",
    "v = x[:, i]; first = x[0]; first.zero_(); return v * 2",
    "v = x[i]; w = v[:, i]; x.zero_(); return torch.cat([w, w])",
    "v = x[:, i]; x.zero_(); x[:, 1] = v; return x",
]
FRESH = [
    "v = x[:, i].clone(); x.zero_(); return v + x[:, 0]",
    "v = x[:, i] * 2; x += 1; return v + x[:, i]",
    "v = x[:, i]; x = x + 1; return v + x[:, i]",
    "v = x[i, :, [1, 2]]; x.zero_(); return v * 2",
    "v = x[:, i]; x.zero_(); return x.new_ones(v.shape)",
    "x[:, i] += 1; x[:, i + 1] += x[:, i]; return x",
]
VIEWS = ["x[:, p[0].item()]", "(x[p[0].item() // 3].add_(1), x)[1]", "(x[p[0].item() // 3][0].zero_(), x)[1]"]


@pytest.mark.parametrize("line", LINES)
def test_what_is_computed_with_a_number_is_what_it_is_with_a_tensor(line: str) -> None:
    judge(reference(forward(line, "x, p, y"), INPUTS))


@pytest.mark.parametrize("lines", WRITES)
def test_what_is_written_goes_to_the_place_that_is_read(lines: str) -> None:
    judge(reference(f"    def forward(self, x, p, y):\n        x = x.clone(); {lines}\n        return x", INPUTS))


@pytest.mark.parametrize("line", REFUSED)
def test_what_needs_the_value_of_what_is_computed_is_refused(line: str) -> None:
    body = f"    def forward(self, x, y):\n        p = y.flatten().long(); return {line}"
    with pytest.raises(TaskError, match="reference, line 9: forward looks at the values of tensors"):
        capture(load_source(reference(body, "[torch.randn(3, 6, 5), torch.randn(3, 4, 5)]"), "reference"))


@pytest.mark.parametrize("line", VIEWS)
def test_a_view_of_such_a_place_is_refused(line: str) -> None:
    with pytest.raises(TaskError, match="a view of a place that it reads from a tensor"):
        capture(load_source(reference(forward(line, "x, p, y"), INPUTS), "reference"))


@pytest.mark.parametrize("lines", STALE)
def test_a_view_that_is_read_after_its_tensor_was_written_to_is_refused(lines: str) -> None:
    text = f"    def forward(self, x, p, y):\n        x = x.clone(); i = p[0].item() // 3; {lines}"
    with pytest.raises(TaskError, match="reference, line 9: forward reads a view of a place"):
        capture(load_source(reference(text, INPUTS), "reference"))


@pytest.mark.parametrize("lines", FRESH)
def test_what_was_read_before_its_tensor_was_written_to_is_what_eager_has(lines: str) -> None:
    judge(reference(f"    def forward(self, x, p, y):\n        x = x.clone(); i = p[0].item() // 3; {lines}", INPUTS))
