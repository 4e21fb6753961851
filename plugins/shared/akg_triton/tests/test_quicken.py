"""What the interpreter keeps of types and shapes is what it would find out anew; whole numbers wrap around."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

CODE = """
import json

from akg_triton import simulate

simulate.prepare()
import torch
import triton
import triton.language as tl
from triton.runtime import interpreter



@triton.jit
def k(x, y, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    t = tl.load(x + at, mask=at < n, other=0)
    tl.store(y + at, t * t + t, mask=at < n)


def run(x):
    y = torch.empty_like(x)
    k[(triton.cdiv(len(x), 4),)](x, y, len(x), 4)
    return y.tolist()


kinds = [tl.block_type(s, [2, 4]) for s in (tl.float32, tl.int1, tl.pointer_type(tl.float16), tl.bfloat16)]
print(json.dumps({
    "ints": run(torch.tensor([1, -2, 3, 0, 2**31 - 1], dtype=torch.int32)),
    "floats": run(torch.tensor([0.5, 2.0, -1.0])),
    "types": [[str(kind), list(kind.shape), kind.numel, str(kind.scalar)] for kind in kinds],
    "arrays": [str(interpreter._get_np_dtype(kind)) for kind in kinds],
    "equal": [bool(kinds[0] == tl.block_type(tl.float32, shape)) for shape in ([2, 4], [4, 2])],
}))
"""


def test_what_is_kept_is_what_would_be_found(tmp_path: Path) -> None:
    (file := tmp_path / "overflow.py").write_text(CODE)
    ended = subprocess.run([sys.executable, str(file)], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert json.loads(ended.stdout) == {
        "ints": [2, 2, 12, 0, -(2**31)],
        "floats": [0.75, 6.0, 0.0],
        "types": [
            ["<['2', '4'], fp32>", [2, 4], 8, "fp32"],
            ["<['2', '4'], int1>", [2, 4], 8, "int1"],
            ["<['2', '4'], pointer<fp16>>", [2, 4], 8, "pointer<fp16>"],
            ["<['2', '4'], bf16>", [2, 4], 8, "bf16"],
        ],
        "arrays": ["float32", "bool", "uint64", "uint16"],
        "equal": [True, False],
    }
