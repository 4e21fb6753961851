"""What the reference process holds, and the cases that it draws: their inputs and states, and the files of these.

Worker side, in the reference process.
"""

from __future__ import annotations

import os
import random
import secrets
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn

from akg_core.device import HOST, Device
from akg_core.judge.compare.case import Expected, Noise
from akg_core.judge.records import FEWEST_CALLS, Draw
from akg_core.judge.reference.construction import made_by
from akg_core.judge.reference.host_checks import checked
from akg_core.judge.reference.locality import Locality
from akg_core.judge.reference.memory import nbytes
from akg_core.judge.reference.prepare import CASES
from akg_core.judge.reference.schedule import Plan, calls
from akg_core.judge.reference.steps import Decided, Held
from akg_core.judge.reference.updates import left_in_state
from akg_core.judge.reference.updates import places as updated_places
from akg_core.records import Case, Interface, Placement, Task
from akg_core.task.arguments import holding
from akg_core.task.graph import held, pairs, replaced
from akg_core.task.inputs import draws, edges, places, whole_numbers
from akg_core.task.inputs.other_numbers import given_numbers
from akg_core.task.inputs.patterns import Deal
from akg_core.task.source.load import ReferenceModule
from akg_core.worker.tensors import fresh, save
from akg_core.worker.usage import cores

State = dict[str, torch.Tensor]
_BEFORE = 3  # sets of inputs of calls that came before
_BORDERS = 64  # numbers of a table that inputs are compared with


@dataclass
class Reference:
    """What the process keeps between calls. `initial`: the state that the constructor leaves; `local`: which rows it
    does not combine; `deals`: by case.

    `first`: inputs and state of the first case until the reference has answered. `given`: by case, inputs that were
    made otherwise than by its seed. `noise`: by case, what so many `runs` have shown; `refused`: why it raises, by
    case; `narrow`: why the reference does not run in float64; `lacking`: which operator eager PyTorch has not here;
    `draws_otherwise`: why its random numbers are not known; `unsettled`: by case, the share of an output that depends
    on which of equal values comes first; `is_withdrawn`: whether the files of the cases lend nothing any more. Where a
    call's tensors are such that a device had better not hold those of several (`is_large`), the `fingerprints` of a
    candidate's answers stand for them, by case, made with the `key`. `held`: in which dtypes numbers are compared with;
    `decided`: of the case and inputs that were last asked about, the steps that no rounding decides. `keeps_freed`: for
    how long memory of the host that is freed is kept for what comes next.
    """

    task: Task
    device: Device
    module: ReferenceModule
    model: nn.Module
    initial: State
    folder: Path
    seed: int
    local: Locality = field(default_factory=Locality)
    deals: dict[str, Deal] = field(default_factory=dict)
    first: tuple[list[Any], State] | None = None
    plans: dict[str, Draw] = field(default_factory=dict)
    given: dict[str, list[Any]] = field(default_factory=dict)
    expected: dict[str, Expected] = field(default_factory=dict)
    noise: dict[str, Noise] = field(default_factory=dict)
    runs: dict[str, int] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    narrow: str = ""
    lacking: str = ""
    draws_otherwise: str = ""
    unsettled: dict[str, float] = field(default_factory=dict)
    is_large: bool = False
    is_withdrawn: bool = False
    key: int = field(default_factory=lambda: secrets.randbits(62))
    fingerprints: dict[str, list[Any]] = field(default_factory=dict)
    held: Held = field(default_factory=dict)
    decided: tuple[str, list[Any], Decided] | None = None
    eager_seconds: float = 0.0
    keeps_freed: Literal["never", "a case", "always"] = "never"

    def restore(self, state: State) -> None:
        """Put the module into a state, buffers that no state dict holds included."""
        with torch.no_grad():
            for name, value in every(self.model).items():
                value.copy_(state.get(name, self.initial[name]))


_kept: list[Reference] = []


def keep(reference: Reference) -> None:
    """Make a reference the one that this process holds."""
    _kept[:] = [reference]


def forget() -> None:
    """Hold none any more."""
    _kept.clear()


def current() -> Reference:
    """The reference that this process holds."""
    return _kept[0]


def plan(reference: Reference, asked: Plan) -> Draw:
    """A case by what it is drawn from; its files are written by `write`."""
    state = asked.state if reference.initial else "none"
    name = _name(asked, state)
    name += f", {len(reference.plans)}" if name in reference.plans else ""
    folder = reference.folder / CASES / os.urandom(8).hex()
    on_host = reference.device.name == HOST.name
    case = Case(
        name=name,
        inputs=folder / "inputs",
        outputs=folder / "outputs",
        state=folder / "state" if state != "none" else None,
        reference=reference.folder / "reference.py",
        training=reference.task.training,
        updates=updated_places(reference.task.interface),
        left=left_in_state(reference.task.interface),
        replaced=replaced(reference.task.interface),
        pairs=pairs(reference.task.interface),
        records=reference.task.interface.records,
        held=held(reference.task.interface),
        made_by=made_by(reference.task, reference.seed),
        placed=_placed(asked) if on_host else "",
        threads=_threads(asked) if on_host else 0,
        elsewhere=on_host and asked.kind == "disturbed",
        another=asked.kind == "drawn" and state == "redrawn" and not asked.sizes,
        seeds=(random.Random(f"{name} {asked.seed}").getrandbits(63),) if reference.task.interface.seeded else (),
    )
    kind = asked.kind if asked.deal is None else asked.deal.kinds[0] if len(asked.deal.kinds) == 1 else "rows"
    if asked.deal:
        reference.deals[name] = asked.deal
    beyond = bool(asked.numbers) or (bool(asked.sizes) and edges.is_beyond(reference.task.interface, asked.sizes))
    reference.plans[name] = Draw(
        name=name,
        kind=kind,
        seed=asked.seed,
        state=state,
        sizes=asked.sizes,
        numbers=asked.numbers,
        case=case,
        needed=asked.needed,
        beyond=beyond,
    )
    return reference.plans[name]


def drawn(reference: Reference, draw: Draw) -> tuple[list[Any], State]:
    """The inputs and the state of a case, drawn anew: the files lie where a candidate might reach them.

    Both come from different seeds, lest weights correlate with inputs.
    """
    state = _state_drawn(reference, draw)
    if draw.name in reference.given:
        return reference.given[draw.name], state
    return inputs_drawn(reference, draw, state), state


def _state_drawn(reference: Reference, draw: Draw) -> State:
    """The state of a case; the reference is left as it was constructed."""
    state: State = {}
    reference.restore({})
    if draw.state == "initial":
        state = _held_now(reference)
    elif draw.state == "redrawn":
        follows = draw.kind == "signed" and not draw.sizes  # the case by the seed before, whose parameters it has
        seed = 1000 + draw.seed - follows
        state = _held_now(reference) | draws.redraw_state(
            reference.model, seed, exchanged=draw.seed if follows else None, signed=draw.case.another
        )
    elif draw.state == "later":
        state = _later(reference, draw)
    return state


def _later(reference: Reference, draw: Draw) -> State:
    """The state that many calls in a row leave, or as many as the reference takes: a ring that has gone round, say."""

    def before(number: int) -> list[Any]:
        return inputs_drawn(reference, draw.model_copy(update={"seed": draw.seed + number + 1}))

    first = before(0)
    count = calls(reference.task, nbytes(first), 0, reference.device) | 1
    sets = [first, *(map(before, range(1, _BEFORE)) if count > FEWEST_CALLS else ())]
    while count:
        reference.restore({})
        try:
            with torch.no_grad(), checked(reference.device.name):
                for number in range(count):
                    reference.model(*fresh(sets[number % len(sets)]))
            break
        except Exception:  # as where it has room for so many
            count //= 4
    state = _held_now(reference)
    reference.restore({})
    return state


def inputs_drawn(reference: Reference, draw: Draw, state: State | None = None) -> list[Any]:
    """The inputs of a case, drawn by its seed; beside a `state`, or the one that the constructor leaves."""
    found = _inputs_drawn(reference, draw, state)
    return found if draw.numbers else holding(found, reference.module.held)


def _inputs_drawn(reference: Reference, draw: Draw, state: State | None) -> list[Any]:
    plain = draw.model_copy(update={"kind": "drawn"})
    if draw.kind in places.KINDS:
        other = inputs_drawn(reference, plain.model_copy(update={"seed": draw.seed + 1}))
        return places.drawn(reference.task, draw.kind, inputs_drawn(reference, plain), other, draw.seed)
    if draw.kind == draws.WHOLE:
        return whole_numbers.enlarged(reference.task, inputs_drawn(reference, plain), draw.seed)
    if draw.numbers:
        return given_numbers(
            reference.task, inputs_drawn(reference, draw.model_copy(update={"numbers": {}})), draw.numbers
        )
    task, module, deal = reference.task, reference.module, reference.deals.get(draw.name)
    if deal and deal.tables:
        state = reference.initial | (state or {})
        numbers = [number for name in deal.tables for number in state[name].flatten()[:_BORDERS].tolist()]
        deal = replace(deal, borders=(*deal.borders, *numbers))
    kind = draws.DEALT if deal else draw.kind
    if task.symbols:
        return draws.resized(module, task.interface, draw.sizes or task.symbols, draw.seed, kind, deal)
    return draws.inputs(module, draw.seed, kind, task.interface, deal)


def write(reference: Reference, draw: Draw) -> tuple[list[Any], State]:
    """Write the files that the candidate reads, and give what is in them."""
    inputs, state = drawn(reference, draw)
    draw.case.outputs.parent.mkdir(exist_ok=True)
    save(draw.case.outputs.with_name("inputs"), inputs, reference.device)
    if draw.case.state and draw.case.state.parent == draw.case.outputs.parent:  # else it is another's
        save(draw.case.state, state, reference.device)
    return inputs, state


def withdraw(reference: Reference, wanted: int) -> None:
    """Take back what all cases lend of a device's memory, where fewer than the `wanted` bytes are free; but for the
    state of the first one, into which a kernel that is timed is put."""
    if reference.device.free_bytes() < wanted:
        reference.device.take_back()
        reference.is_withdrawn = True
        first = next(iter(reference.plans.values()))
        if first.case.state:
            save(first.case.state, _state_drawn(reference, first), reference.device)


def lay_out(reference: Reference) -> None:
    """Write the cases' files again where what they lent was taken back."""
    if not reference.is_withdrawn:
        return
    reference.is_withdrawn = False
    reference.device.take_back()
    plans = {draw.case.inputs: draw for draw in reversed(reference.plans.values())}  # of those on the same, the first
    for draw in plans.values():
        if draw.case.inputs and draw.case.inputs.exists():
            write(reference, draw)
    reference.device.release_unused()


def _placed(asked: Plan) -> Placement:
    """Where a case's tensors lie: cases of other sizes, and one of the first, where reading past an end shows."""
    if asked.kind == "disturbed":
        return "odd"
    return "walled" if asked.sizes or asked.kind == "signed" else ""


def _threads(asked: Plan) -> int:
    """With how many threads a case is called: one of the first with one, another with more than there are cores."""
    return {"signed": 1, "disturbed": cores() + 1}.get(asked.kind, 0)


def _name(asked: Plan, state: str) -> str:
    if asked.deal:
        kinds = ", ".join(kind.replace("_", " ") for kind in asked.deal.kinds)
        what = f"rows ({kinds})" if asked.deal.depth else kinds
    else:
        what = asked.kind.replace("_", " ")
    states = {"redrawn": ["redrawn parameters"], "later": ["state of many calls later"]}
    parts = [what, *states.get(state, ())]
    return ", ".join([*parts, *(f"{name}={value}" for name, value in (asked.sizes | asked.numbers).items())])


def _held_now(reference: Reference) -> State:
    """Copies of what the module's state is now."""
    return {n: v.detach().clone() for n, v in state_of(reference.model, reference.task.interface).items()}


def state_of(model: nn.Module, interface: Interface) -> State:
    """What a state dict holds of a module, and buffers that it leaves out and forward updates."""
    updated = left_in_state(interface)
    return {**model.state_dict(), **{name: value for name, value in every(model).items() if name in updated}}


def every(model: nn.Module) -> State:
    """All parameters and buffers, those that no state dict holds included."""
    return {**dict(model.named_parameters()), **dict(model.named_buffers())}
