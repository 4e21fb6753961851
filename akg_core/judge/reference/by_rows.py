"""A case by parts of its rows, where a device has too little memory to run a reference in float64 on all of them.

Rows are what `locality` found: the reference never combines them. That it computes the same of some of them is seen
each time, so that one which depends on where a row stands is not run so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from akg_core.errors import is_of_memory
from akg_core.judge.compare.bits import same_bits
from akg_core.judge.reference.locality import Answer, Locality
from akg_core.task.arguments import flat
from akg_core.worker.tensors import transform

PART_BYTES = 1 << 29  # of answers in float64, about
_WIDER = 2  # times that numbers of f32 take in float64
_ALIKE = 1e-9  # of the largest number: what sums in another order differ by in float64, and noise by far more
_ROUNDED = 16  # units in its last place, in which they do in narrower types


class NotApart(Exception):
    """A reference does not compute the same of some rows alone as of all."""


def parts(
    local: Locality, inputs: list[Any], answered: int, answer: Answer, whole: dict[str, Any]
) -> Iterator[tuple[slice, list[Any]]]:
    """Slices of the first dimension, with the inputs of these rows, on which `answer` gives what `whole` holds there.

    `answered`: bytes of the answers to all rows; a part is small by these and by its inputs in float64. What is cut are
    the arguments that are known to hold rows, or where that does not do, all of as many rows: masks and indices are not
    looked for, nor what has fewer dimensions of rows. All parts come, at last of one way to cut, or NotApart is raised.
    """
    rows = _count(local, inputs)
    for leaves in _ways_to_cut(local, inputs, whole):
        values = flat((), inputs)
        held = max(answered, _WIDER * sum(values[leaf].nbytes for leaf in leaves))
        step = max(1, rows * PART_BYTES // max(1, held))
        for start in range(0, rows, step):
            part = slice(start, min(start + step, rows))
            given = _cut(inputs, leaves, part)
            if not is_part(_tried(answer, given), whole, part):
                break
            yield part, given
        else:
            return
    raise NotApart


def picked(local: Locality, inputs: list[Any], rows: torch.Tensor, answer: Answer, whole: dict[str, Any]) -> list[Any]:
    """The inputs of some rows, by their numbers, on which `answer` gives what `whole` holds there; else NotApart."""
    for leaves in _ways_to_cut(local, inputs, whole):
        given = _cut(inputs, leaves, rows)
        if is_part(_tried(answer, given), whole, rows):
            return given
    raise NotApart


def _count(local: Locality, inputs: list[Any]) -> int:
    """How many rows the first dimension has."""
    return len(flat((), inputs)[local.leaves[0]]) if local.depth else 0


def _ways_to_cut(local: Locality, inputs: list[Any], whole: dict[str, Any]) -> list[tuple[int, ...]]:
    """Which arguments may be cut together: those that are known to hold rows, or all of as many rows.

    None where a leaf of the answer to all, `whole`, has not these rows in its first dimension.
    """
    rows = _count(local, inputs)
    if not rows or not all(isinstance(v, torch.Tensor) and v.dim() and len(v) == rows for v in whole.values()):
        return []
    values = enumerate(flat((), inputs))
    alike = tuple(i for i, v in values if isinstance(v, torch.Tensor) and v.dim() and len(v) == rows)
    return [*dict.fromkeys((local.leaves, alike))]


def _tried(answer: Answer, inputs: list[Any]) -> dict[str, Any]:
    """An answer; an empty one where there is none to these inputs, whose sizes do not fit each other."""
    try:
        return answer(inputs)
    except Exception as error:
        if is_of_memory(error):
            raise
        return {}


def _cut(inputs: list[Any], leaves: tuple[int, ...], rows: slice | torch.Tensor) -> list[Any]:
    """Inputs with some rows of the arguments at `leaves`; others as they are."""
    values = flat((), inputs)
    cut = {id(values[leaf]) for leaf in leaves}
    given: list[Any] = transform(inputs, lambda tensor: tensor[rows] if id(tensor) in cut else tensor)
    return given


def is_part(part: dict[str, Any], whole: dict[str, Any], rows: slice | torch.Tensor) -> bool:
    """Whether what was answered on some rows alone is what was answered on all, for every leaf of `whole`.

    All of these are tensors with the rows in their first dimension.
    """
    return all(_is_part(part.get(name), value, rows) for name, value in whole.items())


def _is_part(part: Any, whole: torch.Tensor, rows: slice | torch.Tensor) -> bool:
    if not isinstance(part, torch.Tensor):
        return False
    due = whole[rows]
    if same_bits(part, due):
        return True
    if part.shape != due.shape or not due.is_floating_point():
        return False
    ends = torch.aminmax(due.nan_to_num(0.0, 0.0, 0.0)) if due.numel() else (0.0, 0.0)
    most = max(map(abs, map(float, ends)))
    alike = _ALIKE if due.dtype == torch.float64 else _ROUNDED * torch.finfo(due.dtype).eps
    return torch.allclose(part, due, rtol=alike, atol=alike * most, equal_nan=True)
