"""What the jobs of stages are given, and what they give: `stages.py` sends these records, `stage_jobs.py` answers."""

from __future__ import annotations

from akg_core.record import Record
from akg_core.records import (
    Advice,
    Choice,
    CompileResult,
    Finding,
    KernelSource,
    Schedule,
    Sketch,
    Target,
    Task,
    Traits,
)


class Addressed(Record):
    """What goes to one plugin, for one chip; the empty plugin is none, and None the chip that it finds."""

    plugin: str
    target: Target | None = None


class Design(Record):
    """A checked sketch, what it leaves to tuning, and the schedule that it would use by itself."""

    sketch: Sketch
    space: tuple[Choice, ...]
    default: Schedule


class GivenSketch(Record):
    """A sketch by hand: its text, and the name to call it by."""

    name: str
    text: str


class DesignInput(Addressed):
    """`number`: which of the designer's policies, the best guess first; `sketch`: one that takes their place."""

    task: Task
    traits: Traits
    number: int = 0
    sketch: GivenSketch | None = None


class Designed(Record):
    """What one variant of the designer's leads to, `of` so many."""

    designs: tuple[Design, ...]
    of: int


class RefusalsInput(Record):
    task: Task


class Refusals(Record):
    """Sentences, one for each operator that has no rule."""

    refused: tuple[str, ...]


class EmitInput(Addressed):
    sketch: Sketch
    schedule: Schedule


class Emitted(Record):
    """Source, and what the plugin finds forbidden in it."""

    source: KernelSource
    findings: tuple[Finding, ...]


class CompileInput(Addressed):
    """`folder`: an absolute path, where the files of the source are written and built."""

    source: KernelSource
    folder: str


class Compiled(Record):
    """`findings` by reading the source, where that was asked for; `compiled` is None where one of them is an error."""

    findings: tuple[Finding, ...] = ()
    compiled: CompileResult | None = None
    advice: tuple[Advice, ...] = ()


class CompileAllInput(Addressed):
    """Sources, each with its folder."""

    sources: tuple[KernelSource, ...]
    folders: tuple[str, ...]


class CompiledAll(Record):
    results: tuple[CompileResult, ...]


class ExplainInput(Addressed):
    """`log`: what a compiler or the runtime said."""

    log: str


class Explained(Record):
    advice: tuple[Advice, ...] = ()


class Scheduled(Record):
    """A sketch under each of some schedules."""

    sketch: Sketch
    schedules: tuple[Schedule, ...]


class Held(Record):
    """The most bytes of tiles that a program holds at once, for each schedule."""

    bytes: tuple[int, ...]


class Steps(Record):
    """How much it is to run a sketch by simulation, in operations on tiles, for each schedule."""

    steps: tuple[float, ...]
