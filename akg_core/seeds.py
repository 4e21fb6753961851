"""The seeds of calls that draw random numbers: which of them follows which. Imports no torch.

Such a call takes its seed from torch's generator of the host, as `torch.manual_seed` or the call before has left it,
and leaves the one there that follows. So calls draw differently, and are repeated by `torch.manual_seed`.
"""

from __future__ import annotations

GENERATOR = "state of torch.default_generator"
"""What a judge calls the seed that a call leaves behind."""

LARGEST = (1 << 63) - 1
FACTOR, TERM = 6364136223846793005, 1442695040888963407
"""A linear congruential generator of the full period 2^63 (Knuth's MMIX)."""


def following(seed: int, steps: int = 1) -> int:
    """The seed of the call after the one with `seed`, or of one that comes so many calls later."""
    for _ in range(steps):
        seed = (seed * FACTOR + TERM) & LARGEST
    return seed
