"""Rows that a mask keeps, one after the other: at the front of a tensor that has room for all of them.

`akg_core::compact` puts them there, and `akg_core::counted` says of a result that only its first rows are meant, as
many as a tensor holds. Until then its shape is that of all rows. Worker side only.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_map

from akg_core.errors import TaskError
from akg_core.task.domain import Rows
from akg_core.task.graph import COUNTED

_LIBRARY = torch.library.Library("akg_core", "FRAGMENT")
_LIBRARY.define("compact(Tensor rows, Tensor place) -> Tensor")
_LIBRARY.define(f"{COUNTED}(Tensor rows, Tensor count) -> Tensor")


def _rows(rows: Tensor, _: Tensor) -> Tensor:
    return rows.new_empty(rows.shape)


for _name in ("compact", COUNTED):
    torch.library.register_fake(f"akg_core::{_name}", _rows, lib=_LIBRARY)


def compacted(x: Rows) -> Tensor:
    """Rows [m, *rest], of which those that are kept come first, in order; what is behind them means nothing."""
    found: Tensor = torch.ops.akg_core.compact(x.spread(), x.domain.place)
    return found


def returned(results: Any) -> Any:
    """What forward gives, with a tensor in the place of rows that a mask keeps."""
    return tree_map(_returned, results)


def _returned(x: Any) -> Any:
    if getattr(x, "is_python", False):
        said = "forward returns a number that values decide, or a list of as many, which is no tensor."
        raise TaskError(said, "Return tensors only.")
    return _counted(x) if isinstance(x, Rows) else x


def _counted(x: Rows) -> Tensor:
    found: Tensor = torch.ops.akg_core.counted(compacted(x), x.domain.count)
    return found
