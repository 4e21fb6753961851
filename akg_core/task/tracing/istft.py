"""The inverse of a short-time Fourier transform without PyTorch's look at whether its windows cover every place.

Worker side only.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """As `torch.istft`: of [*batch, frequencies, frames] the signals [*batch, samples]."""
    if return_complex or onesided is False:
        return _ISTFT(
            input, n_fft, hop_length, win_length, window, center, normalized, onesided, length, return_complex
        )
    hop, wide = hop_length or n_fft // 4, win_length or n_fft
    frames = torch.fft.irfft(input.transpose(-1, -2), n=n_fft, dim=-1, norm="ortho" if normalized else "backward")
    shape = torch.ones(wide, dtype=frames.dtype, device=frames.device) if window is None else window.to(frames.dtype)
    before = (n_fft - wide) // 2
    shape = F.pad(shape, (before, n_fft - wide - before))
    count = int(frames.shape[-2])
    samples = n_fft + hop * (count - 1)
    summed = _overlapped((frames * shape).reshape(-1, count, n_fft), samples, hop)
    covered = _overlapped((shape * shape).expand(1, count, n_fft), samples, hop)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else samples - start
    found = (summed / covered)[:, start : min(end, samples)]
    found = F.pad(found, (0, max(0, end - samples)))
    return found.reshape(*input.shape[:-2], -1)


def _overlapped(frames: Tensor, samples: int, hop: int) -> Tensor:
    """The sums of frames [B, T, N] that begin `hop` samples after each other: [B, samples]."""
    size = frames.shape[-1]
    folded = F.fold(frames.transpose(1, 2), (1, samples), (1, size), stride=(1, hop))
    return folded.reshape(frames.shape[0], samples)


_ISTFT = torch.istft
