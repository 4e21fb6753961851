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
from akg_core.task.domain import Columns, Domain, Rows
from akg_core.task.graph import COUNTED

_LIBRARY = torch.library.Library("akg_core", "FRAGMENT")
_LIBRARY.define("compact(Tensor rows, Tensor place) -> Tensor")
_LIBRARY.define(f"{COUNTED}(Tensor rows, Tensor count, int columns) -> Tensor")


def _rows(rows: Tensor, _: Tensor, columns: int = 0) -> Tensor:
    return rows.new_empty((columns, rows.shape[0] // columns) if columns else rows.shape)


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
    if isinstance(x, Columns):
        return _counted([*x], len(x))
    return _counted([x]) if isinstance(x, Rows) else x


def _counted(parts: list[Rows], columns: int = 0) -> Tensor:
    """Rows, or [columns, m] numbers: those of the first column that are kept, then those of the next."""
    domain = parts[0].domain
    whole = Rows(torch.cat([each.spread() for each in parts]), Domain(torch.cat([domain.kept] * len(parts))))
    found: Tensor = torch.ops.akg_core.counted(compacted(whole if columns else parts[0]), domain.count, columns)
    return found
