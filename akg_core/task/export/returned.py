"""What forward gives, with tensors in the place of what is as long as masks say. Worker side only."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import SUPPORTED_NODES, tree_map

from akg_core.errors import TaskError
from akg_core.task.data_dependent.counted import compacted
from akg_core.task.data_dependent.domain import Rows
from akg_core.task.data_dependent.ragged import Ragged, of
from akg_core.task.export.packing import name_in_reference
from akg_core.task.tracing.read_numbers import is_number

_SIZES = (torch.SymInt, torch.SymFloat, torch.SymBool)
_KNOWN = (Tensor, Rows, Ragged, bool, int, float, str, type(None), *_SIZES)


def returned(results: Any) -> Any:
    """The same tree; of each tensor only the first rows are meant, as `akg_core::counted` says."""
    return tree_map(_returned, results)


def _returned(x: Any) -> Any:
    if dataclasses.is_dataclass(x):
        kind = type(x)
        if name_in_reference(kind) and not hasattr(kind, "__post_init__"):
            if kind not in SUPPORTED_NODES:
                torch.export.register_dataclass(kind)
            return tree_map(_returned, x)
        said = f"forward returns a {type(x).__name__}, a type of its own."
        raise TaskError(
            said, "Return a tuple, list or dict of tensors, or a named tuple or dataclass of the file's own."
        )
    if getattr(x, "is_python", False) or is_number(x):
        said = "forward returns a number that values decide, or a list of as many, which is no tensor."
        raise TaskError(said, "Return tensors only.")
    if not isinstance(x, _KNOWN):
        said = f"forward returns {x!r:.60}, which is not a tensor."
        raise TaskError(said, "Return tensors, numbers, text and None, in tuples, lists and dicts.")
    return _counted(of(x)) if isinstance(x, (Rows, Ragged)) else x


def _counted(x: Ragged) -> Tensor:
    """Rows of the dims up to the last of which values say how long it is, those that are kept first."""
    dims = [dim for dim, domain in enumerate(x.domains) if domain]
    data, domain = x.merged(0, dims[-1] + 1)
    assert domain is not None
    counts = [each.count for each in x.domains if each]
    sizes = list(x.data.shape[: dims[-1] + 1])
    found: Tensor = torch.ops.akg_core.counted(compacted(Rows(data, domain)), counts, sizes, dims)
    return found
