"""Records of running and profiling a kernel, which `akg_core.records` hands on with all others."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from akg_core.record import Record, Scalar, Sentence

Placement = Literal["", "odd", "walled"]


class Case(Record):
    """One call of the kernel, or several in a row: where its inputs and module state are read and its outputs written.

    `inputs` is a file of positional arguments (None in the first call of a worker: load and construct the kernel, so
    that it has seen none, and report nothing), `state` a state dict (without one the constructor's stays), `reference`
    the text of the reference file, whose `get_init_inputs` gives the constructor's arguments. `updates`: which of the
    interface's arguments the reference updates, `left`: which parameters and buffers, `replaced`: which attributes of
    its module it replaces, `pairs`: which arguments are complex, None where nothing is, `records`: some are
    dataclasses or named tuples, `held`: what tensors among the arguments hold that kernels are made for. `poison`
    seeds the pattern that fills fresh memory. The harness writes to `outputs` a dict: "result" is what `forward`
    returned, "changed" the arguments ("argument 0") and state ("state bn.running_mean") that it left different.
    Files of tensors are those of `akg_core.worker.tensors`.

    With an `order` there is a call for each number in it, on the inputs at that place of `series`; the outputs of the
    n-th lie in `outputs_of(n)`. `apart`: before each call the state is as it was. `placed`: tensors lie where the
    allocator puts them, one element beyond that ("odd"), or between what is written to and what cannot be reached.
    `made_by`: torch's seed when the module is constructed.
    `another`: on a second module, constructed after that of other cases, and frozen, while gradients are on; in the
    first call of a worker: construct one, too. `threads`: with how many it is called, where not with as many as usual,
    and then `elsewhere`: in a new thread.
    `upcoming`: another call runs and reports it; this one makes ready for it where a language compiles for the inputs
    that it first meets, which it may do before the first case that is run, and never again.
    `seeds`: where forward draws random numbers, what torch's generator of the host is set to before a call, for the
    inputs or for each of the series; what it is left at stands under "changed" as `akg_core.seeds.GENERATOR`.
    """

    name: str
    inputs: Path | None
    outputs: Path
    state: Path | None = None
    reference: Path | None = None
    training: bool = True
    updates: tuple[int, ...] = ()
    left: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    pairs: tuple[int, ...] | None = None
    records: bool = False
    held: dict[int, Any] = Field(default_factory=dict)
    made_by: int = 0
    poison: int = 0
    series: tuple[Path, ...] = ()
    order: tuple[int, ...] = ()
    apart: bool = False
    placed: Placement = ""
    threads: int = 0
    elsewhere: bool = False
    another: bool = False
    upcoming: bool = False
    seeds: tuple[int, ...] = ()

    def outputs_of(self, call: int) -> Path:
        """Where the outputs of a call lie: those of the last at `outputs`, which is there when all have been made."""
        return self.outputs if call >= len(self.order) - 1 else self.outputs.with_name(f"{self.outputs.name}-{call}")


class CaseReport(Record):
    """What happened in one case. No field says "passed": judging is core's.

    `forbidden_calls` are operators of the library, `broken_rules` what else the guard saw.
    """

    name: str
    finished: bool
    error: Sentence = ""
    forbidden_calls: tuple[Sentence, ...] = ()
    broken_rules: tuple[Sentence, ...] = ()


class RunReport(Record):
    """What the cases did. `error`: why the module did not load, `rule`: what it broke, `lost`: why the device is.

    `left_open`: what the process that they ran in does not exclude.
    """

    cases: tuple[CaseReport, ...] = ()
    error: Sentence = ""
    rule: Sentence = ""
    lost: Sentence = ""
    left_open: tuple[Sentence, ...] = ()


class DeviceTurn(Record):
    """A call on a device of which another process takes the time, in the turn of this `number`.

    `lane` is what `Device.lane` takes; the tensors of the inputs lie in its memory at `places`. `queued`: the call is
    queued behind a wait for the start; else it is made at once, and where it is `believed`, its process tells how long
    that took. `apart`: it begins with the state of the case.
    """

    lane: dict[str, Any]
    places: tuple[int, ...]
    number: int
    queued: bool
    believed: bool = False
    apart: bool = False


class TimingPlan(Record):
    """How to sample: `warmup` calls first, then `samples` calls, each timed alone.

    From outside a sample is of `calls` in a row, each on data of its own; on a device it is one call, a `turn`. `cold`:
    sweep the caches before each sample. `sized`: numbers of the answer's tensors whose sizes are among the values.
    """

    warmup: int = 0
    samples: int = 1
    calls: int = 1
    cold: bool = False
    sized: tuple[int, ...] = ()
    turn: DeviceTurn | None = None


class ProfileReport(Record):
    """Raw samples in seconds, in the order taken. `error`: why there are none; `lost`: why the device is lost.

    `told`: of a turn on a device, what the `answer` is, and where its tensors lie, as they are `named` there; or how
    many `seconds` it took, where that is believed.
    """

    samples: tuple[float, ...]
    timer: Sentence
    error: Sentence = ""
    lost: Sentence = ""
    details: dict[str, Scalar] = Field(default_factory=dict)
    told: dict[str, Any] = Field(default_factory=dict)
