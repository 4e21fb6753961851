"""The reference process: draws the cases, runs the reference on them, keeps its answers, compares others with them.

Worker side, one session a task. Inputs and states are written to files for the candidate; expected outputs never
leave this process's memory.
"""

from __future__ import annotations

import functools
import gc
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from akg_core.errors import TaskError
from akg_core.judge import accuracy
from akg_core.judge.bits import changed, named, same_bits
from akg_core.judge.compare import Expected, Noise, alike, compare, flatten
from akg_core.judge.memory import is_kept, keep_freed, nbytes, rationed
from akg_core.judge.need import await_room, bytes_on_device, bytes_to_answer, require_room
from akg_core.judge.precise import double_model, doubled, in_double
from akg_core.judge.prepare import CASES
from akg_core.judge.records import Draw, Preparation, StateKind
from akg_core.judge.ties import ties
from akg_core.judge.work import least, longest_reduction
from akg_core.records import Case, Task
from akg_core.task import draws
from akg_core.task.load import ReferenceModule, blame, line_of, load_source, sentence
from akg_core.worker.device import HOST, Device, device_at
from akg_core.worker.tensors import TensorFileError, fresh, load, save
from akg_core.worker.threads import threads
from akg_core.worker.usage import cores

_SMALL_BYTES = 256 << 20  # of inputs, up to which several times as much may be kept for the next case
_FEWEST = 3  # cases that are prepared however long they take
_OF_DTYPES = re.compile(
    r"\bdtype|scalar type|\b(float(16|32|64)?|bfloat16|half|double|int(8|16|32|64))\b", re.IGNORECASE
)

State = dict[str, torch.Tensor]
Job = Callable[[dict[str, Any]], dict[str, Any]]


@dataclass
class _Reference:
    """What the process keeps between calls. `initial`: the state that the constructor leaves.

    `first`: inputs and state of the first case, from when they are drawn until the reference has answered. `noise`: by
    case, what so many `runs` have shown; `narrow`: why the reference does not run in float64.
    """

    task: Task
    device: Device
    module: ReferenceModule
    model: nn.Module
    initial: State
    folder: Path
    seed: int
    first: tuple[list[Any], State] | None = None
    plans: dict[str, Draw] = field(default_factory=dict)
    expected: dict[str, Expected] = field(default_factory=dict)
    noise: dict[str, Noise] = field(default_factory=dict)
    runs: dict[str, int] = field(default_factory=dict)
    narrow: str = ""
    eager_seconds: float = 0.0
    exact_seconds: float = 0.0

    def restore(self, state: State) -> None:
        """Put the module into a state, buffers that no state dict holds included."""
        with torch.no_grad():
            for name, value in _state(self.model).items():
                value.copy_(state.get(name, self.initial[name]))


_kept: list[_Reference] = []


def open_job(payload: dict[str, Any]) -> dict[str, Any]:
    """{task, plugin?, target?, folder, seed, room?} → {draw}: load the reference and draw the case that is timed."""
    task, seed, device = Task(**payload["task"]), payload["seed"], device_at(payload)
    if room := payload.get("room"):
        await_room(device, min(room, bytes_on_device(task, room)))
    require_room(task, device)
    module = replace(load_source(task.source, task.name), device=device.name)
    model = module.model(0, eval=not task.training)
    initial = {name: value.detach().clone() for name, value in _state(model).items()}
    reference = _Reference(task, device, module, model, initial, Path(payload["folder"]), seed)
    (reference.folder / CASES).mkdir(mode=0o300)
    _kept[:] = [reference]
    draw = _plan(reference, "drawn", seed + 1, "initial", {})
    reference.first = _write(reference, draw)
    if nbytes(reference.first[0]) < _SMALL_BYTES:
        keep_freed()
    gc.freeze()  # who gives back what lies in cycles need not look through all that was loaded each time
    return {"draw": draw.model_dump(mode="json")}


def _frugal(job: Job) -> Job:
    """A job after which memory of the device that nobody uses is free for others."""

    @functools.wraps(job)
    def done(payload: dict[str, Any]) -> dict[str, Any]:
        try:
            return job(payload)
        finally:
            _kept[0].device.release_unused()

    return done


@_frugal
def prepare_job(payload: dict[str, Any]) -> dict[str, Any]:
    """{seconds, room} → Preparation: answers for the first case, and for as many others as fit; see `rationed`."""
    reference, began, room = _kept[0], time.monotonic(), payload["room"]
    first = next(iter(reference.plans.values()))
    usable, notes = [first], []
    values, reference.first = reference.first or _drawn(reference, first), None
    with blame(reference.task.name, "forward"):
        _answer(reference, first, *values)
    has_room = rationed(reference.task, reference.device, room, reference.expected)
    random = _is_random(reference, first, *values)
    eager_seconds = reference.eager_seconds
    minimum_bytes, minimum_operations = least(reference.task, values[0], reference.initial | values[1])
    output_bytes = nbytes(reference.expected[first.name].tensors())
    del values
    _forget_large(reference, first.name)
    keeps = first.name in reference.expected
    for kind, seed, state, sizes in _schedule(reference):
        due = 0.0 if keeps else len(usable) * reference.exact_seconds  # that making answers again will take
        late = time.monotonic() - began + due > payload["seconds"] and len(usable) >= _FEWEST
        if late or (len(usable) > 1 and not has_room(len(usable))):
            notes.append(f"Cases after {usable[-1].name} were left out to keep time and memory.")
            break
        draw = _try(reference, kind, seed, state, sizes, keeps)
        if isinstance(draw, Draw):
            usable.append(draw)
            (_forget_large if keeps else _forget)(reference, draw.name)
        else:
            notes.append(draw)
    if reference.narrow:
        notes.append(
            f"The reference does not run in float64 ({reference.narrow}); outputs are compared with eager at "
            "KernelBench's tolerance."
        )
    return Preparation(
        draws=tuple(usable),
        random=random,
        eager_seconds=eager_seconds,
        longest_reduction=longest_reduction(reference.task),
        output_bytes=output_bytes,
        minimum_bytes=minimum_bytes,
        operations=minimum_operations,
        notes=tuple(notes),
    ).model_dump(mode="json")


def compare_job(payload: dict[str, Any]) -> dict[str, Any]:
    """{name, outputs, longest_reduction, noise, same_as?} → {outputs: [OutputComparison], unexpected, same, error}.

    `outputs` is the file that a candidate wrote for the case `name`. `unexpected` are arguments and state that it
    changed and the reference does not; `same`: whether the file `same_as` holds the same bits. Without `noise` the
    costly third step of the accuracy policy is left out: the caller knows already that the kernel is wrong.
    """
    torch.set_num_threads(1)  # pieces that fit the caches are compared faster without waking threads
    reference, name = _kept[0], payload["name"]
    expected, device = _expected(reference, reference.plans[name]), reference.device
    try:
        written = load(Path(payload["outputs"]), device)
        result, touched = written["result"], dict(written["changed"])
        same = same_bits(load(Path(payload["same_as"]), device)["result"], result) if payload.get("same_as") else None
    except (TensorFileError, TypeError, LookupError, ValueError) as error:
        return {"outputs": [], "unexpected": [], "same": None, "error": str(error)}
    reduced = payload["longest_reduction"]
    noise = functools.partial(_noise, reference, reference.plans[name], reduced) if payload["noise"] else lambda _: None
    found = compare(result, touched, expected, reduced, noise)
    _forget_large(reference, name)
    return {
        "outputs": [comparison.model_dump(mode="json") for comparison in found],
        "unexpected": sorted(set(touched) - set(expected.changed)),
        "same": same,
        "error": "",
    }


def rest_job(payload: dict[str, Any]) -> dict[str, Any]:
    """{for_good} → {}: give back the memory of the device that nobody uses; `for_good`: that of the cases, too."""
    reference = _kept[0]
    if payload["for_good"]:
        reference.device.take_back()
        reference.expected.clear()
        reference.noise.clear()
    reference.device.release_unused()
    return {}


def _schedule(reference: _Reference) -> Iterator[tuple[str, int, StateKind, dict[str, int]]]:
    """Kind, seed, state and sizes of the cases after the first, those that find most coming early."""
    hidden = draws.hidden_sizes(reference.task, reference.seed)
    seed = reference.seed + 2
    yield "signed", seed, "redrawn", {}
    yield from (("drawn", seed + 1, "redrawn", sizes) for sizes in hidden[:2])
    yield "disturbed", reference.seed + 1, "initial", {}  # the first case's own seed
    yield "cancelling", seed + 2, "redrawn", {}
    yield "large", seed + 3, "redrawn", {}
    yield "constant_rows", seed + 4, "initial", {}
    yield "small", seed + 5, "redrawn", {}
    yield "drawn", seed + 6, "redrawn", {}
    yield from (("signed", seed + 7, "redrawn", sizes) for sizes in hidden[2:])


def _try(
    reference: _Reference, kind: str, seed: int, state: StateKind, sizes: dict[str, int], keeps: bool
) -> Draw | str:
    """A case of this kind with its answer; a sentence when the reference cannot take it or answers infinities.

    Where no answers are kept it has none in float64 yet, which takes most of the time and is made when it is compared.
    """
    draw = _plan(reference, kind, seed, state, sizes)
    try:
        _answer(reference, draw, *_write(reference, draw), precise=keeps)
        expected = reference.expected[draw.name]
        if draws.finite([*expected.result.values(), *(expected.exact or {}).values()]):
            return draw
        reason = f"The reference has no finite answer for {draw.name}."
    except Exception as error:
        said = error.message.rstrip(".") if isinstance(error, TaskError) else sentence(error)
        reason = f"The reference does not take {draw.name} ({said})."
    reference.expected.pop(draw.name, None)
    shutil.rmtree(draw.case.outputs.parent, ignore_errors=True)
    return reason


def _plan(reference: _Reference, kind: str, seed: int, state: StateKind, sizes: dict[str, int]) -> Draw:
    """A case by what it is drawn from; its files are written by `_write`."""
    state = state if reference.initial else "none"
    name = _name(kind, state, sizes)
    name += f", seed {seed}" if name in reference.plans else ""
    folder = reference.folder / CASES / os.urandom(8).hex()
    case = Case(
        name=name,
        inputs=folder / "inputs",
        outputs=folder / "outputs",
        state=folder / "state" if state != "none" else None,
        reference=reference.folder / "reference.py",
        training=reference.task.training,
        poison=seed,
    )
    reference.plans[name] = Draw(name=name, kind=kind, seed=seed, state=state, sizes=sizes, case=case)
    return reference.plans[name]


def _drawn(reference: _Reference, draw: Draw) -> tuple[list[Any], State]:
    """The inputs and the state of a case, drawn anew: the files lie where a candidate might reach them.

    Both come from different seeds, lest weights correlate with inputs.
    """
    task, module = reference.task, reference.module
    state: State = {}
    reference.restore({})
    if draw.state == "initial":
        state = {name: value.detach().clone() for name, value in reference.model.state_dict().items()}
    elif draw.state == "redrawn":
        state = draws.redraw_state(reference.model, 1000 + draw.seed)
    if task.symbols:
        sizes = draw.sizes or task.symbols
        return draws.resized(module, task.interface, sizes, draw.seed, draw.kind), state
    return draws.inputs(module, draw.seed, draw.kind, task.interface), state


def _write(reference: _Reference, draw: Draw) -> tuple[list[Any], State]:
    """Write the files that the candidate reads, and give what is in them."""
    inputs, state = _drawn(reference, draw)
    draw.case.outputs.parent.mkdir()
    save(draw.case.outputs.with_name("inputs"), inputs, reference.device)
    if draw.case.state:
        save(draw.case.state, state, reference.device)
    return inputs, state


def _name(kind: str, state: str, sizes: dict[str, int]) -> str:
    parts = [kind.replace("_", " ")]
    parts += ["redrawn parameters"] * (state == "redrawn")
    parts += [f"{name}={size}" for name, size in sizes.items()]
    return ", ".join(parts)


def _answer(reference: _Reference, draw: Draw, inputs: list[Any], state: State, precise: bool = True) -> None:
    """Run the reference on a case, by eager PyTorch and when `precise` in float64, and keep what comes out."""
    reference.restore(state)
    arguments = fresh(inputs)
    torch.manual_seed(draw.seed)
    with torch.no_grad():
        reference.eager_seconds, answer = reference.device.seconds(functools.partial(reference.model, *arguments))
    result = flatten(fresh(answer))
    touched = fresh(changed(named(inputs, state), named(arguments, reference.model.state_dict())))
    del answer, arguments
    exact = None
    if precise:
        reference.exact_seconds, exact = reference.device.seconds(lambda: _exact(reference, draw, inputs, state))
    if exact is not None:
        exact = {name: exact[name] for name in (*result, *touched) if name in exact}
    reference.expected[draw.name] = Expected(result, touched, exact, ties(reference.task, result, inputs))


def _expected(reference: _Reference, draw: Draw) -> Expected:
    """The answer to a case: the one that is kept, or made again."""
    if draw.name not in reference.expected:
        await_room(reference.device, bytes_to_answer(reference.task))
        _answer(reference, draw, *_drawn(reference, draw))
    return reference.expected[draw.name]


def _forget_large(reference: _Reference, name: str) -> None:
    """Give up an answer that is not to be kept."""
    if name in reference.expected and not is_kept(reference.expected[name], reference.device):
        _forget(reference, name)


def _forget(reference: _Reference, name: str) -> None:
    """Give up an answer, which is made again when it is compared."""
    for known in (reference.expected, reference.noise, reference.runs):
        known.pop(name, None)
    gc.collect()  # what lies in cycles holds memory until then


def _exact(
    reference: _Reference, draw: Draw, inputs: list[Any], state: State, noise: float = 0.0, seed: int = 0
) -> dict[str, Any] | None:
    """Outputs, arguments and state after a call in float64, with noise when asked; None when it does not run so.

    Raises TaskError when it fails there for another reason than its dtypes.
    """
    reference.restore(state)
    arguments = doubled(inputs)
    try:
        with in_double(noise, seed):
            model = double_model(reference.model)  # copies that are made inside carry noise
            arguments = fresh(arguments) if noise else arguments
            torch.manual_seed(draw.seed)
            result = flatten(model(*arguments))
    except Exception as error:
        if _is_of_dtypes(error, reference):
            reference.narrow = sentence(error)
            return None
        with blame(reference.task.name, "forward, run in float64,"):
            raise
    return result | named(arguments, model.state_dict())


def _is_of_dtypes(error: Exception, reference: _Reference) -> bool:
    """Whether an error that eager PyTorch does not meet speaks of dtypes, or comes from a line that does."""
    line = line_of(error, reference.task.name)
    text = "".join(reference.task.source.splitlines()[line - 1 : line]) if line else ""
    return not isinstance(error, MemoryError) and any(map(_OF_DTYPES.search, (str(error), text)))


def _noise(reference: _Reference, draw: Draw, reduced: float, runs: int) -> Noise | None:
    """How far rounding noise moves each element of each floating leaf from float64, at most, over so many runs."""
    done, scatter = reference.runs.get(draw.name, 0), reference.noise.setdefault(draw.name, {})
    if done >= runs:
        return scatter
    expected = reference.expected[draw.name]
    narrow = [v.dtype for v in expected.result.values() if isinstance(v, torch.Tensor) and v.is_floating_point()]
    if expected.exact is None or not narrow:
        return None
    size = max(accuracy.roundoff(dtype) * accuracy.slack(reduced, dtype).noise for dtype in narrow)
    with threads(cores()):
        inputs, state = _drawn(reference, draw)
        for run in range(done, runs):
            noisy = _exact(reference, draw, inputs, state, size, run)
            for name, value in (noisy or {}).items():
                if name in expected.exact and isinstance(value, torch.Tensor) and value.is_floating_point():
                    moved = (value.double() - expected.exact[name]).abs().nan_to_num(0.0, posinf=0.0).reshape(-1)
                    scatter[name] = torch.maximum(scatter[name], moved) if name in scatter else moved
    reference.runs[draw.name] = runs
    return scatter


def _is_random(reference: _Reference, draw: Draw, inputs: list[Any], state: State) -> bool:
    """Whether another seed of torch gives another answer to the same inputs."""
    reference.restore(state)
    arguments = fresh(inputs)
    torch.manual_seed(draw.seed + 1)
    with torch.no_grad():
        seconds, answer = reference.device.seconds(lambda: reference.model(*arguments))
    reference.eager_seconds = min(reference.eager_seconds, seconds)
    first, other = reference.expected[draw.name].result, flatten(fresh(answer))
    return not same_bits(first, other) and not (reference.device.name != HOST.name and alike(first, other))


def _state(model: nn.Module) -> State:
    return {**dict(model.named_parameters()), **dict(model.named_buffers())}
