"""What a sketch is under schedules, as worker jobs: what it moves and computes, holds, and takes to simulate."""

from __future__ import annotations

from akg_core.lower.interpretation_steps import steps
from akg_core.lower.resources.fitting import Holding
from akg_core.lower.resources.work import Work, work
from akg_core.records import Schedule, Sketch
from akg_core.sketch.ast import SketchFile
from akg_core.sketch.check import require
from akg_core.sketch.parse import parse
from akg_core.worker.job import Job


@Job
def work_job(sketch: Sketch, schedules: tuple[Schedule, ...]) -> tuple[tuple[Work, ...], ...]:
    """What each launch does, for each schedule."""
    tree = _tree(sketch)
    return tuple(tuple(work(tree, schedule)) for schedule in schedules)


@Job
def held_job(sketch: Sketch, schedules: tuple[Schedule, ...], copies: int) -> tuple[int, ...]:
    """The most bytes of tiles that a program holds at once, for each schedule."""
    return tuple(map(Holding(_tree(sketch), sketch.symbols, copies).most, schedules))


@Job
def steps_job(sketch: Sketch, schedule: Schedule, sizes: tuple[dict[str, int], ...]) -> tuple[float, ...]:
    """How much it is to run a sketch by simulation at each of some sizes; see `lower.interpretation_steps`."""
    tree = _tree(sketch)
    return tuple(steps(tree, schedule, given) for given in sizes)


def _tree(sketch: Sketch) -> SketchFile:
    """The checked tree of a sketch."""
    return require(parse(sketch.text, sketch.name), sketch.name)
