"""Philox4x32-10: the counter-based generator behind `rand`, so that every plugin draws the same numbers.

Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

import torch
from torch import Tensor

Words = tuple[Tensor, Tensor, Tensor, Tensor]  # 32-bit words, each held in an i64 tensor

_WORD = 0xFFFFFFFF
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)


def _multiply(constant: int, word: Tensor) -> tuple[Tensor, Tensor]:
    """High and low words of a 32 by 32 bit product; i64 wraps, which leaves all 64 bits right."""
    product = constant * word
    return (product >> 32) & _WORD, product & _WORD


def philox4x32(counter: Words, key: tuple[Tensor, Tensor]) -> Words:
    """Ten rounds over the four words of `counter` with the two words of `key`."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        high0, low0 = _multiply(_MULTIPLIERS[0], c0)
        high1, low1 = _multiply(_MULTIPLIERS[1], c2)
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
        k0, k1 = (k0 + _WEYL[0]) & _WORD, (k1 + _WEYL[1]) & _WORD
    return c0, c1, c2, c3


def uniform(seed: Tensor, index: Tensor) -> Tensor:
    """f32 draws in [0, 1): the 24 high bits of the first word, for a 64-bit seed (key) and index (counter)."""
    zero = torch.zeros((), dtype=torch.int64, device=index.device)
    counter = (index & _WORD, (index >> 32) & _WORD, zero, zero)
    word = philox4x32(counter, (seed & _WORD, (seed >> 32) & _WORD))[0]
    return (word >> 8).to(torch.float32) * 2.0**-24
