"""New inputs for timed calls, and whether the answer to one of them is right.

Worker side, jobs in the reference's process beside those of `akg_core.judge.reference.process`.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import mmap
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from akg_core.judge.compare.bits import changed, named
from akg_core.judge.records import TIMED, Draw
from akg_core.judge.reference import drawing, written
from akg_core.judge.reference.new_inputs import Renewal
from akg_core.judge.reference.prepare import CASES
from akg_core.seeds import following
from akg_core.task.arguments import flat, rebuilt
from akg_core.worker.layout import aligned
from akg_core.worker.tensors import TensorFileError, fresh, memory, receive, save
from akg_core.worker.threads import threads

_renewals: dict[int, Renewal] = {}
_numbers = itertools.count(1)
_HARD = 3  # sets of inputs whose rows are of many kinds


def renew_job(payload: dict[str, Any]) -> dict[str, Any]:
    """{count, seed, hard} → {file, step, given}: so many sets of new inputs for the first case, in a file.

    `given` describes the tensors of a set, each in as many `nbytes`; one set begins `step` bytes after the other.
    `hard`: their rows are of many kinds, as in the case that has such, if there is one; a few sets come again then.
    """
    reference, first = drawing.current(), first_case()
    if id(reference) not in _renewals:
        _renewals.clear()

        def draw(seed: int) -> list[Any]:
            return drawing.inputs_drawn(reference, first.model_copy(update={"seed": seed}))

        _renewals[id(reference)] = Renewal(draw, payload["seed"])
    renewal = _renewals[id(reference)]
    path = reference.folder / CASES / os.urandom(8).hex()
    step = sum(aligned(tensor["nbytes"]) for tensor in renewal.given)
    hard = _hard_sets(reference, payload["seed"], step) if payload["hard"] else []
    with path.open("wb") as file, threads(1):  # pieces that fit the caches are made faster without waking others
        for number in range(payload["count"]):
            if hard:
                file.write(hard[number % len(hard)])
            else:
                renewal.write(file)
        file.write(bytes(1))  # no file is empty, so that each can be mapped
    return {"file": str(path), "step": step, "given": renewal.given}


def forget() -> None:
    """Hold nothing of a reference."""
    _renewals.clear()


def _hard_sets(reference: drawing.Reference, seed: int, step: int) -> list[bytes]:
    """Sets of inputs, drawn anew, of the case whose rows are of many kinds; none where no case is like that."""
    case, sets = hard_case(reference), list[bytes]()
    for number in range(_HARD if case else 0):
        assert case
        written = io.BytesIO()
        Renewal.write_drawn(written, drawing.inputs_drawn(reference, case.model_copy(update={"seed": seed + number})))
        sets.append(written.getvalue())
    return sets if all(len(one) == step for one in sets) else []


def hard_case(reference: drawing.Reference) -> Draw | None:
    """The first case of the example's sizes whose rows are of many kinds, and hold numbers; None where none is."""
    alike = (draw for name, draw in reference.plans.items() if name in reference.deals and not draw.sizes)
    return next((draw for draw in alike if draw.kind == "rows" and not reference.deals[draw.name].sparse), None)


def check_job(payload: dict[str, Any]) -> dict[str, Any]:
    """{file, step, number, seed, outputs, place, longest_reduction} → as `compare_job`: of a call on the set `number`.

    `outputs` is the file of answers that a timekeeper has kept, `place` that of the call's in it.
    """
    reference = drawing.current()
    inputs = _given(reference, Path(payload["file"]), payload["number"] * payload["step"])
    answered = Path(payload["file"]).with_suffix(".answer")
    try:
        kept = receive(Path(payload["outputs"]))[payload["place"]]
        left = dict(zip(tensor_names(inputs), kept["arguments"], strict=True))
        names = first_case().case.left
        result, state = _apart(kept["result"], names)
        different = changed(named(inputs, reference.initial), left | state)
        save(answered, {"result": result, "changed": different})
        with as_case(inputs, following(payload["seed"], payload["number"]), left=names) as name:
            asked = {"name": name, "outputs": str(answered), "longest_reduction": payload["longest_reduction"]}
            return written.compare_job(asked | {"noise": True})
    except TensorFileError as error:
        return {"outputs": [], "unexpected": [], "error": str(error)}
    finally:
        answered.unlink(missing_ok=True)


def _apart(answer: Any, names: Sequence[str]) -> tuple[Any, dict[str, Any]]:
    """An answer, and what the call has left in the state of these names, which stands beside it where there are any."""
    match answer:
        case _ if not names:
            return answer, {}
        case (result, [*values]) if len(values) == len(names):
            return result, {f"state {name}": value for name, value in zip(names, values, strict=True)}
    raise TensorFileError("an answer is not beside what its call has left")


@contextlib.contextmanager
def as_case(inputs: list[Any], seed: int, *, left: Sequence[str] = ()) -> Iterator[str]:
    """Inside, a call on these inputs is one of the reference's cases: its name. `seed`: for random numbers; `left`: of
    the state that the call leaves, the names of what has been read."""
    reference, first = drawing.current(), first_case()
    name = f"timed, {next(_numbers)}"
    case = first.case.model_copy(update={"seeds": tuple(seed for _ in first.case.seeds), "left": tuple(left)})
    draw = first.model_copy(update={"name": name, "kind": TIMED, "case": case})
    reference.plans[name], reference.given[name] = draw, inputs
    try:
        yield name
    finally:
        for known in (reference.plans, reference.given, reference.expected, reference.noise, reference.runs):
            known.pop(name, None)


def first_case() -> Draw:
    """The case that is timed."""
    return next(iter(drawing.current().plans.values()))


def _given(reference: drawing.Reference, path: Path, offset: int) -> list[Any]:
    """The inputs of a set: its tensors, in a file at `offset`, in place of those of the first case."""
    like = fresh(drawing.inputs_drawn(reference, first_case()))
    with path.open("rb") as file:
        held = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    values = flat((), like)
    for place, value in enumerate(values):
        if isinstance(value, torch.Tensor):
            span = memory(value).numel()
            found = torch.frombuffer(held, dtype=value.dtype, count=span, offset=offset) if span else memory(value)
            values[place] = found.as_strided(value.shape, value.stride())
            offset += aligned(memory(value).nbytes)
    return rebuilt(like, values)


def tensor_names(inputs: list[Any]) -> list[str]:
    """Names of the tensors among the inputs, in the order of `flat`, as `named` has them."""
    return [name for name, value in named(inputs, {}).items() if isinstance(value, torch.Tensor)]
