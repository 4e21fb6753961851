"""Which leading dimensions of a task's arguments are rows that a reference never combines, found by running it.

Worker side. What one NaN spoils tells, or what another number changes that goes into comparisons alone: where only
answers at its own place in the leading dimensions are spoiled, rows of different kinds may share a tensor, and each is
still judged by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from akg_core.task.arguments import flat
from akg_core.worker.tensors import fresh

_OTHERS = (100.0, -100.0)  # numbers that are put in the place of one where a NaN tells nothing

Answer = Callable[[list[Any]], dict[str, Any]]


@dataclass(frozen=True)
class Locality:
    """`rows` in the first `depth` dimensions of the arguments at `leaves`; without any, `leaves` holds the largest."""

    depth: int = 0
    leaves: tuple[int, ...] = ()
    rows: int = 1


def locality(answer: Answer, inputs: list[Any], result: dict[str, Any]) -> Locality:
    """What is local of a reference that gives `result` on `inputs`; `answer` runs it on others, a copy of them."""
    values = flat((), inputs)
    floats = [i for i, v in enumerate(values) if isinstance(v, torch.Tensor) and v.is_floating_point()]
    usable = [i for i in floats if values[i].dim() and values[i].numel()]
    usable.sort(key=lambda i: -values[i].numel())
    found, depth = list[int](), 0
    for leaf in usable:
        shape = values[leaf].shape
        if found and shape[:depth] != values[found[0]].shape[:depth]:
            continue
        reach = _depth(answer, inputs, leaf, result)
        if not found and not reach:
            return Locality(0, (leaf,))
        if not found:
            depth = reach
        if reach >= depth:
            found.append(leaf)
    return Locality(depth, tuple(found), math.prod(values[found[0]].shape[:depth])) if found else Locality()


def _depth(answer: Answer, inputs: list[Any], leaf: int, result: dict[str, Any]) -> int:
    """To how many leading dimensions what stands at one place of an argument is confined in all answers."""
    shape = flat((), inputs)[leaf].shape
    place = tuple(size // 2 for size in shape)
    told = list[int]()
    for number in (math.nan, *_OTHERS):
        if told and number in _OTHERS[:1]:
            break  # a comparison may be all that a NaN goes into, and then nothing is spoiled
        given = fresh(inputs)
        flat((), given)[leaf][place] = number
        try:
            spoiled = answer(given)
        except Exception:  # a reference may refuse a NaN
            return 0
        del given  # large tensors are compared in what it took
        reaches = [
            _confined(_differs(result[name], now, number), shape, place)
            for name, now in spoiled.items()
            if isinstance(now, torch.Tensor) and now.shape == result[name].shape
        ]
        told += [reach for reach in reaches if reach is not None]
    return min([*told, max(1, len(shape) - 1)]) if told else 0


def _differs(one: torch.Tensor, other: torch.Tensor, number: float) -> torch.Tensor:
    if one.is_floating_point() and math.isnan(number):
        return torch.isfinite(one) & ~torch.isfinite(other)
    return (one != other) & ~(one.isnan() & other.isnan())


def _confined(spoiled: torch.Tensor, shape: torch.Size, place: tuple[int, ...]) -> int | None:
    """The leading dimensions in which all that is spoiled lies at `place`; None where nothing is spoiled."""
    if not bool(spoiled.any()):
        return None
    depth = 0
    while spoiled.dim() and depth < len(shape) and len(spoiled) == shape[depth]:
        rows = spoiled.flatten(1).any(1) if spoiled.dim() > 1 else spoiled
        if int(rows.sum()) != 1 or not bool(rows[place[depth]]):
            break
        spoiled, depth = spoiled[place[depth]], depth + 1
    return depth
