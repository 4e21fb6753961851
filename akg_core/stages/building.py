"""A candidate becomes a kernel: one that does not fit, or spills more than it moves, is tried with smaller tiles.

Kernels that the compiler names get their largest tile one choice down, `STEPS` times at most. Where that does not cure
what they spill, the best that was built is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from akg_core.errors import AkgError, DoesNotFit, KernelFailed, SketchError, Unsupported, WorkerFailed
from akg_core.foreign import line_of
from akg_core.lower.resources.work import Work
from akg_core.records import Advice, KernelSource, Shortage, Sketch
from akg_core.sketch.schedule import smaller
from akg_core.spell import count_of
from akg_core.stages import stages
from akg_core.stages.stages import Candidate

if TYPE_CHECKING:
    from akg_core.worker.pool import Pool

STEPS = 3
ELSEWHERE = (KernelFailed, SketchError, Unsupported, WorkerFailed)  # errors that another sketch may be without
_NAMED = 3  # kernels in a sentence
_NOTICED = 0.01  # of all that is moved: what spills less costs less time than building anew is worth


@dataclass(frozen=True, slots=True)
class Spill:
    """A kernel whose threads spill more bytes in a call than its launches move."""

    kernel: str
    bytes: float
    moved: float

    def __str__(self) -> str:
        return f"{self.kernel} spills {self.bytes / 1e6:.3g} MB to move {self.moved / 1e6:.3g} MB"


def fitted(
    candidate: Candidate, pool: Pool, build: Callable[[Candidate], Candidate], tell: Callable[[Candidate, str], None]
) -> Candidate:
    """The candidate as `build` gives it, with smaller tiles where it takes these. Raises what is in its way.

    `tell` hears why something else is tried than the candidate.
    """
    found: list[tuple[float, Candidate]] = []  # what was built, and bytes that it spills too many
    trial, failure = candidate, None
    for left in reversed(range(STEPS + 1)):
        built = None
        try:
            built = build(trial)
        except DoesNotFit as error:
            failure, why = error, spell_shortages(error.shortages)
            following = smaller_of(trial, (each.kernel for each in error.shortages), every=True)
        else:
            over = _spills(pool, built)
            found.append((sum(spill.bytes for spill in over), built))
            why = _spell("spill more than they move" if len(over) > 1 else "spills more than it moves", over)
            following = smaller_of(trial, (spill.kernel for spill in over), every=False)
        if following is None or not left:
            break
        tell(candidate, f"{why}; tiles one choice down")
        trial = replace(following, instead_of=candidate.schedule)
    if failure and not found:
        raise failure
    _, best = min(found, key=lambda each: each[0])
    return best if best is built else build(best)


def spills(launches: Iterable[Work], spilled: dict[str, int]) -> list[Spill]:
    """The kernels that spill more than they move, and enough to show in the whole; `spilled`: what a program spills."""
    found: dict[str, Spill] = {}
    launches = list(launches)
    least = _NOTICED * sum(launch.bytes for launch in launches)
    for launch in launches:
        bytes = spilled.get(launch.kernel, 0) * launch.programs
        if bytes > launch.bytes:
            before = found.get(launch.kernel, Spill(launch.kernel, 0.0, 0.0))
            found[launch.kernel] = Spill(launch.kernel, before.bytes + bytes, before.moved + launch.bytes)
    return [spill for spill in found.values() if spill.bytes > least]


def smaller_of(candidate: Candidate, kernels: Iterable[str], *, every: bool) -> Candidate | None:
    """The candidate with the tiles of some kernels one choice down; None where none (`every`: not each) can be."""
    schedule, stepped = candidate.schedule, False
    for kernel in dict.fromkeys(kernels):
        following = smaller(candidate.design.space, schedule, kernel)
        if following is None and every:
            return None
        schedule, stepped = following or schedule, stepped or following is not None
    return Candidate(candidate.design, schedule) if stepped else None


def spell_shortages(shortages: Sequence[Shortage]) -> str:
    """ "1 kernel did not fit: depthwise needs 262144 of 232448 bytes of shared memory"."""
    return _spell("did not fit", shortages)


def unbuildable(unbuilt: Sequence[tuple[Candidate, AkgError]]) -> AkgError:
    """What to say when none of the sketches becomes a kernel, of which there is at least one."""
    (first, error), *others = unbuilt
    if not others:
        return error
    names = ", ".join(candidate.design.sketch.name for candidate, _ in others)
    said = f"None of {len(unbuilt)} sketches becomes a kernel. {first.design.sketch.name}: {error.message}"
    return KernelFailed(f"{said} Nor do {names}.", error.cure)


def explained(advice: Sequence[Advice], source: KernelSource, sketch: Sketch) -> str:
    """The first message of the compiler, on its line of the generated code, beside the line of the sketch."""
    if not advice:
        return "."
    first = advice[0]
    text = f": {first.problem.rstrip('.')}."
    name = next((n for n in source.files if f"{n}:{first.source_line}" in source.line_map), "")
    if name:
        text += f" {name}:{first.source_line} is `{line_of(source.files[name], first.source_line)}`"
        line = first.sketch_line or source.line_map[f"{name}:{first.source_line}"]
        text += f", from line {line} of the sketch, `{line_of(sketch.text, line)}`."
    return f"{text} {first.advice}".rstrip()


def _spills(pool: Pool, built: Candidate) -> list[Spill]:
    if not any(built.spilled.values()):
        return []
    (launches,) = stages.work(pool, built.design, [built.schedule])
    return spills(launches, built.spilled)


def _spell(what: str, named: Sequence[Shortage | Spill]) -> str:
    """So many kernels are in some way: the first of them, and what is known of each."""
    shown = ", ".join(map(str, named[:_NAMED])) + (", …" if len(named) > _NAMED else "")
    return f"{count_of(len(named), 'kernel')} {what}: {shown}"
