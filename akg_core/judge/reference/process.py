"""The reference process: draws the cases, runs the reference on them, keeps its answers, compares others with them.

Worker side, one session a task. Inputs and states are written to files for the candidate; expected outputs never
leave this process's memory.
"""

from __future__ import annotations

import functools
import gc
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch

from akg_core.device import HOST
from akg_core.errors import TaskError, is_of_memory
from akg_core.judge.compare import accuracy
from akg_core.judge.compare.case import Expected, flatten
from akg_core.judge.records import Draw, Preparation, different
from akg_core.judge.reference import turns_on_device
from akg_core.judge.reference.answering import answer_case, forget, forget_large, is_random, seeded
from akg_core.judge.reference.beyond_guards import refusal
from akg_core.judge.reference.construction import made_by
from akg_core.judge.reference.drawing import Reference, State, current, drawn, every, keep, lay_out, plan, write
from akg_core.judge.reference.host_checks import checked
from akg_core.judge.reference.lacking import instead, is_lacking, with_fallbacks
from akg_core.judge.reference.least import least
from akg_core.judge.reference.locality import Locality, locality
from akg_core.judge.reference.lower_bound import longest_reduction
from akg_core.judge.reference.memory import (
    cases_that_fit,
    give_back_freed,
    keep_freed,
    keeping,
    nbytes,
    rationed,
)
from akg_core.judge.reference.memory_estimate import (
    await_room,
    bytes_of_outputs,
    bytes_on_device,
    is_large,
    may_want_rows,
    require_room,
)
from akg_core.judge.reference.prepare import CASES
from akg_core.judge.reference.schedule import Plan, calls, planned
from akg_core.records import Task
from akg_core.task.graph import held, pairs, replaced
from akg_core.task.inputs import draws, places
from akg_core.task.inputs.borders import borders
from akg_core.task.source.load import blame, load_source, sentence
from akg_core.worker import surroundings
from akg_core.worker.placement import device_at
from akg_core.worker.tensors import fresh

_CALLS_APART = 4  # in a row where each needs its state put back
_LAZY = ("disturbed", "drawn")  # kinds of which answers in float64 are mostly not needed

SEEDED = (
    "forward draws random numbers. Each call was given a seed, and judged exactly by the numbers that Philox makes of "
    "it, which are spread as PyTorch's own; the next call gets another seed."
)

_TIED = "every element of an output depends on which of equal values comes first"

Job = Callable[[dict[str, Any]], dict[str, Any]]


def open_job(payload: dict[str, Any]) -> dict[str, Any]:
    """{task, plugin?, target?, folder, seed, room?} → {draw}: load the reference and draw the case that is timed."""
    task, seed, device = Task(**payload["task"]), payload["seed"], device_at(payload)
    if room := payload.get("room"):
        await_room(device, min(room, bytes_on_device(task, room)))
    require_room(task, device)
    device.make_ready()
    surroundings.remember()
    records = task.interface.records
    module = load_source(task.source, task.name)
    module = replace(module, device=device.name, records=records, plain_results=records)
    module = replace(module, replaced=replaced(task.interface), pairs=pairs(task.interface), held=held(task.interface))
    model = module.model(made_by(task, seed), eval=not task.training)
    initial = {name: value.detach().clone() for name, value in every(model).items()}
    reference = Reference(task, device, module, model, initial, Path(payload["folder"]), seed)
    reference.held = borders(task).dtypes
    (reference.folder / CASES).mkdir(mode=0o300)
    keep(reference)
    draw = plan(reference, Plan("drawn", seed + 1, "initial", needed=True))
    reference.first = write(reference, draw)
    reference.keeps_freed = keeping(max(nbytes(reference.first[0]), bytes_of_outputs(task)))
    if reference.keeps_freed != "never":
        keep_freed()
    gc.freeze()  # who gives back what lies in cycles need not look through all that was loaded each time
    return {"draw": draw.model_dump(mode="json")}


def _frugal(job: Job) -> Job:
    """A job after which memory that nobody uses is free for others: a device's, and the host's where it is much."""

    @functools.wraps(job)
    def done(payload: dict[str, Any]) -> dict[str, Any]:
        try:
            return job(payload)
        finally:
            current().device.release_unused()
            if current().keeps_freed == "a case":
                give_back_freed()

    return done


@_frugal
def prepare_job(payload: dict[str, Any]) -> dict[str, Any]:
    """{room, simulated} → Preparation: answers for the first case and those that are due; see `schedule.planned`."""
    reference = current()
    task, device = reference.task, reference.device
    first = next(iter(reference.plans.values()))
    usable, notes, missing = [first], list[str](), list[str]()
    has_room = rationed(device, reference.expected)
    found = _answered_first(reference, first)
    most = cases_that_fit(task, device, payload["room"])
    keeps = first.name in reference.expected
    said = (task, reference.seed, reference.local, found.is_free, device, payload.get("simulated", False))
    asking = planned(*said, found.is_masked) if not found.random else ()
    for asked in asking:
        if most and len(usable) >= most:
            notes.append(f"Cases after {usable[-1].name} were left out: the device has no memory for more.")
            break
        try:
            draw = _try(reference, asked, keeps and asked.kind not in _LAZY)
        except MemoryError as error:
            missing.append(str(error))
            continue
        if isinstance(draw, Draw):
            usable.append(draw)
            (forget_large if keeps and has_room() else forget)(reference, draw.name)
        else:
            notes.append(draw)
    if reference.unsettled.get(first.name) == 1:
        missing.append(f"{first.name} ({_TIED})")
    count = calls(task, found.input_bytes, found.output_bytes, device) if not found.apart else _CALLS_APART
    return Preparation(
        draws=tuple(usable),
        series=(first, *_series(reference, first, {draw.name for draw in usable}, different(count) - 1)),
        calls=count,
        apart=found.apart,
        random=found.random,
        eager_seconds=found.eager_seconds,
        longest_reduction=longest_reduction(task),
        input_bytes=found.input_bytes,
        output_bytes=found.output_bytes,
        minimum_bytes=found.minimum[0],
        operations=found.minimum[1],
        notes=(*notes, *_notes(reference, found.random)),
        missing=tuple(missing),
    ).model_dump(mode="json")


class _First(NamedTuple):
    """What answering the first case shows. `minimum`: bytes and operations; `is_free`: as of `draws`; `is_masked`: as
    of `places`; `apart`: each call needs its state put back."""

    random: bool
    eager_seconds: float
    minimum: tuple[int, float]
    input_bytes: int
    output_bytes: int
    apart: bool
    is_free: bool
    is_masked: bool


def _answered_first(reference: Reference, first: Draw) -> _First:
    """Answer the first case, and find out which rows are apart; a large answer is made again when it is compared."""
    task, device = reference.task, reference.device
    values, reference.first = reference.first or drawn(reference, first), None
    is_late = may_want_rows(task, device)  # float64 waits until it is known which rows are apart
    with blame(task.name, "forward"):
        try:
            answer_case(reference, first, *values, precise=not is_late)
        except RuntimeError as error:
            if not is_lacking(error):
                raise
            reference.lacking = f"{instead(error)}: {sentence(error)}"
            reference.model = with_fallbacks(reference.model)
            answer_case(reference, first, *values, precise=not is_late)
    random = is_random(reference, first, *values)
    eager_seconds = reference.eager_seconds
    answer = reference.expected[first.name]
    output_bytes, input_bytes, apart = nbytes(answer.tensors()), nbytes(values[0]), bool(answer.changed)
    minimum = least(task, values[0], reference.initial | values[1])
    reference.is_large = device.name != HOST.name and is_large(input_bytes, output_bytes)
    reference.local = Locality() if random else _locality(reference, first, *values)
    if is_late and not random:
        del answer
        forget(reference, first.name)
        with blame(task.name, "forward"):
            answer_case(reference, first, *values)
    is_free, is_masked = draws.is_free(values[0]), places.is_masked(values[0])
    forget_large(reference, first.name)
    return _First(random, eager_seconds, minimum, input_bytes, output_bytes, apart, is_free, is_masked)


def _notes(reference: Reference, random: bool) -> list[str]:
    """What is to be said of a reference's answers."""
    notes = []
    if reference.narrow:
        notes.append(
            f"The reference does not run in float64 ({reference.narrow}); outputs are compared with eager at "
            "KernelBench's tolerance."
        )
    if reference.lacking:
        notes.append(f"Eager PyTorch lacks an operator here, which computed {reference.lacking}.")
    if reference.unsettled:
        notes.append(_unsettled(reference.unsettled))
    if reference.task.interface.seeded and not random:
        notes.append(SEEDED)
    return notes


@torch.no_grad()
def lay_out_job(payload: dict[str, Any]) -> dict[str, Any]:
    """{} → {}: have the cases' files hold, for another kernel, what a time of the last one has taken back."""
    lay_out(current())
    return {}


@torch.no_grad()
def rest_job(payload: dict[str, Any]) -> dict[str, Any]:
    """{for_good} → {}: give back the memory of the device that nobody uses; `for_good`: that of the cases, too."""
    reference = current()
    if payload["for_good"]:
        turns_on_device.forget()
        reference.device.take_back()
        reference.expected.clear()
        reference.noise.clear()
    reference.device.release_unused()
    return {}


def _unsettled(shares: dict[str, float]) -> str:
    """What is said of elements that nobody can judge, by the share of an output that they are in each case."""
    share, name = max((share, name) for name, share in shares.items())
    return (
        "Elements that depend on which of equal values comes first, or on which of several writes to a place stays, "
        "which PyTorch leaves open, were not counted: in "
        f"{len(shares)} case{'s' * (len(shares) > 1)}, most in {name}, up to {share:.0%} of an output."
    )


def _try(reference: Reference, asked: Plan, precise: bool) -> Draw | str:
    """A case with its answer; a sentence when the reference cannot take it, or nothing of its answer can be compared.

    Unless `precise` it has none in float64 yet, which takes most of the time and is made where eager's does not do.
    Raises MemoryError when there is too little for a case that is needed.
    """
    draw = plan(reference, asked)
    try:
        given = write(reference, draw)
        if draw.beyond and (why := refusal(reference, fresh(given[0]))):
            reference.refused[draw.name] = why
            return draw
        answer_case(reference, draw, *given, precise=precise)
        answered = reference.expected[draw.name]
        if _is_comparable(answered) and (draw.kind not in places.KINDS or draws.finite(answered.result.values())):
            return draw
        reason = f"The reference has no answer to compare with for {draw.name}."
    except Exception as error:
        said = error.message.rstrip(".") if isinstance(error, TaskError) else sentence(error)
        if asked.needed and is_of_memory(error):
            raise MemoryError(f"{draw.name} ({said})") from None
        reason = f"The reference does not take {draw.name} ({said})."
    reference.expected.pop(draw.name, None)
    reference.deals.pop(draw.name, None)  # no timed call is given rows like these
    shutil.rmtree(draw.case.outputs.parent, ignore_errors=True)
    return reason


def _is_comparable(expected: Expected) -> bool:
    """Whether eager and float64 agree of any element which numbers are finite."""
    pairs = [(e, (expected.exact or {}).get(name, e)) for name, e in expected.result.items()]
    floats = [(e, r) for e, r in pairs if isinstance(e, torch.Tensor) and e.is_floating_point() and e.numel()]
    return not floats or any(bool(accuracy.same_kind(e, r).any()) for e, r in floats)


def _locality(reference: Reference, draw: Draw, inputs: list[Any], state: State) -> Locality:
    def answer(given: list[Any]) -> dict[str, Any]:
        reference.restore(state)
        with torch.no_grad(), seeded(reference, draw), checked(reference.device.name):
            return flatten(reference.model(*given))

    return locality(answer, inputs, reference.expected[draw.name].result)


def _series(reference: Reference, first: Draw, known: set[str], count: int) -> Iterator[Draw]:
    """Other inputs for a row of calls, with the state of the first case; answered when they are compared.

    The first of them differ from the first case's in one row alone, which neither sums nor samples tell. Where memory
    did not do for that case, they are those of one that is prepared.
    """
    others = [draw for draw in reference.plans.values() if draw.name in known - {first.name} and not draw.sizes]
    disturbed = [draw for draw in others if draw.kind == "disturbed"]
    borrowed = disturbed or [
        draw if draw.state == "none" else _in_state_of(reference, first, draw, f"{draw.name}, again")
        for draw in others[:1]
    ]
    yield from borrowed[:count]
    plain = any(draw.kind == "signed" for draw in others)
    for number in range(count - len(borrowed)):
        draw = plan(reference, Plan("signed" if plain else "drawn", reference.seed + 40 + number, "initial"))
        draw = _in_state_of(reference, first, draw, draw.name)
        write(reference, draw)
        yield draw


def _in_state_of(reference: Reference, first: Draw, draw: Draw, name: str) -> Draw:
    """A case of this name, on the inputs of `draw`, with the state of the first one."""
    case = draw.case.model_copy(update={"name": name, "state": first.case.state})
    reference.plans[name] = draw.model_copy(update={"name": name, "state": first.state, "case": case})
    if draw.name in reference.deals:
        reference.deals[name] = reference.deals[draw.name]
    if draw.name in reference.given:
        reference.given[name] = reference.given[draw.name]
    return reference.plans[name]
