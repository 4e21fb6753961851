"""The twelve sketches of examples/sketches, at sizes that divide nothing."""

from __future__ import annotations

import torch
from torch import Tensor

from akg_core.testing.emission.form import ints, randn
from akg_core.testing.emission.running import Case
from akg_core.testing.emission.sketches import example


def cases() -> list[Case]:
    given: dict[str, tuple[tuple[Tensor, ...], dict[str, Tensor]]] = {
        "softmax": ((randn(5, 3000),), {}),
        "layer_norm": ((randn(3, 7, 37),), {"norm.weight": randn(7, 37), "norm.bias": randn(7, 37, seed=1)}),
        "linear_gelu": ((randn(70, 45),), {"fc.weight": randn(33, 45), "fc.bias": randn(33)}),
        "batched_matmul": ((randn(3, 50, 41), randn(3, 70, 41)), {}),
        "conv2d": ((randn(2, 4, 9, 11),), {"conv.weight": randn(6, 2, 3, 3), "conv.bias": randn(6)}),
        "conv_transpose2d": ((randn(2, 4, 5, 6),), {"conv.weight": randn(4, 5, 3, 3), "conv.bias": randn(5)}),
        "max_pool2d": ((randn(2, 3, 13, 45),), {}),
        "cumsum": ((randn(5, 700),), {}),
        "flash_attention": ((randn(1, 2, 75, 24), randn(1, 2, 75, 24, seed=1), randn(1, 2, 75, 24, seed=2)), {}),
        "cross_entropy": ((randn(9, 300), torch.tensor([1, 5, -100, 299, 0, 7, 8, 9, 250])), {}),
        "argmax": ((randn(3, 19, 37).round(),), {}),
        "embedding_mean": ((ints(4, 19, low=0),), {"embedding.weight": randn(50, 70)}),
    }
    return [
        Case(name, example(name), inputs, parameters, tolerance=1e-5) for name, (inputs, parameters) in given.items()
    ]
