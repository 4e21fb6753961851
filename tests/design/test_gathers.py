"""Positions read from tensors, interpolation, padding and rearrangement."""

from __future__ import annotations

import re

import pytest
import torch

from akg_core.design import policies, variant
from akg_core.errors import UnsupportedOperator
from akg_core.sketch.interpret import interpret
from akg_core.sketch.parse import parse
from akg_core.task.capture import capture
from akg_core.task.source.load import load_source
from tests.design.judging import USUAL, designed, forward, judge, reference

IMAGE = "torch.randn(2, 3, 5, 6)"
SIZES = ("scale_factor=2", "size=(7, 9)", "size=(3, 4)")
INTERPOLATED = [
    *(f"F.interpolate(x, {s}, mode='{m}')" for m in ("nearest", "nearest-exact") for s in SIZES),
    *(f"F.interpolate(x, {s}, mode='bilinear', align_corners={a})" for a in (True, False) for s in SIZES),
    "F.interpolate(x, scale_factor=1.5, mode='bicubic', align_corners=True)",
    "F.interpolate(x, size=(7, 4), mode='bicubic')", "F.relu(F.interpolate(x, scale_factor=2, mode='bilinear')) + 1",
    "F.interpolate(x.half(), size=(7, 9), mode='bilinear')", "F.interpolate(x[0], scale_factor=2)",
    "F.interpolate(x[0], scale_factor=2, mode='linear', align_corners=True)",
    "F.interpolate(x[None], size=(5, 3, 8), mode='trilinear')", "F.interpolate(x[None], scale_factor=2)",
]  # fmt: skip
ANTIALIASED = [
    *(f"F.interpolate(x, {o}, mode='{m}', antialias=True)" for m in ("bilinear", "bicubic") for o in (
        "size=(3, 2)", "scale_factor=0.6", "size=(9, 4), align_corners=True", "size=(1, 1)",
    )),
    "F.interpolate(x.double(), size=(3, 4), mode='bicubic', antialias=True)",
]  # fmt: skip
MOVED = [
    *(f"F.pad(x, (1, 2, 2, 1), mode='{m}')" for m in ("constant", "reflect", "replicate", "circular")),
    "F.pad(x, (1, 2, -1, 1), value=3.0)", "F.pixel_shuffle(x.reshape(1, 6, 5, 6)[:, :4], 2)",
    "F.pixel_unshuffle(x[..., :4, :], 2)", "torch.roll(x, (1, -2), (0, 2))", "torch.roll(x, 7)", "x.flip(0, 3)",
    "x.repeat_interleave(3, 2)", "x.unfold(2, 3, 2) + 1", "F.unfold(x, 3, padding=1)",
    "F.channel_shuffle(x.reshape(1, 6, 5, 6), 3)", "torch.rot90(x, 1, (2, 3))", "torch.diff(x)",
]  # fmt: skip
SAMPLED = [
    *(f"F.grid_sample(x, y, padding_mode='{p}', align_corners=False)" for p in ("zeros", "border", "reflection")),
    "F.grid_sample(x, y, mode='nearest', align_corners=True)",
]
TAKEN = [
    ("x[y, :, z]", "torch.randn(5, 4, 6), torch.randint(0, 5, (3,)), torch.randint(-6, 6, (3,))"),
    ("x[:, y, :, z]", "torch.randn(5, 4, 6, 3), torch.randint(0, 4, (3, 2)), torch.randint(-3, 3, (2,))"),
    ("x[:, y, z]", "torch.randn(5, 4, 6, 3), torch.randint(-4, 4, (3, 2)), torch.randint(0, 6, (2,))"),
    ("torch.take_along_dim(x, y, 1)", "torch.randn(3, 9), torch.randint(0, 9, (3, 4))"),
    ("F.one_hot(x, 7)", "torch.randint(0, 7, (3, 4))"),
    ("F.embedding(x, y, padding_idx=0).mean(1)", "torch.randint(0, 7, (3, 4)), torch.randn(7, 5)"),
    ("torch.index_select(x, 2, y)", "torch.randn(3, 4, 5), torch.randint(0, 5, (7,))"),
    ("torch.index_select(x, 0, y) * 2", "torch.tensor(3.0), torch.tensor([0])"),
    (
        "torch.nonzero_static(x, size=9), torch.nonzero_static(x[0] + y, size=5, fill_value=7)",
        "torch.randint(0, 2, (3, 4)), torch.tensor([1])",
    ),
    ("torch.gather(x, 0, y)", "torch.randn(3, 4), torch.randint(0, 3, (2, 4))"),
    ("torch.bucketize(x, y)", "torch.tensor([-3.0, 0.5, 0.6, 2.0, 9.0, math.nan]), torch.tensor([-1.0, 0.5, 2.0])"),
    ("torch.bucketize(x, y, right=True)", "torch.randint(0, 5, (4, 5)), torch.arange(5)"),
    ("torch.searchsorted(y, x)", "torch.randn(4, 5), torch.linspace(-1, 1, 6)"),
    (
        "x[torch.searchsorted(y, z * 2).clamp(max=499)]",
        "torch.randn(500, 4), torch.randn(500).sort().values, torch.randn(40)",
    ),
    ("x[torch.bucketize(z + 1, y) - 1]", "torch.randn(1000, 4), torch.randn(1000).sort().values, torch.randn(40)"),
    ("torch.cdist(x, y)", "torch.randn(2, 5, 8), torch.randn(2, 7, 8)"),
    ("torch.cdist(x, y, p=1)", "torch.randn(5, 8), torch.randn(7, 8)"),
    *(
        (f"torch.cdist(torch.where(x > 1, math.nan, x), y, p={p})", "torch.randn(5, 3), torch.randn(7, 3)")
        for p in ("math.inf", 0.5)
    ),
]


@pytest.mark.parametrize("line", [*INTERPOLATED, *ANTIALIASED, *MOVED])
def test_from_an_image(line: str) -> None:
    judge(reference(forward(line), f"[{IMAGE}]"))


@pytest.mark.parametrize("line", SAMPLED)
def test_sampled(line: str) -> None:
    grid = "torch.where(torch.rand(2, 4, 7, 2) < 0.1, math.nan, torch.rand(2, 4, 7, 2) * 2.4 - 1.2)"
    judge(reference(forward(line, "x, y"), f"[{IMAGE}, {grid}]"))


@pytest.mark.parametrize(("line", "inputs"), TAKEN)
def test_taken_at_positions(line: str, inputs: str) -> None:
    names = [name for name in "xyz" if re.search(rf"\b{name}\b", line)]
    judge(reference(forward(line, ", ".join(names)), f"[{inputs}]"))


@pytest.mark.parametrize("line", [*INTERPOLATED[:9], *MOVED[1:3]])
def test_positions_that_cannot_be_negative_are_not_wrapped(line: str) -> None:
    assert "< 0" not in designed(reference(forward(line), f"[{IMAGE}]"))


def test_positions_that_may_be_negative_are_wrapped() -> None:
    text = designed(reference(forward("x[:, torch.arange(4) - 2]"), f"[{IMAGE}]"))
    assert "< 0" in text


@pytest.mark.parametrize("line", ["torch.linalg.svd(x)", "torch.linalg.eigh(x @ x.mT)"])
def test_what_has_no_rule_is_said_in_one_sentence(line: str) -> None:
    with pytest.raises(UnsupportedOperator, match=r"has no rule for `.*` .*\(line \d+\)"):
        designed(reference(forward(line), "[torch.randn(5, 8)]"))


@pytest.mark.parametrize(
    ("shape", "line"),
    [
        ((1, 2, 299), "F.interpolate(x, 224, mode='linear')"),
        ((1, 1, 384, 3), "F.interpolate(x, (191, 3), mode='bilinear', align_corners=True)"),
        ((1, 1, 150, 3, 3), "F.interpolate(x, (211, 2, 2), mode='trilinear')"),
    ],
)
@pytest.mark.parametrize("dynamic", [False, True])
def test_places_of_interpolation_do_not_lose_accuracy_far_from_the_origin(
    shape: tuple[int, ...], line: str, dynamic: bool
) -> None:
    """In f32 these are off by 1e-5 or so, as eager PyTorch is."""
    module = load_source(reference(forward(line), f"[torch.randn({shape})]"), "reference")
    task = capture(module, dynamic=dynamic)
    sketch = parse(variant(task, USUAL, policies(USUAL)[0]).text)
    torch.manual_seed(0)
    (x,) = module.get_inputs()
    (found,) = interpret(sketch, [x], {}).outputs
    torch.testing.assert_close(found.double(), module.Model()(x.double()), rtol=0, atol=1e-6)
