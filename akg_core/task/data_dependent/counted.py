"""Rows that a mask keeps, one after the other: at the front of a tensor that has room for all of them.

`akg_core::compact` puts them there, and `akg_core::counted` says of a result that only its first rows are meant, and
of which sizes: as many as tensors hold. Until then its shape is that of all rows. Worker side only.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from akg_core.task.data_dependent.domain import Rows
from akg_core.task.graph import COUNTED

_LIBRARY = torch.library.Library("akg_core", "FRAGMENT")
_LIBRARY.define("compact(Tensor rows, Tensor place) -> Tensor")
_LIBRARY.define(f"{COUNTED}(Tensor rows, Tensor[] counts, int[] sizes, int[] dims) -> Tensor")


def _compact(rows: Tensor, _: Tensor) -> Tensor:
    return torch.empty_like(rows)


def _counted(rows: Tensor, counts: Sequence[Tensor], sizes: Sequence[int], dims: Sequence[int]) -> Tensor:
    return rows.new_empty((*sizes, *rows.shape[1:]))


torch.library.register_fake("akg_core::compact", _compact, lib=_LIBRARY)
torch.library.register_fake(f"akg_core::{COUNTED}", _counted, lib=_LIBRARY)


def compacted(x: Rows) -> Tensor:
    """Rows [m, *rest], of which those that are kept come first, in order; what is behind them means nothing."""
    found: Tensor = torch.ops.akg_core.compact(x.spread(), x.domain.place)
    return found
