"""The records that cross the boundary between core and plugins.

Frozen pydantic models with `extra="forbid"`: JSON in and out, no tensors, no callables. Vocabularies
(DSLs, backends, architectures, dtypes) are open strings; core never lists them.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Scalar = bool | int | float | str | None
Dim = int | str  # a fixed size, or an expression over named sizes such as "s0" or "2*s0 + 1"


class Record(BaseModel):
    """An immutable value that is checked when made and travels as JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")


class Target(Record):
    """A chip to generate for: `backend` is the family ("cpu"), `arch` the member ("" is the one here)."""

    backend: str
    arch: str = ""

    @classmethod
    def parse(cls, text: str) -> Target:
        """Read "backend" or "backend:arch"."""
        backend, _, arch = text.partition(":")
        return cls(backend=backend, arch=arch)

    def __str__(self) -> str:
        return f"{self.backend}:{self.arch}" if self.arch else self.backend


# --- what a plugin says of itself ---------------------------------------------------------------


class PluginInfo(Record):
    """Who a plugin is. `name` is what users type; `source_suffix` is the main file's ending (".toy").

    `warm`: modules that its jobs find imported, from probing to profiling; they start no thread and touch no device.
    """

    name: str
    dsl: str
    backends: tuple[str, ...]
    dtypes: tuple[str, ...]
    source_suffix: str
    summary: str = ""
    warm: tuple[str, ...] = ()


class Traits(Record):
    """The few numbers of a chip that a designer sizes tiles by.

    `units`: cores or multiprocessors; `lanes`: f32 elements a vector instruction or a warp handles; `near_bytes`:
    memory beside one unit in which a row may stay between two passes; `tile_elements`: a good tile for
    streaming; `dot_tile`: a good (m, n, k) tile of a matrix product; `convolution_format`: what eager PyTorch may
    round the factors of f32 convolutions to there ("tf32"), "" where it multiplies exactly; `half_tile`: a good tile
    of products of f16 that are summed in f32, for chips that make these many times faster than products of f32;
    `held_tiles`: whether a program holds each of its tiles at once, in the registers of its threads, instead of going
    through it piece by piece; `together`: programs that certainly run at the same time, so that they may wait for each
    other; 0 where none may.
    """

    units: int = 1
    lanes: int = 8
    near_bytes: int = 256 * 1024
    tile_elements: int = 4096
    dot_tile: tuple[int, int, int] = (64, 64, 32)
    convolution_format: str = ""
    half_tile: tuple[int, int, int] | None = None
    held_tiles: bool = False
    together: int = 0


HOST = "cpu"
"""Torch's name of the processor that everything else runs on."""


class Availability(Record):
    """What works on this machine. When something does not, `reason` says why and `cure` what to install.

    `device` is torch's name of where kernels run here, `memory_bytes` what it has when it is not the host and says so.
    `simulated`: they run by simulation, for `reason`; results can be judged, times mean nothing. `tuning_seconds`: how
    long a run searches for a faster kernel, unless its user says.
    """

    can_compile: bool
    can_run: bool
    device: str = HOST
    memory_bytes: int = 0
    simulated: bool = False
    tuning_seconds: float = 0.0
    reason: str = ""
    cure: str = ""
    traits: Traits = Traits()
    details: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _reason_when_missing(self) -> Availability:
        if (self.simulated or not (self.can_compile and self.can_run)) and not self.reason:
            raise ValueError("a plugin that is unavailable or simulates must say why in `reason`")
        return self


PageKind = Literal["language", "api", "hardware", "examples", "pitfalls", "designer", "coder"]


class DocPage(Record):
    """One page of a plugin's documents, in Markdown. "designer" and "coder" are rules of its own for these agents."""

    kind: PageKind
    title: str
    text: str


class Finding(Record):
    """One thing noticed by reading: a stable `code`, a sentence, a place (1-based), a suggestion."""

    code: str
    message: str
    severity: Literal["error", "warning"] = "error"
    line: int = 0
    column: int = 0
    suggestion: str = ""


class Advice(Record):
    """A toolchain's message translated into what to change. Lines are 1-based, 0 when unknown."""

    problem: str
    advice: str
    source_line: int = 0
    sketch_line: int = 0


# --- the task ------------------------------------------------------------------------------------


class Argument(Record):
    """One argument of `forward`.

    `tensor`: a tensor of `dtype` and `shape`. `number`: a Python float handed to kernels as a
    zero-dimensional f64 tensor. `constant`: any other Python value, baked into the kernel; another
    value at run time is refused.
    """

    name: str
    kind: Literal["tensor", "number", "constant"]
    dtype: str = ""
    shape: tuple[Dim, ...] = ()
    value: Any = None


class Parameter(Record):
    """A parameter, buffer or lifted constant of the module, by qualified name. `mutated`: forward updates it."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    kind: Literal["parameter", "buffer", "constant"] = "parameter"
    mutated: bool = False


class Interface(Record):
    """How `ModelNew.forward` is called and what it gives back.

    `packing` says how flat outputs are packed: a bare tensor, or a tuple, list or dict (`keys`). `named`: the named
    tuple of PyTorch's that a tuple is, such as "torch.return_types.min".
    """

    arguments: tuple[Argument, ...]
    parameters: tuple[Parameter, ...] = ()
    packing: Literal["tensor", "tuple", "list", "dict"] = "tensor"
    keys: tuple[str, ...] = ()
    named: str = ""


class Node(Record):
    """One operator of the captured graph, in the vocabulary of `akg_core.task.graph`.

    `args` and `kwargs` follow the operator's ATen schema, defaults filled in; a string that starts with "%"
    refers to another value of the graph. `dtypes`, `shapes`, `strides`: one entry a result. `where`: the
    module and the line of the reference that it comes from.
    """

    name: str
    op: str
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = Field(default_factory=dict)
    dtypes: tuple[str, ...]
    shapes: tuple[tuple[Dim, ...], ...]
    strides: tuple[tuple[Dim, ...], ...] = ()
    where: str = ""


class Graph(Record):
    """A captured forward as a list of operators in execution order.

    `values` maps an input's graph name to its origin: "argument:x", "parameter:fc.weight".
    `outputs` lists references ("%add", "%bn:1", or None); `mutations` maps a parameter's qualified name to
    the reference of the value that it holds after the call.
    """

    values: dict[str, str]
    nodes: tuple[Node, ...]
    outputs: tuple[str | None, ...]
    mutations: dict[str, str] = Field(default_factory=dict)


class Task(Record):
    """A reference file, captured: what a designer needs to know, and nothing that must run.

    `symbols`: for dynamic sizes, the example value of each; `least`: the least value of some at which the graph holds.
    `notes`: sentences for the report (how sizes were scaled, which mode, what could not be kept).
    """

    name: str
    source: str
    interface: Interface
    graph: Graph
    training: bool = True
    symbols: dict[str, int] = Field(default_factory=dict)
    least: dict[str, int] = Field(default_factory=dict)
    scale: float = 1.0
    notes: tuple[str, ...] = ()


class Examination(Record):
    """What `akg-core task check` found in a reference before anything is spent on it.

    `findings` have codes TK101 and up (see `akg_core.task.examine`); an error means that a wrong kernel can pass
    under KernelBench's tolerance. `notes` say at which sizes it was examined and what was not examined.
    """

    name: str
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0


# --- sketch, schedule, source ---------------------------------------------------------------------


class Sketch(Record):
    """A sketch as text (see docs/sketch.md), the interface of its program, and what it `rounds` factors of f32 to."""

    name: str
    text: str
    interface: Interface
    origin: str = "builtin"
    rounds: str = ""


class Choice(Record):
    """One free parameter of a sketch: `key` is "kernel.NAME"."""

    key: str
    choices: tuple[int | str, ...]
    default: int | str


class Schedule(Record):
    """A value for Tune parameters by key; a missing key takes its default."""

    values: dict[str, int | str] = Field(default_factory=dict)


class KernelSource(Record):
    """Generated source: `files` by relative path; `entry` is the file that defines `ModelNew`.

    `line_map` maps "path:line" of generated code to the line of the sketch that it came from.
    """

    plugin: str
    target: Target
    files: dict[str, str]
    entry: str = "model_new.py"
    line_map: dict[str, int] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _entry_exists(self) -> KernelSource:
        if self.entry not in self.files:
            raise ValueError(f"the entry {self.entry!r} is not one of the files")
        return self

    @model_validator(mode="after")
    def _files_stay_inside(self) -> KernelSource:
        for name in self.files:
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts or not path.name:
                raise ValueError(f"the file {name!r} is outside of the kernel's folder")
        return self


class Artifact(Record):
    """A built kernel: a folder holding the entry file and everything that it loads."""

    folder: Path
    entry: str = "model_new.py"


class CompileResult(Record):
    """The outcome of a build. A compile error is a result: `ok` is false and `log` says why.

    `details`: what the compiler tells of each kernel: "softmax.registers"; what has many "spilled_bytes" is not timed.
    """

    ok: bool
    seconds: float
    artifact: Artifact | None = None
    log: str = ""
    cached: bool = False
    details: dict[str, Scalar] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _artifact_exactly_when_ok(self) -> CompileResult:
        if self.ok != (self.artifact is not None):
            raise ValueError("a build has an artifact exactly when it is ok")
        return self


# --- running and profiling -------------------------------------------------------------------------


class Case(Record):
    """One call of the kernel: where its inputs and module state are read and its outputs written.

    `inputs` is a file of positional arguments (None in the first call of a worker: load and construct the kernel, so
    that it has seen none, and report nothing), `state` a state dict (without one the constructor's stays), `reference`
    the text of the reference file, whose `get_init_inputs` gives the constructor's arguments. `poison` seeds the
    pattern that fresh memory is filled with. The harness writes to `outputs` a dict: "result" is what `forward`
    returned, "changed" the arguments ("argument 0") and state ("state bn.running_mean") that it left different. Files
    of tensors are those of `akg_core.worker.tensors`.
    """

    name: str
    inputs: Path | None
    outputs: Path
    state: Path | None = None
    reference: Path | None = None
    training: bool = True
    poison: int = 0


class CaseReport(Record):
    """What happened in one case. No field says "passed": judging is core's.

    `forbidden_calls` are operators of the library, `broken_rules` what else the guard saw.
    """

    name: str
    finished: bool
    error: str = ""
    forbidden_calls: tuple[str, ...] = ()
    broken_rules: tuple[str, ...] = ()
    kernel_launches: int | None = None


class RunReport(Record):
    """What happened when the cases ran. `error` is set when the module did not load at all.

    `lost`: why the process can use its device no more since the last of the cases.
    """

    cases: tuple[CaseReport, ...] = ()
    error: str = ""
    lost: str = ""


class TimingPlan(Record):
    """How to sample: `warmup` calls first, then `samples` calls, each timed alone, with `threads` (0: all cores).

    `cold`: sweep memory between samples, to empty the caches. `after`: count only what goes on when a call has
    returned. `check`: a case of the same shapes, whose inputs one call then finds in place, and which it answers.
    """

    warmup: int = 0
    samples: int = 1
    cold: bool = False
    after: bool = False
    threads: int = 0
    check: Case | None = None


class ProfileReport(Record):
    """Raw samples in seconds, in the order taken. `error`: why there are none; `lost`: why the device is lost."""

    samples: tuple[float, ...]
    timer: str
    error: str = ""
    lost: str = ""
    details: dict[str, Scalar] = Field(default_factory=dict)
