"""What a candidate wrote of a case, or of calls in a row, compared with the reference's answers.

Worker side, jobs in the reference process beside those of `akg_core.judge.reference.process`. Numbers are looked at
only where structure, dtype and shape are those that are due.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch

from akg_core.judge.compare.bits import fingerprint, named, same_bits
from akg_core.judge.compare.case import Expected, compare, fits
from akg_core.judge.compare.sharing import unwanted
from akg_core.judge.records import TIMED, Draw, OutputComparison
from akg_core.judge.reference.answering import expected_of, forget_large
from akg_core.judge.reference.beyond_guards import answered
from akg_core.judge.reference.drawing import Reference, current, drawn
from akg_core.judge.reference.near_eager import near
from akg_core.judge.reference.noise import noise_of
from akg_core.worker.tensors import TensorFileError, receive

_UNREADABLE = (TensorFileError, TypeError, LookupError, ValueError)


class Answer(NamedTuple):
    """What a call gave, what it changed, and in whose memory it lies, as far as that is known."""

    result: Any
    changed: dict[str, Any]
    shares: Sequence[tuple[str, str]] = ()


@torch.no_grad()
def compare_job(payload: dict[str, Any]) -> dict[str, Any]:
    """{name, outputs, longest_reduction, noise} → {outputs: [OutputComparison], unexpected, error}.

    `outputs`: the file that a candidate wrote for the case `name`; `unexpected`: what it changed and the reference does
    not. Without `noise` the costly third step of the accuracy policy is left out: the kernel is known to be wrong.
    """
    torch.set_num_threads(1)  # pieces that fit the caches are compared faster without waking threads
    reference = current()
    try:
        answer = _read(reference, payload["outputs"])
    except _UNREADABLE as error:
        return {"outputs": [], "unexpected": [], "error": str(error)}
    name = payload["name"]
    found = compare_answer(name, answer, payload["longest_reduction"], payload["noise"])
    if name == next(iter(reference.plans)):
        reference.fingerprints.clear()  # they are another candidate's
    if reference.is_large and not found["unexpected"] and all(output["ok"] for output in found["outputs"]):
        reference.fingerprints[name] = fingerprint([*answer], reference.key)
    return found


@torch.no_grad()
def compare_answer(name: str, answer: Answer, longest_reduction: float, noise: bool) -> dict[str, Any]:
    """What `compare_job` gives, of an answer to the case `name`, which is in memory."""
    reference = current()
    try:
        return _compared(reference, name, answer, longest_reduction, noise)
    finally:
        forget_large(reference, name)


@torch.no_grad()
def compare_calls_job(payload: dict[str, Any]) -> dict[str, Any]:
    """{calls: [{name, outputs}], longest_reduction, noise} → what `compare_job` gives, with {call, same}.

    That is of a wrong `call`, or of the last. Answers of the same bits are compared once; `same`: whether all calls on
    the same inputs, with that of the case itself where tensors are large, gave the same. One of the inputs comes after
    the other, so that no more than its answers are held.
    """
    torch.set_num_threads(1)
    by_name: dict[str, list[tuple[int, str]]] = {}
    for number, call in enumerate(payload["calls"]):
        by_name.setdefault(call["name"], []).append((number, call["outputs"]))
    same = True
    for name, calls in by_name.items():
        found, distinct = _compared_calls(name, calls, payload["longest_reduction"], payload["noise"])
        forget_large(current(), name)
        if found["error"]:
            return found | {"same": None}
        same = same and distinct == 1
        if found["unexpected"] or not all(output["ok"] for output in found["outputs"]):
            break
    return found | {"same": same}


def _compared_calls(
    name: str, calls: Sequence[tuple[int, str]], reduced: float, with_noise: bool
) -> tuple[dict[str, Any], int]:
    """What `compare_calls_job` says of calls, by number and file, on one case's inputs; how many answers differ."""
    reference, known = current(), list[Any]()
    if name in reference.fingerprints:
        known.append(reference.fingerprints[name])
    found: dict[str, Any] = {"outputs": [], "unexpected": [], "error": "", "call": calls[0][0]}
    for number, outputs in calls:
        try:
            given = _read(reference, outputs)
        except _UNREADABLE as error:
            return {"outputs": [], "unexpected": [], "error": str(error), "call": number}, len(known)
        is_fit = fits(given.result, expected_of(reference, reference.plans[name], precise=False))
        one = fingerprint([*given], reference.key) if reference.is_large else given
        if is_fit and any(same_bits(other, one) for other in known):
            continue
        known.append(one)
        found = _compared(reference, name, given, reduced, with_noise) | {"call": number}
        if found["unexpected"] or not all(output["ok"] for output in found["outputs"]):
            break
    return found, len(known)


def _read(reference: Reference, outputs: str) -> Answer:
    """An answer, from the file that a candidate wrote."""
    written = receive(Path(outputs), reference.device)
    shares = [(str(name), str(other)) for name, other in written.get("shares", ())]
    return Answer(written["result"], {**written["changed"]}, shares)


def _due(draw: Draw, expected: Expected) -> Expected:
    """What a case must show: of a call that was timed, of what it leaves in the module only what has been read."""
    if draw.kind != TIMED:
        return expected
    read = {f"state {name}" for name in draw.case.left}
    asked = {n: value for n, value in expected.changed.items() if n in read or not n.startswith("state ")}
    return replace(expected, changed=asked)


def _before(reference: Reference, draw: Draw, name: str) -> Any:
    """What an argument, or what the state has of this name, holds before the call on a case."""
    inputs, state = drawn(reference, draw)
    return named(inputs, reference.initial | state).get(name)


def _compared(reference: Reference, name: str, answer: Answer, reduced: float, with_noise: bool) -> dict[str, Any]:
    result, changed, shares = answer
    if name in reference.refused:
        return answered(reference.refused[name])
    draw = reference.plans[name]
    expected = _due(draw, expected_of(reference, draw, precise=False))
    found = near(result, changed, expected, reduced) if expected.exact is None and not reference.narrow else None
    if found is None:
        del expected  # before it is made anew with float64
        expected = _due(draw, expected_of(reference, draw))
        noise = functools.partial(noise_of, reference, draw, reduced) if with_noise else lambda *_: None
        found = compare(result, changed, expected, reduced, noise, functools.partial(_before, reference, draw))
    if expected.shares is not None and (pair := unwanted(shares, expected.shares)):
        found.append(OutputComparison(name=pair[0], ok=False, reason=pair[1]))
    return {
        "outputs": [comparison.model_dump(mode="json") for comparison in found],
        "unexpected": sorted(set(changed) - set(expected.changed)),
        "error": "",
    }
