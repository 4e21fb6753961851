"""Simulated kernels take tensors as they are: a launch calls no operator of PyTorch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CODE = """
import torch
from akg_triton.simulate import prepare

prepare()
import triton
import triton.language as tl
from torch.utils._python_dispatch import TorchDispatchMode


class Counting(TorchDispatchMode):
    seen = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen += 1
        return func(*args, **(kwargs or {}))


@triton.jit
def doubled(x, y, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(y + at, 2 * tl.load(x + at))


x, whole = torch.arange(8.0), torch.zeros(3, 8)
row = whole[1]
with Counting() as counting:
    doubled[(1,)](x, row, 8)
assert whole.tolist() == [[0.0] * 8, (2 * x).tolist(), [0.0] * 8], whole
print(counting.seen)
"""


def test_a_launch_calls_no_operator_and_writes_where_it_is_told(tmp_path: Path) -> None:
    (file := tmp_path / "doubled.py").write_text(CODE)
    ended = subprocess.run([sys.executable, str(file)], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-1500:]
    assert ended.stdout.strip() == "0"
