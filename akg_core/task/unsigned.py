"""Unsigned whole numbers of more than 8 bits, which kernels are handed as signed ones of the same bits. Worker side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

SIGNED = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}
UNSIGNED = {signed: unsigned for unsigned, signed in SIGNED.items()}
_WITHIN = {2: (torch.int32, 0xFFFF), 4: (torch.int64, 0xFFFFFFFF)}  # by bytes: what holds all of them, and their bits


@dataclass(frozen=True, slots=True)
class Unsigned:
    """An unsigned tensor, by the signed one of its bits."""

    bits: Tensor

    def to(self, dtype: torch.dtype) -> Any:
        """Its numbers in another dtype, as PyTorch casts them."""
        size = self.bits.element_size()
        if dtype in SIGNED and SIGNED[dtype].itemsize <= size:
            return Unsigned(self.bits.to(SIGNED[dtype]))
        if size in _WITHIN:
            wide, mask = _WITHIN[size]
            made = self.bits.to(wide) & mask
            return Unsigned(made.to(SIGNED[dtype])) if dtype in SIGNED else made.to(dtype)
        if not dtype.is_floating_point:
            return self.bits.to(dtype)
        half = (self.bits >> 1) & 0x7FFFFFFFFFFFFFFF | self.bits & 1  # the last bit says that something is left
        return torch.where(self.bits < 0, half.to(dtype) * 2, self.bits.to(dtype))


def is_unsigned(value: Any) -> bool:
    """Whether it is a tensor of such numbers."""
    return isinstance(value, Tensor) and value.dtype in SIGNED
