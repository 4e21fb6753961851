"""The sizes that a file itself asks for, in the names of those that vary: of each entry of `get_inputs_dyn_list`.

Worker side only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch

from akg_core.records import Argument
from akg_core.task.graph import holds


def sizes_of_cases(
    arguments: Sequence[Argument], entries: Iterable[Sequence[Any]], symbols: Mapping[str, int]
) -> tuple[dict[str, int], ...]:
    """The sizes of each of the `entries`, which hold a value for each argument, as far as `symbols` names them."""
    found = []
    for values in entries:
        tensors = [(a, v) for a, v in zip(arguments, values, strict=False) if isinstance(v, torch.Tensor)]
        dims = [pair for a, v in tensors for pair in zip(a.shape, v.shape, strict=False)]
        found.append(dict(symbols) | {dim: int(size) for dim, size in dims if isinstance(dim, str) and dim in symbols})
    return tuple(case for place, case in enumerate(found) if case not in found[:place])


def refusing(guards: Sequence[str], cases: Sequence[Mapping[str, int]]) -> tuple[str, ...]:
    """What is said of cases at whose sizes the graph does not hold."""
    refused = sum(not holds(guards, dict(case)) for case in cases)
    return (f"Of {len(cases)} sizes that get_inputs_dyn_list has, it refuses {refused}.",) if refused else ()
