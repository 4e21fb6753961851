"""What a scatter becomes: updates in several parts, or rows that each program fills and then updates."""

from __future__ import annotations

from dataclasses import replace

from akg_core.design.algebra.index import Axis, index, position
from akg_core.design.fuse.cluster import Cluster, Target
from akg_core.design.graph.anchors import AnchorKey
from akg_core.design.graph.distribute import distributed
from akg_core.design.graph.values import Concat, Positions, Scatter, View
from akg_core.design.nest.terms import Buffer


def pieces(head: Scatter, done: set[AnchorKey]) -> list[Scatter]:
    """A scatter as one for each part of what is put together for it alone."""
    joined = head.updates if isinstance(head.updates, Concat) else distributed(head.updates, done)
    if joined is None or joined in done:
        return [head]
    return [_piece(head, joined, number) for number in range(len(joined.parts))]


def _piece(head: Scatter, joined: Concat, number: int) -> Scatter:
    part = joined.parts[number]

    def there(at: Positions) -> Positions:
        return joined.place(number, at)

    places = tuple(View(p, there, shape=part.shape, dtype=p.dtype) for p in head.places)
    return replace(head, updates=part, places=places, rule=lambda at, found: head.rule(there(at), found))


def own_dims(head: Scatter) -> int:
    """How many of the first dims an update shares with its place, so that rows along the others are apart."""
    base, updates = head.base.shape, head.updates.shape
    at = tuple(index(0) if s == 1 else position(Axis(f"a{d}", s)) for d, s in enumerate(updates))
    into = head.rule(at, tuple(position(Axis(f"p{n}", head.base.size)) for n in range(len(head.places))))
    same = [into[d] == at[d] and base[d] == updates[d] for d in range(min(len(base), len(updates)))]
    return [*same, False].index(False)


def by_rows(head: Scatter, buffer: Buffer, own: int) -> Cluster:
    """A cluster of programs that fill rows of a tensor and then update them; the first `own` dims are those of rows."""
    space = (*head.base.shape, *head.updates.shape[own:])
    filled = Target(head.base, buffer, buffer.place)
    updated = Target(head.updates, buffer, buffer.place, head)
    return Cluster("scatter", space, frozenset(range(own, len(head.base.shape))), targets=[filled, updated])
