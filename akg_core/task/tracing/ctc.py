"""CTC loss as one operator while forward is traced: PyTorch's own reads the lengths from the tensors that hold them.

`akg_core::ctc_loss` gives minus the log-likelihood of each sequence; what is made of these is written out around it.
Worker side only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

_LIBRARY = torch.library.Library("akg_core", "FRAGMENT")
_REDUCTIONS = ("none", "mean", "sum")  # by PyTorch's number for each


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: str | int = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """As `torch.nn.functional.ctc_loss`, for padded targets and ones that follow each other, batched or not."""
    lengths, wanted = (_lengths(each, log_probs) for each in (input_lengths, target_lengths))
    alone = log_probs.dim() == 2
    if alone:
        log_probs, targets = log_probs.unsqueeze(1), targets.reshape(1, -1)
    elif targets.dim() == 1:
        places = torch.arange(targets.shape[0], device=targets.device) + (wanted.cumsum(0) - wanted)[:, None]
        targets = targets[places.clamp(max=targets.shape[0] - 1)]
    loss = torch.ops.akg_core.ctc_loss(log_probs, targets, lengths, wanted, blank)
    if zero_infinity:
        loss = torch.where(loss == torch.inf, 0.0, loss)
    kind = reduction if isinstance(reduction, str) else _REDUCTIONS[reduction]
    if kind == "mean":
        return (loss / wanted.clamp(min=1).to(loss.dtype)).mean()
    return loss.sum() if kind == "sum" else loss[0] if alone else loss


def _lengths(given: Any, like: Tensor) -> Tensor:
    tensor = given if isinstance(given, Tensor) else torch.tensor(given, device=like.device)
    return tensor.reshape(-1).to(torch.int64)


def _loss(log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int) -> Tensor:
    return log_probs.new_empty(log_probs.shape[1])


_LIBRARY.define(
    "ctc_loss(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank) -> Tensor"
)
torch.library.register_fake("akg_core::ctc_loss", _loss, lib=_LIBRARY)
