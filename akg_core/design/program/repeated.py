"""A loop of the program: what its turns launch, and which tensor, or which row of one, each launch is handed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from akg_core.design.algebra.index import Index, index
from akg_core.design.fuse.cluster import Looped
from akg_core.design.graph.states import Loop
from akg_core.design.graph.values import Shape
from akg_core.design.kernels.builder import Emitted
from akg_core.design.kernels.writer import Parameter
from akg_core.design.nest.terms import Buffer


@dataclass(frozen=True, slots=True)
class Row:
    """A tensor of a turn that is a row of another: row `first + step * t` of `of` in turn t."""

    of: Buffer
    first: Index
    step: int

    def number(self, turn: Index) -> Index:
        """Which row it is in a turn."""
        return self.first + turn * self.step


@dataclass(frozen=True, slots=True)
class Part:
    """What a launch sees of a tensor in the dims `whole`: of its first dim `start + each * n` and what follows, n being
    the row that its block begins at."""

    whole: Shape
    each: int
    start: int


@dataclass(frozen=True, slots=True)
class Block:
    """`made` is launched before each block of so many `turns`, for rows that these read alone: `first + step * b` and
    those after it in block b. `parts`: of its tensors, those that it sees a part of."""

    turns: int
    made: Emitted
    parts: Mapping[Buffer, Part]
    first: Index
    step: int


@dataclass(frozen=True, slots=True)
class Repeated:
    """`body` is launched in each of `steps` turns. `rows`: its tensors that are rows of others; of what its `block`
    makes, the row in that block."""

    steps: Index
    rows: Mapping[Buffer, Row]
    body: tuple[Emitted, ...]
    block: Block | None = None

    @property
    def launches(self) -> tuple[Emitted, ...]:
        """All launches of a turn, those before a block first."""
        return (*((self.block.made,) if self.block else ()), *self.body)

    @property
    def parameters(self) -> list[Parameter]:
        """What the turns read and write, by the tensors outside of the loop."""
        return [
            replace(p, buffer=self.rows[p.buffer].of) if p.buffer in self.rows else p
            for launch in self.launches
            for p in launch.parameters
        ]

    def changed(self, new: Iterator[Emitted]) -> Repeated:
        """The same turns with other launches."""
        block = replace(self.block, made=next(new)) if self.block else None
        return replace(self, body=tuple(next(new) for _ in self.body), block=block)


Step = Emitted | Repeated


def repeated(loop: Loop, looped: Looped, inner: Mapping[str, Sequence[Buffer]], made: Sequence[Emitted]) -> list[Step]:
    """The launches `made` for one turn as a loop, after those that do the same in every turn.

    `inner`: the tensors of a turn, by what they are: "now", "before", "held", "after".
    """
    start, way = (loop.steps - 1, -1) if loop.reverse else (index(0), 1)
    behind, ahead = (loop.steps, start) if loop.reverse else (start, index(1))
    rows = {b: Row(of, first + start, way) for b, (of, first) in zip(inner["now"], looped.given, strict=True)}
    rows |= {b: Row(of, behind, way) for b, of in zip(inner["before"], looped.states, strict=True)}
    rows |= {b: Row(of, ahead, way) for b, of in zip(inner["after"], looped.states, strict=True)}
    same = dict(zip(inner["held"], looped.fixed, strict=True))
    launches = []
    for launch in made:
        handed = [replace(p, buffer=same.get(p.buffer, p.buffer)) for p in launch.parameters]
        launches.append(replace(launch, parameters=handed))
    steady = _steady(launches, set(rows))
    turn = tuple(launch for number, launch in enumerate(launches) if number not in steady)
    return [*(launches[number] for number in sorted(steady)), Repeated(loop.steps, rows, turn)]


def _steady(launches: Sequence[Emitted], rows: set[Buffer]) -> set[int]:
    """The numbers of the launches that neither read nor write what differs from turn to turn."""
    varying, found = set(rows), set(range(len(launches)))
    before = -1
    while before != len(found):
        before = len(found)
        for number in sorted(found):
            if any(p.buffer in varying for p in launches[number].parameters):
                found.remove(number)
                varying |= {p.buffer for p in launches[number].parameters if p.written}
    return found


def changed(steps: Iterable[Step], change: Callable[[list[Emitted]], list[Emitted]]) -> list[Step]:
    """The same steps, all their launches changed together."""
    listed = list(steps)
    new = iter(change(kernels(listed)))
    return [step.changed(new) if isinstance(step, Repeated) else next(new) for step in listed]


def kernels(steps: Iterable[Step]) -> list[Emitted]:
    """All launches of the steps, in order."""
    return [e for step in steps for e in (step.launches if isinstance(step, Repeated) else (step,))]
