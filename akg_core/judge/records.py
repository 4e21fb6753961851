"""What the judge says: comparisons, verdicts and timings, as records."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from akg_core.record import Sentence, Shown
from akg_core.records import Case, Record, Scalar

VerdictStatus = Literal[
    "correct", "incorrect", "cheating", "crashed", "timed out", "unsupported", "unavailable", "unverified"
]

PATTERNS = 4  # of numbers that fresh memory is filled with, by the remainder of `Case.poison`; others are NaN
HUGE, ORDINARY = 2, 3  # the largest there are; such as look like an answer

CALLS, FEWEST_CALLS = 100, 3  # of one kernel in a row: one input twice, and another
_EACH = 20  # times that one input is given at least, where there are so many calls

TIMED = "timed"
"""The kind of a case that stands for a call of which the time was taken."""

StateKind = Literal["initial", "redrawn", "later", "none"]


class Draw(Record):
    """One thing that a kernel is run on: which inputs, sizes and state, and the case that holds them.

    `needed`: without it no kernel is correct. `state` is "initial" (as the constructor leaves it), "redrawn" (so that
    every parameter matters), "later" (as calls in a row leave it) or "none". `numbers`: other values than the
    file gives, by argument. `beyond`: the captured graph says nothing of these sizes or numbers, so that a kernel may
    also refuse them, by an exception.
    """

    name: str
    kind: str
    seed: int
    state: StateKind
    sizes: dict[str, int] = Field(default_factory=dict)
    numbers: dict[str, Any] = Field(default_factory=dict)
    beyond: bool = False
    case: Case
    needed: bool = False


class Preparation(Record):
    """What the reference process has ready. `longest_reduction`: how many numbers an operator makes one of, at most.

    `eager_seconds` is one cold call, `input_bytes` and `output_bytes` the sizes of one case's tensors. `minimum_bytes`
    and `operations` are what any implementation has to move and to compute; 0 when that is not known. `random`: two
    runs of the reference on the same inputs differ. `series`: the inputs of `calls` calls in a row, the first case's
    first; `apart`: before each of them the state is put back. `missing`: cases that are needed and could not be
    answered, and why.
    """

    draws: tuple[Draw, ...]
    series: tuple[Draw, ...] = ()
    calls: int = 3
    apart: bool = False
    missing: tuple[str, ...] = ()
    random: bool = False
    eager_seconds: float = 0.0
    longest_reduction: float = 1.0
    input_bytes: int = 0
    output_bytes: int = 0
    minimum_bytes: int = 0
    operations: float = 0.0
    notes: tuple[str, ...] = ()


def different(calls: int) -> int:
    """On how many different inputs so many calls in a row are made."""
    return max(2, calls // _EACH)


class OutputComparison(Record):
    """One output beside the reference's. Errors are absolute; `where` is the index of the worst element.

    `eager_error` is the worst of eager PyTorch in the same dtype, `ratio` the norm of the error over that of eager's,
    or of rounding the right answer once where that is more. None: there was nothing to measure, as with another shape.
    `kernelbench`: within KernelBench's tolerance of eager. `hints`: what wrong elements have in common.
    """

    name: Sentence
    ok: bool
    reason: Sentence = ""
    hints: tuple[str, ...] = ()
    dtype: str = ""
    worst_error: float | None = None
    allowed_error: float | None = None
    where: tuple[int, ...] = ()
    wrong_elements: int = 0
    eager_error: float | None = None
    ratio: float | None = None
    kernelbench: bool = False


class CaseVerdict(Record):
    """One case judged. `rule` is set when it was cheating."""

    name: str
    kind: str = ""
    state: str = ""
    sizes: dict[str, int] = Field(default_factory=dict)
    ok: bool
    reason: Sentence = ""
    rule: Sentence = ""
    outputs: tuple[OutputComparison, ...] = ()


class Verdict(Record):
    """Whether a kernel computes what its reference does.

    `reason` is one sentence, `cure` what to do where that is known. `worst_error`, `where` (case, output, index) and
    `accuracy_ratio` (the largest `ratio` of an output) are over all cases, None where nothing could be measured.
    `deterministic`: all runs on the same inputs, on memory filled differently, gave the same bits. `seed`: where the
    draws began, and `seeds` each of them; the same seed repeats them. `protections`: what the system allowed of the
    isolation; `left_open`: what it does not exclude where kernels of this kind run.
    `simulated`: the kernel ran by simulation, not on its device.
    """

    status: VerdictStatus
    reason: Sentence = ""
    cure: Sentence = ""
    rule: Sentence = ""
    cases: tuple[CaseVerdict, ...] = ()
    worst_error: float | None = None
    where: Sentence = ""
    accuracy_ratio: float | None = None
    kernelbench: bool = False
    deterministic: bool | None = None
    simulated: bool = False
    protections: tuple[str, ...] = ()
    left_open: tuple[str, ...] = ()
    seed: int = 0
    seeds: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    log: Shown = ""
    seconds: float = 0.0

    @property
    def correct(self) -> bool:
        """Whether the kernel was run and found right; nothing else counts."""
        return self.status == "correct"

    @property
    def hints(self) -> tuple[str, ...]:
        """What the wrong elements of the first wrong output have in common."""
        outputs = (output for case in self.cases for output in case.outputs)
        return next((output.hints for output in outputs if output.hints), ())


class Measurement(Record):
    """The times of one participant in seconds: median with its 95 % interval, and every sample in the order taken."""

    name: str
    median: float
    low: float
    high: float
    samples: tuple[float, ...]
    timer: str = ""


class Speedup(Record):
    """How many times faster the kernel is than `over`: the ratio of medians with its 95 % interval."""

    over: str
    ratio: float
    low: float
    high: float
    result: Literal["faster", "slower", "inconclusive"]

    @property
    def said(self) -> str:
        """In a few words."""
        return (
            f"inconclusive beside {self.over}" if self.result == "inconclusive" else f"{self.ratio:.2f}x of {self.over}"
        )


class Floor(Record):
    """The least time that this machine could take, by what it was measured to do: moving the bytes, or computing.

    A time below `margin` times `seconds` is refused as impossible.
    """

    seconds: float
    limited_by: Literal["memory", "arithmetic"]
    bytes: int
    bytes_per_second: float
    operations: float
    operations_per_second: float
    margin: float


_BUSY = 0.1  # of the time without a processor

TimingStatus = Literal["ok", "impossible", "cheating", "incorrect", "failed"]


class Timing(Record):
    """How fast a kernel is, beside the baselines measured in the same minutes.

    `status`: "ok"; "impossible" (below the physical floor), "cheating" (its clock or its outputs do not hold),
    "incorrect" (wrong while it was timed, or afterwards), "failed" (did not run). `unavailable` says why a baseline is
    missing, by name. `waited`: the part of its time in which who is timed was ready to run and had no processor, at
    most; a machine is busy where that is much. `resolution`: seconds that the clock adds to a sample, about.
    `unqueued`: whose calls could not be queued on a device, so that what launching takes counts; for all, where the
    kernel is among them.
    """

    status: TimingStatus
    reason: Sentence = ""
    measurements: tuple[Measurement, ...] = ()
    speedups: tuple[Speedup, ...] = ()
    floor: Floor | None = None
    waited: float = 0.0
    resolution: float = 0.0
    unqueued: tuple[str, ...] = ()
    unavailable: dict[str, str] = Field(default_factory=dict)
    settings: dict[str, Scalar] = Field(default_factory=dict)
    seconds: float = 0.0

    @property
    def busy(self) -> bool:
        """Whether the machine was so busy that times say little."""
        return self.waited > _BUSY

    def median(self, name: str) -> float | None:
        """The median of a participant, when it was measured."""
        return next((m.median for m in self.measurements if m.name == name), None)
