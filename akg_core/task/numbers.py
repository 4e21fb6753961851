"""Tensors that are made of Python's numbers: where these change, and how."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

MOST_STEPS = 64  # places at which numbers may change that are found by comparing places, wherever one is read


def flat(numbers: Any) -> Iterator[Any]:
    """The numbers of nested lists, in order."""
    if isinstance(numbers, (list, tuple)):
        for each in numbers:
            yield from flat(each)
    else:
        yield numbers


def changes(numbers: Sequence[Any]) -> list[int]:
    """The places of numbers that are unlike the one before; NaN is like NaN, and 0 unlike -0."""
    return [place for place in range(1, len(numbers)) if not _same(numbers[place - 1], numbers[place])]


def step(numbers: Sequence[Any]) -> int | None:
    """The distance of whole numbers that follow each other at equal distances."""
    if len(numbers) < 2 or not all(type(number) is int for number in numbers):
        return None
    distance = numbers[1] - numbers[0]
    return distance if all(b - a == distance for a, b in pairwise(numbers)) else None


def is_computed(numbers: Sequence[Any]) -> bool:
    """Whether a number is found sooner by its place than in memory."""
    return step(numbers) is not None or len(changes(numbers)) <= MOST_STEPS


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return (math.isnan(one) and math.isnan(other)) or (
            one == other and math.copysign(1, one) == math.copysign(1, other)
        )
    return bool(one == other)
