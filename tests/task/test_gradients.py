"""Gradients that capture writes out give what PyTorch's kernels give."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F

from akg_core.task.decompositions.gradients import decompositions

LINES = {
    "a convolution": lambda x, w: F.conv2d(x, w[:60].view(6, 2, 5, 1), None, (2, 1), (2, 0), (1, 2), 2),
    "a transposed one": lambda x, w: F.conv_transpose2d(x, w[:48].view(4, 2, 2, 3), w[:4], 2, 1, (1, 0), 2),
    "means": lambda x, w: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False),
    "means of what is around, too": lambda x, w: F.avg_pool2d(x, (2, 3), (3, 2), 1, ceil_mode=True),
    "means of volumes": lambda x, w: F.avg_pool3d(x, 2, divisor_override=3),
    "means of a grid": lambda x, w: F.adaptive_avg_pool2d(x, (3, 4)),
    "means of a grid of volumes": lambda x, w: F.adaptive_avg_pool3d(x, (3, 2, 5)),
    "maxima of a grid": lambda x, w: F.adaptive_max_pool2d(x, (3, 4)),
    "maxima of volumes": lambda x, w: F.max_pool3d(x, 2, 1),
    "linear": lambda x, w: F.interpolate(x, (5, 13), mode="bilinear", align_corners=True),
    "cubic": lambda x, w: F.interpolate(x, scale_factor=1.7, mode="bicubic"),
    "nearest": lambda x, w: F.interpolate(x, (13, 5), mode="nearest"),
    "edges": lambda x, w: F.pad(x, (1, 2, 0, 3), mode="replicate"),
    "distances": lambda x, w: sum(torch.cdist(x, w[:27].view(3, 9), p) for p in (0.5, 1.0, 2.0, 3.0, math.inf)),
    "causal attention": lambda x, w: F.scaled_dot_product_attention(x, x.flip(2), x.sin(), is_causal=True),
    "masked attention": lambda x, w: F.scaled_dot_product_attention(x, x.flip(2), x.sin(), w[:7, None].data, scale=2),
}  # fmt: skip


class _Written(torch.utils._python_dispatch.TorchDispatchMode):
    """Computes gradients by their formulas."""

    formulas, used = decompositions(), 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.used += func in self.formulas
        return self.formulas.get(func, func)(*args, **(kwargs or {}))


@pytest.mark.parametrize("name", LINES)
def test_gradients(name: str) -> None:
    x = torch.randn(2, 4, 7, 9, dtype=torch.float64, requires_grad=True)
    w = torch.randn(60, dtype=torch.float64, requires_grad=True)
    y = LINES[name](x, w).sin().sum()
    due = torch.autograd.grad(y, (x, w), retain_graph=True, allow_unused=True)
    with _Written() as written:
        found = torch.autograd.grad(y, (x, w), allow_unused=True)
    assert written.used
    torch.testing.assert_close(found, due)
