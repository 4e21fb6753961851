"""Packed sequences while forward is traced: padded tensors beside their lengths, which nobody looks at.

PyTorch's own hold as many rows as the lengths together, by their values. What stands for one here can be given to a
recurrent layer and padded again to a length that is known; a layer takes the lengths as one more tensor, by which the
states of a sequence stay what they are after its end. Worker side only.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import rnn

from akg_core.errors import TaskError
from akg_core.task.tracing.recurrent import layers_by_lengths


class Packed:
    """Sequences [T, B, *] of the lengths [B], in the order that packing has given them."""

    def __init__(self, padded: Tensor, lengths: Tensor, order: Tensor | None, back: Tensor | None) -> None:
        self.padded, self.lengths = padded, lengths
        self.sorted_indices, self.unsorted_indices = order, back
        self.batch_sizes = SimpleNamespace(size=lambda _: 0)  # who asks how many steps there are has not said it

    @property
    def data(self) -> Packed:
        return self

    @classmethod
    def __torch_function__(cls, *_: Any) -> Any:
        raise TaskError(
            "forward computes with the elements of a packed sequence, as many as the values of lengths say.",
            "Compute with padded tensors, and pack only what a recurrent layer takes.",
        )

    def __getitem__(self, _: Any) -> Any:
        return self.__torch_function__()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.__torch_function__()


def _packed(padded: Tensor, lengths: Tensor, batch_first: bool) -> tuple[Tensor, Tensor]:
    return padded.transpose(0, 1) if batch_first else padded, lengths


def _made(padded: Tensor, lengths: Tensor, order: Tensor | None = None, back: Tensor | None = None) -> Packed:
    if order is not None and back is None:
        back = torch.empty_like(order).scatter_(0, order, torch.arange(order.shape[0], device=order.device))
    return Packed(padded, lengths, order, back)


def _padded(packed: Packed, _: Any, batch_first: bool, value: float, total: int) -> tuple[Tensor, Tensor]:
    if not total:
        raise TaskError(
            "forward pads a packed sequence to the longest, whose length is a value.",
            "Say the size of the result: pad_packed_sequence(..., total_length=x.size(1)).",
        )
    x = packed.padded
    steps = int(x.shape[0])
    ended = torch.arange(steps, device=x.device)[:, None] >= packed.lengths.to(x.device)
    x = x.masked_fill(ended.reshape(*ended.shape, *[1] * (x.dim() - 2)), value)
    x = torch.cat([x, x.new_full((total - steps, *x.shape[1:]), value)]) if total > steps else x[:total]
    return x.transpose(0, 1) if batch_first else x, packed.lengths


def _forward(own: Callable[..., Any]) -> Callable[..., Any]:
    """The forward of a kind of layer that takes packed sequences as well."""

    def forward(self: nn.RNNBase, input: Any, hx: Any = None) -> Any:
        if not isinstance(input, Packed):
            return own(self, input, hx)
        self._update_flat_weights()
        x, several = input.padded, self.mode == "LSTM"
        count = self.num_layers * (2 if self.bidirectional else 1)
        if hx is None:
            sizes = [self.proj_size or self.hidden_size, self.hidden_size][: 2 if several else 1]
            states = [x.new_zeros(count, x.shape[1], size) for size in sizes]
        else:
            given = list(hx) if several else [hx]
            order = input.sorted_indices
            states = given if order is None else [state.index_select(1, order) for state in given]
        options = (self.bias, self.num_layers, float(self.dropout), self.training, self.bidirectional, False)
        first = states if several else states[0]
        y, *ends = layers_by_lengths(self.mode.lower(), x, first, self._flat_weights, *options, input.lengths)
        back = input.unsorted_indices
        ends = ends if back is None else [end.index_select(1, back) for end in ends]
        return Packed(y, input.lengths, input.sorted_indices, back), tuple(ends) if several else ends[0]

    return forward


_VF = SimpleNamespace(_pack_padded_sequence=_packed, _pad_packed_sequence=_padded)
FUNCTIONS = (
    (rnn, "_VF", _VF),
    (rnn, "_packed_sequence_init", _made),
    *((kind, "forward", _forward(kind.forward)) for kind in (nn.RNN, nn.LSTM, nn.GRU)),
)
"""What stands for PyTorch's own while forward is traced: where, its name, and what it is."""
