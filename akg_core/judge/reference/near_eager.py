"""Answers so near to eager's that they are right whatever float64 says, which then need not be run.

Worker side, in the reference process. What is within half of the units in the last place that the policy of `accuracy`
allows of eager's own answer e is within twice |e - r| and those units of r, in each element and in norm.
"""

from __future__ import annotations

from typing import Any

import torch

from akg_core.judge.compare import accuracy
from akg_core.judge.compare.binades import chunk_of
from akg_core.judge.compare.bits import flatten, same_bits
from akg_core.judge.compare.case import Expected
from akg_core.judge.records import OutputComparison

_SHARE = 0.45  # of the units: less than half, for the product with |e| in place of |r|


def near(
    result: Any, changed: dict[str, Any], expected: Expected, longest_reduction: float
) -> list[OutputComparison] | None:
    """What `compare.compare` would say of answers that are as near as that to eager's; None where some are not."""
    given = flatten(result)
    if list(given) != list(expected.result) or set(changed) != set(expected.changed):
        return None
    found = []
    for name, due in (expected.result | expected.changed).items():
        mine = given.get(name) if name in given else changed.get(name)
        if not _is_near(mine, due, longest_reduction):
            return None
        dtype = str(due.dtype).removeprefix("torch.") if isinstance(due, torch.Tensor) else ""
        found.append(OutputComparison(name=name, ok=True, dtype=dtype, kernelbench=True))
    return found


def _is_near(mine: Any, due: Any, longest_reduction: float) -> bool:
    if not isinstance(due, torch.Tensor) or not isinstance(mine, torch.Tensor):
        return type(mine) is type(due) and not isinstance(due, torch.Tensor) and mine == due
    if mine.dtype != due.dtype or mine.shape != due.shape or mine.stride() != due.stride():
        return False
    if not due.is_floating_point():
        return same_bits(mine, due)
    relative = _SHARE * accuracy.slack(longest_reduction, due.dtype).ulps * torch.finfo(due.dtype).eps
    one, other, chunk = mine.reshape(-1), due.reshape(-1), chunk_of(due)
    pieces = (slice(start, start + chunk) for start in range(0, due.numel(), chunk))
    return all(_are_close(one[at], other[at], relative) for at in pieces)


def _are_close(one: torch.Tensor, other: torch.Tensor, relative: float) -> bool:
    """`torch.allclose` without an absolute tolerance, NaN being close to NaN; what is equal, or finite, needs less."""
    if torch.equal(one, other):
        return True
    near_enough = (one - other).abs_() <= other.abs().mul_(relative)
    return bool(near_enough.all()) or torch.allclose(one, other, rtol=relative, atol=0.0, equal_nan=True)
