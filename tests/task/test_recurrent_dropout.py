"""Dropout between the layers of a recurrent layer in training draws what PyTorch's does, in its order."""

from __future__ import annotations

import pytest

from tests.design.judging import judge, reference

LAYERS = [
    "nn.LSTM(5, 6, 2, dropout=0.4)", "nn.LSTM(5, 6, 3, dropout=0.2, bidirectional=True, batch_first=True)",
    "nn.GRU(5, 6, 3, dropout=0.5, batch_first=True)", "nn.RNN(5, 6, 2, dropout=0.3, bias=False)",
    "nn.LSTM(5, 6, 2, dropout=0.3, proj_size=4)",
]  # fmt: skip


@pytest.mark.parametrize("layer", LAYERS)
def test_dropout_in_training(layer: str) -> None:
    body = f"    def __init__(self):\n        super().__init__()\n        self.m = {layer}\n\n"
    judge(reference(body + "    def forward(self, x):\n        return self.m(x)", "[torch.randn(4, 3, 5)]"))
