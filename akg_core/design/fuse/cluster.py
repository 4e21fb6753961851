"""A cluster is a kernel to be: a space of positions, the anchors made over it, and the values that it stores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from akg_core.design.algebra.index import Axis, Index, flatten, index, position, unflatten
from akg_core.design.graph.anchors import AnchorKey, anchor_of, operands
from akg_core.design.graph.states import Loop
from akg_core.design.graph.values import Pointwise, Positions, Reduction, Scatter, Shape, Value, View
from akg_core.design.nest.terms import Buffer


@dataclass(frozen=True, eq=False, slots=True)
class Target:
    """A value to be stored at `place(position)` of a buffer.

    `into`: the scatter whose updates the value is; `place` then is of the positions that this computes.
    """

    value: Value
    buffer: Buffer
    place: Callable[[Positions], Positions]
    into: Scatter | None = None

    @property
    def roots(self) -> tuple[Value, ...]:
        """What has to be known for the store."""
        return (self.value,) if self.into is None else (self.value, *self.into.places)


@dataclass(frozen=True, slots=True)
class Looped:
    """The tensors of a loop: those of its `given` values, each with its first row, and of its `fixed` ones, and one for
    each state."""

    given: tuple[tuple[Buffer, Index], ...]
    fixed: tuple[Buffer, ...]
    states: tuple[Buffer, ...]

    @property
    def read(self) -> tuple[Buffer, ...]:
        """The tensors of what turns read beside states."""
        return (*(buffer for buffer, _ in self.given), *self.fixed)


@dataclass(eq=False, slots=True)
class Cluster:
    """`space` with its `reduced` dims; `split`: the reduced dims are shared by several programs (two kernels).

    Of a "scatter", whose programs fill rows and update them, the first target fills, along the dims that are `reduced`;
    updates, and whatever else is stored, have the dims after those.
    """

    kind: str
    space: Shape
    reduced: frozenset[int]
    split: bool = False
    heads: list[AnchorKey] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)
    key: tuple[tuple[Index, bool], ...] = field(init=False)

    def __post_init__(self) -> None:
        self.key = tuple((s, d in self.reduced) for d, s in enumerate(self.space) if s != 1)

    def positions(self) -> tuple[Positions, Positions]:
        """Positions over the whole space, and over its kept dims only."""
        full = tuple(index(0) if s == 1 else position(Axis(f"a{d}", s)) for d, s in enumerate(self.space))
        return full, tuple(p for d, p in enumerate(full) if d not in self.reduced)

    @property
    def kept(self) -> Shape:
        return tuple(s for d, s in enumerate(self.space) if d not in self.reduced)

    def roots(self) -> list[Value]:
        """What the heads are made of, and what is stored."""
        args = [a for h in self.heads for a in _arguments(h)]
        return args + [root for t in self.targets for root in t.roots]

    def moved(self, value: Value, at: Positions) -> Positions | None:
        """Where `value` has what a head has `at`, when it is that head moved by transposes and reshapes."""
        if anchor_of(value) in self.heads:
            return at
        if isinstance(value, Pointwise):
            return next((p for p in (self.moved(a, at) for a in value.args) if p is not None), None)
        if not isinstance(value, View) or value.move is None:
            return None
        below, (move, arguments) = self.moved(value.arg, at), value.move
        if below is None or move not in ("permute", "reshape"):
            return None
        if move == "permute":
            return tuple(below[d.constant or 0] for d in arguments)
        return unflatten(flatten(below, value.arg.shape), value.shape)


class Clusters:
    """Clusters in an order in which they can run."""

    def __init__(self) -> None:
        self._order: list[Cluster] = []
        self._ranks: dict[Cluster, int] = {}

    def __iter__(self) -> Iterator[Cluster]:
        return iter(self._order)

    def __len__(self) -> int:
        return len(self._order)

    def __contains__(self, cluster: Cluster) -> bool:
        return cluster in self._ranks

    def rank(self, cluster: Cluster | None) -> int:
        """Where a cluster stands; -1 for None."""
        return -1 if cluster is None else self._ranks[cluster]

    def between(self, start: int, stop: int | None = None) -> list[Cluster]:
        return self._order[start:stop]

    def add(self, cluster: Cluster, before: Cluster | None = None) -> None:
        """Put a cluster at the end, or before another."""
        if before is None:
            self._ranks[cluster] = len(self._order)
            self._order.append(cluster)
        else:
            self._order.insert(self.rank(before), cluster)
            self._number()

    def remove(self, cluster: Cluster) -> None:
        del self._order[self._ranks.pop(cluster)]
        self._number()

    def _number(self) -> None:
        self._ranks = {cluster: rank for rank, cluster in enumerate(self._order)}


def _arguments(head: AnchorKey) -> tuple[Value, ...]:
    if isinstance(head, Reduction):
        return (head.arg,)
    return (*head.given, *head.initial, *head.fixed) if isinstance(head, Loop) else operands(head)
