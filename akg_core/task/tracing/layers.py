"""Layers of `torch.nn` that look at values in `forward`, without that look. Worker side."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.modules import adaptive, batchnorm

_BATCH_NORM = batchnorm._BatchNorm.forward


def _batch_norm(self: Any, input: Tensor) -> Tensor:
    """One that averages over all batches reads how many there were."""
    if self.momentum is not None or not (self.training and self.track_running_stats):
        return _BATCH_NORM(self, input)
    self._check_input_dim(input)
    self.num_batches_tracked.add_(1)
    share = 1.0 / self.num_batches_tracked.to(self.running_mean.dtype)
    var, mean = torch.var_mean(input, [d for d in range(input.dim()) if d != 1])
    running = self.running_mean.clone(), self.running_var.clone()
    for held, seen in ((self.running_mean, mean), (self.running_var, var)):
        held.copy_(held * (1 - share) + seen * share)
    return F.batch_norm(input, *running, self.weight, self.bias, True, 0.0, self.eps)


def _adaptive_loss(self: Any, input_: Tensor, target_: Tensor) -> Any:
    """The logarithm of each target's share and the mean of their negatives: of every cluster for every row [N]."""
    is_batched = target_.dim() > 0
    rows, target = (input_, target_) if is_batched else (input_.unsqueeze(0), target_.unsqueeze(0))
    place, within = target, torch.zeros(len(target), dtype=input_.dtype, device=input_.device)
    for number, tail in enumerate(self.tail):
        low, high = self.cutoffs[number : number + 2]
        is_here = (target >= low) & (target < high)
        shares = F.log_softmax(tail(rows), dim=1)
        share = shares.gather(1, torch.where(is_here, target - low, 0).unsqueeze(1)).squeeze(1)
        within = torch.where(is_here, share, within)
        place = torch.where(is_here, self.shortlist_size + number, place)
    output = within + F.log_softmax(self.head(rows), dim=1).gather(1, place.unsqueeze(1)).squeeze(1)
    return adaptive._ASMoutput(output if is_batched else output.squeeze(0), (-output).mean())


def _adaptive_prediction(self: Any, input: Tensor) -> Tensor:
    """The likeliest class of each row [N]: that of all classes where the likeliest of the head is a cluster."""
    head = self.head(input)
    first = torch.argmax(head, dim=1)
    return torch.where(first >= self.shortlist_size, torch.argmax(self._get_full_log_prob(input, head), dim=1), first)


FUNCTIONS = (
    (batchnorm._BatchNorm, "forward", _batch_norm),
    (adaptive.AdaptiveLogSoftmaxWithLoss, "forward", _adaptive_loss),
    (adaptive.AdaptiveLogSoftmaxWithLoss, "predict", _adaptive_prediction),
    (torch.distributions.Distribution, "_validate_args", False),
)
"""What is replaced, by who has it, under which name; distributions check no arguments."""
