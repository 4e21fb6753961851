"""Rules of tensors that come of numbers alone: `torch.tensor([0.5, 1.0, 2.0])`, and the places of a triangle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from akg_core.design.algebra.index import flatten
from akg_core.design.graph.rules import Call, rule
from akg_core.design.graph.values import Value, cast, compute, counting, literal, where
from akg_core.dtypes import is_float
from akg_core.task.numbers import changes, flat, step


@rule("tensor", namespace="akg")
def tensor(c: Call) -> Value:
    """What stands at each place, by where the numbers change; whole numbers at equal distances by a formula."""
    numbers = list(flat(c.arg(0)))
    shape, dtype = c.shape, c.node.dtypes[0] or "f32"
    if not numbers:
        return literal(0, dtype, shape)
    place = counting(shape, lambda at: flatten(at, shape))
    if (distance := step(numbers)) is not None and not is_float(dtype) and dtype != "bool":
        return cast(place * distance + numbers[0], dtype)
    return _chosen(place, numbers, [0, *changes(numbers)], dtype)


def _chosen(place: Value, numbers: Sequence[Any], starts: Sequence[int], dtype: str) -> Value:
    """The number of the run that a place lies in, looked for by halves; runs begin at `starts`."""
    if len(starts) == 1:
        return literal(numbers[starts[0]], dtype, place.shape)
    half = len(starts) // 2
    before, after = (_chosen(place, numbers, part, dtype) for part in (starts[:half], starts[half:]))
    return where(place < starts[half], before, after, dtype)


@rule("tril_indices", "triu_indices")
def triangle(c: Call) -> Value:
    """Rows and columns of a triangle: the number of whole rows before a place is a root of the place.

    A place of the upper triangle is one of the lower, counted from the end.
    """
    rows, columns, offset = c.arg(0), c.arg(1), c.arg(2, 0)
    upper = c.name == "triu_indices"
    longest = columns - offset if upper else rows + offset
    if not (longest <= rows and offset >= 0 if upper else longest <= columns and offset <= 0):
        raise c.unsupported("with rows that are cut off")
    count = longest * (longest + 1) // 2
    place = counting(c.shape, lambda at: count - 1 - at[1] if upper else at[1])
    root = compute("sqrt", cast(place * 8, "f64") + 1)
    row = cast((root - 1) / 2, "i64")
    column = place - row * (row + 1) // 2
    if upper:
        row = longest - 1 - row
        column = columns - 1 - column
    else:
        row = row - offset
    which = counting(c.shape, lambda at: at[0])
    return cast(where(which.equals(0), row, column, "i64"), c.node.dtypes[0] or "i64")
