"""Packed sequences: recurrent layers stop where lengths say, as PyTorch's do."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.utils import rnn

from akg_core.errors import TaskError
from akg_core.task.capture import capture
from akg_core.task.source.load import load_source
from akg_core.task.source.packed_lengths import take_lengths_of_devices
from tests.design.judging import judge, reference

SORTED, MIXED = "torch.tensor([5, 4, 4, 1])", "torch.tensor([2, 5, 1, 3])"


def packed(made: str, lengths: str, pack: str = "", pad: str = "total_length=x.shape[1]", then: str = "") -> str:
    """A reference of one layer over four sequences of at most five steps."""
    body = f"""    def __init__(self):
        super().__init__()
        self.layer = nn.{made}, batch_first=True)

    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True{pack})
        {then or "y, end = self.layer(packed)"}
        y, sizes = nn.utils.rnn.pad_packed_sequence(y, batch_first=True{", " if pad else ""}{pad})
        return (y, sizes, *end) if isinstance(end, tuple) else (y, sizes, end)"""
    return reference(body, f"[torch.randn(4, 5, 3), {lengths}]")


@pytest.mark.parametrize("kind", ["LSTM(3, 6", "GRU(3, 6", "RNN(3, 6", "LSTM(3, 6, proj_size=2"])
@pytest.mark.parametrize("options", ["", ", num_layers=2, bidirectional=True"])
def test_layers_stop_at_the_ends_of_sequences(kind: str, options: str) -> None:
    judge(packed(kind + options, MIXED, ", enforce_sorted=False"))


@pytest.mark.parametrize("pad", ["total_length=7", "total_length=5, padding_value=-2.0"])
def test_sorted_sequences_and_what_lies_beyond_them(pad: str) -> None:
    judge(packed("GRU(3, 6", SORTED, pad=pad))


def test_first_states_are_put_in_the_order_of_the_lengths() -> None:
    then = "y, end = self.layer(packed, (x[None, :, 0].repeat(1, 1, 2), x[None, :, 1].repeat(1, 1, 2)))"
    judge(packed("LSTM(3, 6", MIXED, ", enforce_sorted=False", then=then))


@pytest.mark.parametrize(
    ("source", "said", "cure"),
    [
        (packed("GRU(3, 6", SORTED, pad=""), "to the longest, whose length is a value", "total_length"),
        (packed("GRU(3, 6", SORTED, then="return packed.data.relu(), x"), "elements of a packed sequence", "padded"),
    ],
)
def test_what_depends_on_the_values_of_lengths_is_refused(source: str, said: str, cure: str) -> None:
    with pytest.raises(TaskError, match=said) as refused:
        capture(load_source(source, "ref"))
    assert cure in refused.value.cure and "line 1" in refused.value.message


def test_lengths_may_lie_on_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rnn, "_VF", torch._VF)
    take_lengths_of_devices()
    packed = nn.utils.rnn.pack_padded_sequence(torch.randn(4, 5, 3), torch.tensor([2, 5, 1, 3]), True, False)
    padded, lengths = nn.utils.rnn.pad_packed_sequence(packed, True)
    assert padded.shape == (4, 5, 3) and lengths.tolist() == [2, 5, 1, 3]

    given = []
    monkeypatch.setattr(torch, "_VF", SimpleNamespace(_pack_padded_sequence=lambda *a: given.extend(a) or a[:2]))
    with FakeTensorMode():
        rnn.pack_padded_sequence(torch.empty(4, 5, 3, device="cuda"), torch.ones(4, dtype=torch.int64, device="cuda"))
    assert given[0].device.type == "cuda" and given[1].device.type == "cpu"
