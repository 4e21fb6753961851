"""What core designs for attention, scans, gathers and truth values, lowered and compiled, against eager PyTorch."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
import torch
import torch.nn.functional as F
from compiled import Batch

from akg_core.design import design
from akg_core.plugin import Traits
from akg_core.task.capture import capture
from akg_core.task.source.load import load_source
from akg_core.testing.emission.running import Case, compare

TRAITS = Traits(
    units=2, lanes=16, on_chip_bytes=64 * 1024, tile_elements=256, dot_tile=(16, 32, 32), longest_sorted=1 << 20,
    partial_sorts=True, fused_products=4,
)  # fmt: skip
HEADS = "[torch.randn(2, 3, n, 20) for n in (37, 53, 53)]"
CAUSAL = "F.scaled_dot_product_attention(q, k, v, is_causal=True)"
MASKED = "(q @ k.transpose(-2, -1) / 4).masked_fill(m == 0, -math.inf).softmax(-1) @ v"
TRUTHS = "[torch.rand(77, 1024) > 0.4 for _ in range(2)]"
WEIGHTS = "torch.randn(70, 192)"
PADDED = "F.pad(x, (2, 2, 2, 2), mode='{}')"
SLID = f"{PADDED.format('circular')}.unfold(2, 5, 1).unfold(3, 5, 1).flatten(4).exp().sum(-1)"
LINES = {
    "causal": (CAUSAL, "q, k, v", HEADS),
    "masked": (MASKED, "q, k, v, m", f"{HEADS} + [torch.rand(37, 53) > 0.4]"),
    "long_heads": (CAUSAL, "q, k, v", "[torch.randn(3, 19, 300) for _ in range(3)]"),
    "narrow": (CAUSAL, "q, k, v", f"[t.half() for t in {HEADS}]"),
    "cumsum": ("torch.cumsum(x, 1)", "x", "[torch.randn(9, 777)]"),
    "cumsum_down": ("torch.cumsum(x, 1)", "x", "[torch.randn(3, 77, 41)]"),
    "cumsum_shared": ("torch.cumsum(x.flip(1), 1).flip(1)", "x", "[torch.randn(1, 9999)]"),
    "cummax": ("torch.cummax(x.round(), 1)", "x", "[torch.randn(9, 777)]"),
    "bilinear": ("F.interpolate(x, size=(13, 9), mode='bilinear')", "x", "[torch.randn(2, 3, 7, 8)]"),
    "nearest": ("F.interpolate(x, scale_factor=2.5)", "x", "[torch.randn(2, 3, 7, 8)]"),
    "circular": ("F.pad(x, (1, 2, 2, 1), mode='circular')", "x", "[torch.randn(2, 3, 7, 8)]"),
    "index": ("x[:, y, :, z]", "x, y, z", "[torch.randn(5, 4, 6, 3), torch.arange(-3, 3)[:, None], torch.arange(3)]"),
    "logical": ("torch.logical_and(x, y), torch.logical_xor(x, ~y), torch.any(x | y, 1)", "x, y", TRUTHS),
    "ordered": ("torch.where(x < y, x >= y, y), (x & y).t().contiguous(), x.float() + y", "x, y", TRUTHS),
    "counted": ("torch.cumsum(x, 1), torch.cummax(x, 0)[0], x.sum(0), torch.max(y, 1)[1]", "x, y", TRUTHS),
    "sorted": ("torch.sort(x, dim=1, stable=True)", "x", "[torch.randn(7, 300).round()]"),
    "first": ("torch.topk(x, 24)", "x", "[torch.randn(9, 1003)]"),
    "first_rising": ("torch.topk(x, 150)", "x", "[torch.arange(3021.0).view(3, 1007)]"),
    "first_of_equals": ("torch.topk(x, 32).values", "x", "[torch.randint(0, 3, (5, 500)).float()]"),
    "last_of_first": ("torch.kthvalue(x, 40)", "x", "[torch.randn(5, 999)]"),
    "bags": ("F.embedding_bag(x, y, z, mode='mean')", "x, y, z",
             "[torch.randint(0, 50, (999,)), torch.randn(50, 37), torch.arange(0, 999, 19)]"),
    "gates": ("F.silu(x @ w) * (x @ v)", "x, w, v", f"[torch.randn(5, 70), {WEIGHTS}, {WEIGHTS}]"),
    "gates_of_one": ("F.glu(F.linear(x, w))", "x, w", "[torch.randn(37, 70), torch.randn(192, 70)]"),
    "gates_of_halves": ("(x @ w) * (x @ v)", "x, w, v",
                        f"[t.half() for t in (torch.randn(37, 70), {WEIGHTS}, {WEIGHTS})]"),
    "reflected": (f"F.unfold({PADDED.format('reflect')}, 5).view(2, 25, 9, 37).median(1).values, {SLID}", "x",
                  "[torch.rand(2, 1, 9, 37)]"),
    "counted_narrow": ("x.cumsum(0, dtype=torch.int32), x.cumprod(1, dtype=torch.uint8)", "x",
                       "[torch.randint(0, 9, (19, 13))]"),
    "entropy": ("F.cross_entropy(x, y)", "x, y", "[torch.randn(70, 33), torch.randint(0, 33, (70,))]"),
}  # fmt: skip


def cases() -> dict[str, Case]:
    """The first and the last sketch of each line, on inputs that are drawn once."""
    found: dict[str, Case] = {}
    for name, (line, arguments, inputs) in LINES.items():
        source = (
            "import math\nimport torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n"
            f"class Model(nn.Module):\n    def forward(self, {arguments}):\n        return {line}\n\n"
            f"def get_inputs():\n    return {inputs}\n\ndef get_init_inputs():\n    return []\n"
        )
        torch.manual_seed(0)
        module = load_source(source, name)
        sketches = design(capture(module), TRAITS)
        drawn = module.get_inputs()
        for number in {0, len(sketches) - 1}:
            found[f"{name}_{number}"] = Case(f"{name}_{number}", sketches[number].text, drawn)
    return found


@pytest.fixture(scope="module")
def compiled() -> Iterator[Batch]:
    yield Batch(list(cases().values()), files=4)


@pytest.mark.parametrize("name", LINES)
def test_designed(compiled: Batch, name: str) -> None:
    for case in (c for c in compiled.cases.values() if c.name.rpartition("_")[0] == name):
        compiled.check(case.name)
        line, arguments, _ = LINES[name]
        names = dict(zip(arguments.split(", "), case.inputs, strict=True))
        due = eval(line, {"torch": torch, "F": F, "math": math}, names)
        due = [due] if isinstance(due, torch.Tensor) else list(due)
        for number, (found, wanted) in enumerate(zip(compiled.wanted[case.name][0], due, strict=True)):
            compare(f"{case.name}, result {number}", found, wanted, 1e-5)
