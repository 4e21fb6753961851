"""Packed sequences of reference files on a device: their lengths lie there, too. PyTorch wants them on the host.

Worker side only.
"""

from __future__ import annotations

from types import SimpleNamespace

import torch
from torch import Tensor
from torch.nn.utils import rnn


def take_lengths_of_devices() -> None:
    """From now on, sequences are packed by lengths wherever these are, and padded ones have theirs beside them."""
    if rnn._VF is torch._VF:
        own = SimpleNamespace(_pack_padded_sequence=_packed, _pad_packed_sequence=_padded)
        rnn._VF = own  # type: ignore[assignment]


def _packed(padded: Tensor, lengths: Tensor, batch_first: bool) -> tuple[Tensor, Tensor]:
    return torch._VF._pack_padded_sequence(padded, lengths.cpu(), batch_first)


def _padded(data: Tensor, sizes: Tensor, batch_first: bool, value: float, total: int) -> tuple[Tensor, Tensor]:
    padded, lengths = torch._VF._pad_packed_sequence(data, sizes, batch_first, value, total)
    return padded, lengths.to(padded.device)
