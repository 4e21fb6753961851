"""Operators that capture writes out by formulas of its own give what PyTorch's give."""

from __future__ import annotations

import pytest
import torch

from akg_core.task.decompositions import formulas, linear_interpolation
from tests.design.judging import forward, judge, reference

PDIST = ["torch.pdist(x)", "F.pdist(x, 1.0)", "F.pdist(x, 3.0)", "F.pdist(x, float('inf'))", "F.pdist(x, 0.0)"]
GRIDS = [
    f"F.grid_sample(x, g, mode={mode!r}, padding_mode={padding!r}, align_corners={align})"
    for mode, padding, align in [
        ("bilinear", "zeros", False), ("bilinear", "zeros", True), ("bilinear", "border", False),
        ("bilinear", "reflection", True), ("bilinear", "reflection", False), ("nearest", "zeros", False),
        ("nearest", "border", True), ("nearest", "reflection", False),
    ]
]  # fmt: skip
WAVES = [  # of a spectrum, and how it was made
    ("16, 4, window=w", "16, 4, window=w"), ("16, 5, window=w", "16, 5, window=w, length=100"),
    ("16, 4, 12, w[:12], normalized=True", "16, 4, 12, w[:12], normalized=True"), ("16, 4", "16, 4, length=140"),
    ("16, 4, center=False", "16, 4, center=False"),
]  # fmt: skip


@pytest.mark.parametrize("line", PDIST)
def test_distances_of_all_rows(line: str) -> None:
    judge(reference(forward(line), "[torch.randn(7, 5)]"))


@pytest.mark.parametrize("line", GRIDS)
def test_volumes_at_the_places_of_a_grid(line: str) -> None:
    judge(reference(forward(line, "x, g"), "[torch.randn(2, 3, 4, 5, 3), 3 * torch.rand(2, 2, 3, 4, 3) - 1.5]"))


@pytest.mark.parametrize(("made", "undone"), WAVES)
def test_signals_of_their_spectra(made: str, undone: str) -> None:
    line = f"torch.istft(torch.stft(x, {made}, return_complex=True), {undone})"
    judge(reference(forward(line, "x, w"), "[torch.randn(2, 120), torch.rand(16) + 0.5]"))


QUANTISED = [
    "torch.fake_quantize_per_tensor_affine(x, 0.1, 3, -128, 127)",
    "torch.fake_quantize_per_tensor_affine(x, s[0], z[0], 0, 15)",
    "torch.fake_quantize_per_channel_affine(x, s, z, 1, 0, 31)",
]  # fmt: skip


@pytest.mark.parametrize("line", QUANTISED)
def test_numbers_as_whole_steps_have_them(line: str) -> None:
    inputs = "[torch.randn(6, 5), torch.rand(5) + 0.1, torch.randint(0, 9, (5,), dtype=torch.int32)]"
    judge(reference(forward(line, "x, s, z"), inputs))


def test_labels_after_the_first_below_zero_do_not_count() -> None:
    labels = "torch.tensor([[0, 1, -1, 3], [2, -1, 0, 1]])"
    line = "F.multilabel_margin_loss(x, y), F.multilabel_margin_loss(x[0], y[0], reduction='none')"
    judge(reference(forward(line, "x, y"), f"[torch.randn(2, 4), {labels}]"))


@pytest.mark.parametrize("norm", ["max_norm=1.5", "max_norm=4.0, norm_type=1.0"])
def test_rows_that_are_too_long_are_shortened_where_they_are_read(norm: str) -> None:
    body = (
        "    def __init__(self):\n        super().__init__()\n        self.table = nn.Parameter(torch.randn(7, 5))\n\n"
    )
    judge(reference(body + forward(f"F.embedding(x, self.table, {norm})"), "[torch.randint(0, 5, (3, 4))]"))


def test_what_lies_between_numbers_of_two_signs_is_not_rounded_as_their_difference_is() -> None:
    (linear, *_) = linear_interpolation.decompositions().values()
    x = torch.tensor([[[16777215.0, -16777214.0]]])
    assert linear(x, [3], True, None).flatten().tolist() == [16777215.0, 0.5, -16777214.0]


def test_windows_that_samples_spread() -> None:
    aten, found = torch.ops.aten, formulas.decompositions()
    for pool, taps, out in [
        (aten.fractional_max_pool2d, [2, 3], [4, 5]),
        (aten.fractional_max_pool3d, [2, 1, 3], [3, 1, 6]),
    ]:
        given = torch.randn(2, 3, *(9, 11, 13)[: len(taps)]), taps, out, torch.rand(2, 3, len(taps))
        assert all(map(torch.equal, found[pool.default](*given), pool(*given)))
        given = given[0][0], *given[1:]  # without a batch, for which the first samples count
        assert all(map(torch.equal, found[pool.default](*given), pool(*given)))


def test_frequencies_of_a_transform() -> None:
    lines = ["torch.fft.fftfreq(7, 0.5)", "torch.fft.fftfreq(8)", "torch.fft.rfftfreq(7)", "torch.fft.rfftfreq(8, 2.0)"]
    judge(reference(forward(f"({', '.join(f'x * {line}.sum() + {line}[-1]' for line in lines)})"), "[torch.randn(6)]"))


LISTS = """    @torch.no_grad()
    def forward(self, p, q, g, h):
        params, grads = torch._foreach_neg([p, q]), torch._foreach_neg([g, h])
        torch._foreach_mul_(grads, (1 / torch.stack(torch._foreach_norm(grads)).norm()).clamp(max=1.0))
        roots = torch._foreach_add(torch._foreach_maximum(grads, 0.1), grads, alpha=0.5)
        torch._foreach_addcdiv_(params, grads, roots, value=-0.1)
        torch._foreach_copy_(grads, torch._foreach_lerp(params, torch._foreach_pow(2.0, grads), 0.5))
        return torch._foreach_sub(params, [1.0, 2.0])"""


def test_operators_on_lists_of_tensors() -> None:
    judge(reference(LISTS, "[torch.randn(4, 3), torch.randn(5), torch.randn(4, 3), torch.randn(5)]"))


WINDOWS = [
    "hann_window(10)", "hann_window(7, periodic=False)", "hann_window(1)", "hamming_window(9, False)",
    "hamming_window(10, True, 0.6, 0.3)", "blackman_window(11)", "bartlett_window(6, False)", "kaiser_window(12)",
    "kaiser_window(9, False, 4.0)",
]  # fmt: skip


@pytest.mark.parametrize("window", WINDOWS)
def test_windows_that_forward_makes(window: str) -> None:
    judge(reference(forward(f"x[:, None] * torch.{window}"), "[torch.rand(3) + 1]"))
