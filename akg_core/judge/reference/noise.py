"""How far rounding noise moves the reference's answers in float64: step 3 of the accuracy policy.

Worker side, in the reference process. Where few rows are in doubt and the reference never combines rows, it runs on
these alone.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch

from akg_core.dtypes import DTYPES, is_float
from akg_core.errors import OutOfMemory
from akg_core.judge.compare import accuracy
from akg_core.judge.compare.case import Expected, Noise
from akg_core.judge.records import Draw
from akg_core.judge.reference.answering import answer_in_double, of_inputs, separable
from akg_core.judge.reference.by_rows import NotApart, parts, picked
from akg_core.judge.reference.drawing import Reference, State, drawn
from akg_core.judge.reference.memory import answer_bytes, is_kept, lent
from akg_core.records import Task
from akg_core.worker.threads import threads
from akg_core.worker.usage import cores

_AT_ONCE = 1 << 27  # elements that are compared
_FEW = 4  # times as many rows as are in doubt, and more, make it worth to pick these


def noise_of(
    reference: Reference, draw: Draw, reduced: float, runs: int, rows: torch.Tensor | None = None
) -> Noise | None:
    """How far rounding noise moves each element of each floating leaf from float64, at most, over so many runs; and
    what it makes of elements of leaves of whole numbers.

    Only elements in `rows` of the first dimension, where given, need to be told: of few, others may be left at 0.
    """
    done, scatter = reference.runs.get(draw.name, 0), reference.noise.setdefault(draw.name, {})
    if done >= runs:
        return scatter
    expected = reference.expected[draw.name]
    narrow = _floats(expected.result) or _arguments(reference.task)
    if expected.exact is None or not narrow:
        return None
    size = max(accuracy.roundoff(dtype) * accuracy.slack(reduced, dtype).noise for dtype in narrow)
    if rows is not None and (of_rows := _of_rows(reference, draw, size, runs, rows)):
        return of_rows
    # What is kept would lie in the midst of freed memory, of which nothing large could be made any more.
    make_room = (lambda: None) if is_kept(expected, reference.device) else reference.device.release_unused
    with threads(cores()):
        make_room()
        inputs, state = drawn(reference, draw)
        for run in range(done, runs):
            make_room()
            for part, noisy in _with_noise(reference, draw, inputs, state, size, run):
                _widen(scatter, noisy, expected, part)
    reference.runs[draw.name] = runs
    return scatter


def _floats(result: dict[str, Any]) -> list[torch.dtype]:
    return [leaf.dtype for leaf in result.values() if isinstance(leaf, torch.Tensor) and leaf.is_floating_point()]


def _arguments(task: Task) -> list[torch.dtype]:
    """Of floating arguments and parameters, which a task of whole numbers reads."""
    kinds = {each.dtype for each in task.interface.arguments} | {each.dtype for each in task.interface.parameters}
    return [getattr(torch, DTYPES[kind].torch) for kind in sorted(kinds & DTYPES.keys()) if is_float(kind)]


def _of_rows(reference: Reference, draw: Draw, size: float, runs: int, rows: torch.Tensor) -> Noise | None:
    """What so many runs on some rows alone show, 0 elsewhere; None where rows are not apart, or these are not few."""
    expected = reference.expected[draw.name]
    exact = expected.exact or {}
    local = separable(reference, expected.changed)
    due: dict[str, Any] = {name: exact.get(name) for name in of_inputs(reference, expected.result)}
    count = max((len(v) for v in due.values() if isinstance(v, torch.Tensor) and v.dim()), default=0)
    if not local.depth or _FEW * len(rows) > count:
        return None

    def precisely(given: list[Any]) -> dict[str, Any]:
        return answer_in_double(reference, draw, given, state) or {}

    with threads(cores()), contextlib.suppress(NotApart, OutOfMemory):
        inputs, state = drawn(reference, draw)
        given = picked(local, inputs, rows, precisely, due)
        del inputs
        part = replace(expected, exact={n: v[rows] for n, v in due.items()})
        scatter: Noise = {}
        for run in range(runs):
            noisy = answer_in_double(reference, draw, given, state, size, run) or {}
            _widen(scatter, {name: noisy[name] for name in due}, part, slice(None))
        return {name: _spread(moved, due[name], rows) for name, moved in scatter.items()}
    return None


def _spread(moved: torch.Tensor, due: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """A flat tensor as long as `due`, with what is `moved` at some rows of it; of whole numbers, these and where."""
    if not due.is_floating_point():
        width = max(1, math.prod(due.shape[1:]))
        return torch.stack((rows[moved[0] // width] * width + moved[0] % width, moved[1]))
    whole = torch.zeros(due.numel(), dtype=moved.dtype, device=due.device)
    whole.view(due.shape)[rows] = moved.view(len(rows), *due.shape[1:])
    return whole


def _with_noise(
    reference: Reference, draw: Draw, inputs: list[Any], state: State, noise: float, seed: int
) -> Iterator[tuple[slice, dict[str, Any]]]:
    """What `answer_in_double` says, and of which rows: of all, or where a device has too little memory for that, of
    some each time; where rows are not apart, answers wait on the host until it has run."""
    with contextlib.suppress(OutOfMemory):
        whole = answer_in_double(reference, draw, inputs, state, noise, seed) or {}
        yield slice(None), whole
        return
    reference.device.release_unused()
    expected, scatter = reference.expected[draw.name], reference.noise[draw.name]
    exact = {name: (expected.exact or {}).get(name) for name in of_inputs(reference, expected.result)}

    def precisely(given: list[Any]) -> dict[str, Any]:
        return answer_in_double(reference, draw, given, state) or {}

    with contextlib.suppress(OutOfMemory, NotApart):
        for rows, given in parts(
            separable(reference, expected.changed), inputs, answer_bytes(expected), precisely, exact
        ):
            noisy = answer_in_double(reference, draw, given, state, noise, seed) or {}
            yield rows, {name: noisy[name] for name in exact}
        return
    with lent([*expected.result.values(), *exact.values(), *scatter.values()]):
        reference.device.release_unused()
        whole = answer_in_double(reference, draw, inputs, state, noise, seed) or {}
    yield slice(None), whole


def _widen(scatter: Noise, noisy: dict[str, Any], expected: Expected, rows: slice) -> None:
    """Take in how far a run with noise, of these rows, lies from one without."""
    exact = expected.exact or {}
    for name, value in noisy.items():
        due = exact.get(name)
        if not (isinstance(value, torch.Tensor) and isinstance(due, torch.Tensor)):
            continue
        if not value.is_floating_point():
            _take_in(scatter, name, value, due, rows)
            continue
        width = accuracy.width_of((expected.result | expected.changed)[name])
        if name not in scatter:
            scatter[name] = torch.zeros(due.numel(), dtype=width, device=due.device)
        known = scatter[name]
        known, due = (known.view(due.shape)[rows], due[rows]) if due.dim() else (known.view(()), due)
        _raise_to(known, value, due)


def _take_in(scatter: Noise, name: str, value: torch.Tensor, due: torch.Tensor, rows: slice) -> None:
    """Note the places, in all of a leaf, where noise gives other whole numbers, and these."""
    start = (rows.start or 0) * math.prod(due.shape[1:])
    part = due[rows] if due.dim() else due
    if value.shape != part.shape or value.is_complex():
        return
    places = (value != part).reshape(-1).nonzero().flatten()
    found = torch.stack((places + start, value.reshape(-1)[places].long()))
    scatter[name] = torch.cat((scatter[name], found), 1) if name in scatter else found


def _raise_to(known: torch.Tensor, value: torch.Tensor, due: torch.Tensor) -> None:
    """Make what is known of how far noise moves as large as it is here, piece by piece: beside both is little room."""
    width = known.dtype
    pieces = (flat.reshape(-1).split(_AT_ONCE) for flat in (known, value, due))
    for most, one, other in zip(*pieces, strict=True):
        moved = (one.double() - other).abs_().masked_fill_(one.isnan() ^ other.isnan(), math.inf)
        moved.nan_to_num_(0.0, posinf=math.inf)
        if width != torch.float64:  # what is too large for it is not infinite
            moved = torch.where(moved.isinf(), moved, moved.clamp(max=torch.finfo(width).max)).to(width)
        torch.maximum(most, moved, out=most)
