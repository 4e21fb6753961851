"""Runs the examples of docs/examples.md and docs/language.md by Triton's interpreter and compares with PyTorch.

`python examples.py FOLDER`: a process of its own, because Triton decides at import whether it interprets.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from akg_triton import simulate

simulate.prepare()

import torch  # noqa: E402
import triton  # noqa: E402
from simulated import load  # noqa: E402

DOCS = Path(__file__).parents[1] / "docs"


def modules(folder: Path) -> dict[str, Any]:
    """Every Python block of the two pages as a module, by the name of its kernel."""
    pages = "".join((DOCS / f"{page}.md").read_text() for page in ("examples", "language"))
    found = {}
    for text in re.findall(r"```python(?: kernel.py)?\n(.*?)```", pages, re.S):
        (name,) = re.findall(r"@triton\.jit\ndef (\w+)", text)
        found[name] = load(folder, name, text)
    return found


def main(folder: Path) -> None:
    found = modules(folder)
    torch.manual_seed(0)
    x, y = torch.randn(3001), torch.empty(3001)
    found["gelu"].gelu[(3,)](x, y, 3001, BLOCK=1024)
    torch.testing.assert_close(y, torch.nn.functional.gelu(x))

    x, y = torch.randn(5, 300), torch.empty(5, 300)
    found["softmax"].softmax[(5,)](x, y, 300, BLOCK=512)
    torch.testing.assert_close(y, x.softmax(1))

    y = torch.empty(300)
    found["column_sums"].column_sums[(triton.cdiv(300, 64),)](x, y, 5, 300, BM=2, BN=64)
    torch.testing.assert_close(y, x.sum(0))

    s, y = torch.randn(5), torch.empty(5, 300)
    found["scale_rows"].scale_rows[(5,)](x, s, y, 5, 300, BLOCK=128)
    torch.testing.assert_close(y, x * s[:, None])

    a, w, b, y = torch.randn(70, 45), torch.randn(33, 45), torch.randn(33), torch.empty(70, 33)
    found["linear_relu"].linear_relu[(5 * 3,)](a, w, b, y, 70, 33, 45, BM=16, BN=16, BK=16)
    torch.testing.assert_close(y, torch.relu(torch.nn.functional.linear(a, w, b)), atol=1e-5, rtol=1e-5)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
