"""NumPy in forward is followed where PyTorch has the function; what it has not is refused."""

from __future__ import annotations

import pytest

from akg_core.errors import TaskError
from akg_core.task.capture import capture
from akg_core.task.source.load import load_source
from tests.design.judging import forward, judge, reference

INPUTS = "[torch.randn(6, 5), torch.rand(6, 5)]"
LINES = [
    "torch.from_numpy(np.cumsum(x.cpu().numpy(), axis=1, dtype=np.float32)).to(x.device)",
    "torch.from_numpy(np.exp(x.numpy()) + 1) * y", "torch.from_numpy(x.numpy().sum(axis=0))",
    "torch.from_numpy(np.clip(x.numpy(), -0.5, 0.5) * np.sqrt(y.numpy())).half()",
    "torch.from_numpy(np.where(x.numpy() > 0, x.numpy(), y.numpy()).astype(np.float32))",
]  # fmt: skip


def with_numpy(line: str) -> str:
    return reference(forward(line, "x, y"), INPUTS).replace("import torch\n", "import numpy as np; import torch\n", 1)


@pytest.mark.parametrize("line", LINES)
def test_values_are_those_of_numpy(line: str) -> None:
    judge(with_numpy(line))


@pytest.mark.parametrize("line", ["torch.from_numpy(np.unwrap(x.numpy()))", "x * float(x.numpy().sum())"])
def test_what_cannot_be_followed_is_refused(line: str) -> None:
    with pytest.raises(TaskError, match="reference, line 9: forward"):
        capture(load_source(with_numpy(line), "reference"))
