"""The records that cross the boundary between core and plugins.

Frozen pydantic models with `extra="forbid"`: JSON in and out, no tensors, no callables. Vocabularies (DSLs, backends,
architectures, dtypes) are open strings; core never lists them.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any, Literal

from packaging.requirements import Requirement
from pydantic import Field, field_validator, model_validator

from akg_core.interface import NAMED_IN_REFERENCE as NAMED_IN_REFERENCE
from akg_core.interface import Argument as Argument
from akg_core.interface import Dim as Dim
from akg_core.interface import Interface as Interface
from akg_core.interface import Packing as Packing
from akg_core.interface import Parameter as Parameter
from akg_core.record import Record as Record
from akg_core.record import Scalar as Scalar
from akg_core.record import Shown
from akg_core.running import Case as Case
from akg_core.running import CaseReport as CaseReport
from akg_core.running import DeviceTurn as DeviceTurn
from akg_core.running import Placement as Placement
from akg_core.running import ProfileReport as ProfileReport
from akg_core.running import RunReport as RunReport
from akg_core.running import TimingPlan as TimingPlan


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


class Environment(Record):
    """A toolchain that must not live beside others: what pip installs for it into a Python of its own.

    `requirements`: as pip takes them, the toolchain's with its version: "tiler==1.4". `toolchain`: the distribution
    whose version decides the results. `pythons`: versions of Python that it works with, the best first ("3.10"); none:
    core's own, which is taken whenever it is among them.
    """

    requirements: tuple[str, ...] = Field(min_length=1)
    toolchain: str
    pythons: tuple[str, ...] = ()

    @field_validator("requirements")
    @classmethod
    def _no_options(cls, requirements: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(str(Requirement(text)) for text in requirements)  # InvalidRequirement is a ValueError


class PluginInfo(Record):
    """Who a plugin is. `name` is what users type; `source_suffix` is the main file's ending (".toy").

    `warm`: modules that its jobs find imported, from probing to profiling; they start no thread and touch no device.
    `modules`: packages by which its kernels import their language, which they may beside torch and Python's own.
    `environment`: where its toolchain lives, if that is not beside core.
    """

    name: str
    dsl: str
    backends: tuple[str, ...]
    dtypes: tuple[str, ...]
    source_suffix: str
    summary: str = ""
    warm: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    environment: Environment | None = None


class Traits(Record):
    """The few numbers of a chip that a designer sizes tiles by.

    `units`: cores or multiprocessors; `lanes`: f32 elements a vector instruction or a warp handles; `on_chip_bytes`:
    memory beside one unit in which a row may stay between two passes; `tile_elements`: a good tile for
    streaming; `dot_tile`: a good (m, n, k) tile of a matrix product; `convolution_format`: what eager PyTorch may
    round the factors of f32 convolutions to there ("tf32"), "" where it multiplies exactly; `convolution_channels`:
    of those in three dims only where the channels of a group come in such multiples; `half_tile`: a good tile
    of products of f16 that are summed in f32, for chips that make these many times faster than products of f32;
    `attention_tile`: (queries, keys) of a good tile of attention over such values, None where `on_chip_bytes` decides;
    queries need be no power of two where the language has such tiles; `window_tile`: a good (channels, pixels, k) tile
    of products of such values with the windows of an image, whose programs stay and take one tile after the other,
    None where it is as in other products; `fused_products`: of one left operand that one program may sum beside each
    other, for what is made elementwise of their results; `block_bytes`: of what is made for the turns of a loop,
    about as much as caches hold, 0 where all of it is made before;
    `register_tiles`: whether a program holds each of its tiles at once, in the registers of its threads, instead of
    going through it piece by piece; `program_bytes`: what the tiles may take that one program holds at once, 0 where
    nothing limits that; `spills`: whether what takes more is only slower, and not refused; `copies`: of a tile that is
    loaded or stored, where a compiler keeps some of which one moves while the program computes on another, as
    `lower.resources.buffers` counts; `longest_sorted`: the elements of a row
    that one program puts in order at once, 0 where the language cannot; `partial_sorts`: whether it takes less where
    only the first of them are stored; `radix`: of how many numbers a program writes out the Fourier transform, at the
    most; `co_resident`: programs that certainly run at the same time, so that they may wait for each other; 0 where
    none may.
    """

    units: int = 1
    lanes: int = 8
    on_chip_bytes: int = 256 * 1024
    tile_elements: int = 4096
    dot_tile: tuple[int, int, int] = (64, 64, 32)
    convolution_format: str = ""
    convolution_channels: int = 1
    half_tile: tuple[int, int, int] | None = None
    attention_tile: tuple[int, int] | None = None
    window_tile: tuple[int, int, int] | None = None
    fused_products: int = 1
    block_bytes: int = 0
    register_tiles: bool = False
    program_bytes: int = 0
    spills: bool = True
    copies: int = 1
    longest_sorted: int = 0
    partial_sorts: bool = False
    radix: int = 16
    co_resident: int = 0


HOST = "cpu"  # torch's name of the processor that everything else runs on


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
    message: Shown
    severity: Literal["error", "warning"] = "error"
    line: int = 0
    column: int = 0
    suggestion: Shown = ""


class Advice(Record):
    """A toolchain's message translated into what to change. Lines are 1-based, 0 when unknown."""

    problem: Shown
    advice: Shown
    source_line: int = 0
    sketch_line: int = 0


# --- the task ------------------------------------------------------------------------------------


class Node(Record):
    """One operator of the captured graph, in the vocabulary of `akg_core.task.graph`.

    `args` and `kwargs` follow the operator's ATen schema, defaults filled in; a string that starts with "%" refers to
    another value of the graph. `dtypes`, `shapes`, `strides`: one entry a result. `where`: the module and the line of
    the reference that it comes from; `wrote`: what stands there, such as "torch.fft.rfft".
    """

    name: str
    op: str
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = Field(default_factory=dict)
    dtypes: tuple[str, ...]
    shapes: tuple[tuple[Dim, ...], ...]
    strides: tuple[tuple[Dim, ...], ...] = ()
    where: str = ""
    wrote: str = ""


class Graph(Record):
    """A captured forward as a list of operators in execution order.

    `values` maps an input's graph name to its origin: "argument:x", "parameter:fc.weight". `outputs` lists references
    ("%add", "%bn:1", or None): what forward returns, then what the arguments that it updates hold afterwards.
    `mutations` maps a parameter's qualified name to the reference of the value that it holds after the call.
    """

    values: dict[str, str]
    nodes: tuple[Node, ...]
    outputs: tuple[str | None, ...]
    mutations: dict[str, str] = Field(default_factory=dict)


class Task(Record):
    """A reference file, captured: what a designer needs to know, and nothing that must run.

    `symbols`: for dynamic sizes, the example value of each, and `cases` those that the file has itself, by their number
    `refused` where the graph does not hold for them (`interface.guards`). `notes`: for the report. `repeatable`: that
    kernels add floats in the same order in every call.
    """

    name: str
    source: str
    interface: Interface
    graph: Graph
    training: bool = True
    symbols: dict[str, int] = Field(default_factory=dict)
    cases: tuple[dict[str, int], ...] = ()
    refused: tuple[int, ...] = ()
    scale: float = 1.0
    notes: tuple[str, ...] = ()
    repeatable: bool = False


# --- sketch, schedule, source ---------------------------------------------------------------------


class Sketch(Record):
    """A sketch as text (see docs/sketch.md), the interface of its program, and what it `rounds` factors of f32 to.

    `symbols` and `cases`: for dynamic sizes, as in its task.
    """

    name: str
    text: str
    interface: Interface
    origin: str = "builtin"
    rounds: str = ""
    symbols: dict[str, int] = Field(default_factory=dict)
    cases: tuple[dict[str, int], ...] = ()


class Choice(Record):
    """One free parameter of a sketch: `key` is "kernel.NAME"."""

    key: str
    choices: tuple[int | str, ...]
    default: int | str


class Schedule(Record):
    """A value for Tune parameters by key; a missing key takes its default."""

    values: dict[str, int | str] = Field(default_factory=dict)


class KernelSource(Record):
    """Generated `files` by path; `entry` defines `ModelNew`; `line_map`: "path:line" to a line of the sketch."""

    plugin: str
    target: Target
    files: dict[str, str]
    entry: str = "model_new.py"
    line_map: dict[str, int] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _entry_exists_and_files_stay_inside(self) -> KernelSource:
        if self.entry not in self.files:
            raise ValueError(f"the entry {self.entry!r} is not one of the files")
        for name in self.files:
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts or not path.name:
                raise ValueError(f"the file {name!r} is outside of the kernel's folder")
        return self


class Artifact(Record):
    """A built kernel: a folder holding the entry file and everything that it loads."""

    folder: Path
    entry: str = "model_new.py"


class Shortage(Record):
    """A `kernel` of the sketch `needs` more `of` something than its chip `has`; 0 where nobody knows how much."""

    kernel: str
    of: str
    needs: int = 0
    has: int

    def __str__(self) -> str:
        return f"{self.kernel} needs {f'{self.needs} of' if self.needs else 'more than'} {self.has} {self.of}"


class CompileResult(Record):
    """The outcome of a build. A compile error is a result: `ok` is false and `log` says why.

    `details`: what the compiler tells of each kernel: "softmax.registers"; what has many "spilled_bytes" is not timed.
    `shortages`: why it failed where the chip has too little of something. `spilled`: bytes that all threads of a
    program spill together, by kernel of the sketch.
    """

    ok: bool
    seconds: float
    artifact: Artifact | None = None
    log: Shown = ""
    cached: bool = False
    details: dict[str, Scalar] = Field(default_factory=dict)
    shortages: tuple[Shortage, ...] = ()
    spilled: dict[str, int] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _artifact_exactly_when_ok(self) -> CompileResult:
        if self.ok != (self.artifact is not None) or (self.ok and self.shortages):
            raise ValueError("a build has an artifact exactly when it is ok, and then no shortages")
        return self
