"""A call of a model that is timed on a device by another process: the part that is done in the candidate's own.

The call is queued behind a wait for the start of its turn; then this process stands still, and what launching takes is
no part of the time. A call that cannot be queued, since it waits for the device itself, is made when its inputs are
there. Nothing here decides anything, nor measures a kernel: see `akg_core.judge.reference.turns_on_device`.
"""

from __future__ import annotations

from typing import Any

import torch

from akg_core.device import Lane
from akg_core.judge.candidate.timed_model import inputs_of
from akg_core.judge.compare.bits import flatten
from akg_core.records import Case, DeviceTurn
from akg_core.worker.answers import described
from akg_core.worker.tensors import load, placed

_address = torch.Tensor.data_ptr  # held since before a kernel was loaded
_lanes: dict[str, Lane] = {}
_inputs: dict[tuple[str, int, Any, Any], list[Any]] = {}
_results: list[Any] = []


def warm(subject: Any, case: Case) -> None:
    """Call the subject's model once, for what is done at first calls alone."""
    forget()
    subject.enter(case)
    subject.model(*load(inputs_of(case), subject.device))
    subject.device.synchronize()
    subject.device.release_unused()


def forget() -> None:
    """Hold no answer any more."""
    _results.clear()


def leave() -> None:
    """Give up the lane, and what lies in it."""
    forget()
    _inputs.clear()
    while _lanes:
        _lanes.popitem()[1].close()


def take_turn(subject: Any, case: Case, turn: DeviceTurn) -> dict[str, Any]:
    """Queue the call of a turn, or make it, and say what its answer is and where that lies."""
    lane, given = _placed(subject, case, turn)
    forget()
    if turn.apart:
        subject.enter(case)
    if case.seeds:
        torch.default_generator.manual_seed(case.seeds[0])
    subject.device.synchronize()
    if turn.queued:
        lane.await_start(turn.number)
        result = subject.model(*given)
        lane.tell_end(turn.number)
    elif turn.believed:
        seconds, result = subject.device.seconds(lambda: subject.model(*given))
        return {"seconds": seconds}
    else:
        result = subject.model(*given)
        subject.device.synchronize()
    _results.append(result)
    answer = described(result)
    places = (_address(leaf) for leaf in flatten(result).values() if isinstance(leaf, torch.Tensor))
    sizes = (tensor["nbytes"] for tensor in answer["tensors"])
    named = [lane.named(place, size) if size else {} for place, size in zip(places, sizes, strict=True)]
    return {"answer": answer, "named": named}


def _placed(subject: Any, case: Case, turn: DeviceTurn) -> tuple[Lane, list[Any]]:
    """The lane, and inputs whose tensors lie there; those of one subject and case at a time.

    The model is called on them once before. An allocator that asks for memory, or a kernel that is loaded, may wait for
    all that has been queued.
    """
    key = str(turn.lane)
    which = (key, id(subject), case.inputs, case.state)
    if key not in _lanes:
        _lanes.clear()
        _lanes[key] = subject.device.lane(turn.lane)
    if which not in _inputs:
        _inputs.clear()
        _inputs[which] = placed(inputs_of(case), [_lanes[key].memory[place:] for place in turn.places])
        subject.enter(case)
        subject.model(*_inputs[which])
    return _lanes[key], _inputs[which]
