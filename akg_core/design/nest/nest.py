"""A loop nest before it has tiles: axes, what is reduced, contracted or scanned over them, and what is stored.

`refined` makes its axes as few as the memory walked allows: an axis that a reshape cuts is split, and neighbours that
every tensor sees as one are merged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise

from akg_core.design.algebra.index import (
    Axis,
    Index,
    Quotient,
    Remainder,
    flatten,
    index,
    position,
    product,
    unflatten,
)
from akg_core.design.graph.anchors import Anchor
from akg_core.design.graph.values import Positions, Reduction, Shape
from akg_core.design.nest.terms import Buffer, Data, Load, Place, Result, Term, TermTable, below, read_by, rewritten


@dataclass(frozen=True, slots=True)
class Store:
    """`term` written to a buffer's place `at`; `op`: "store", or how a scatter joins what is there."""

    buffer: Buffer
    at: Positions
    term: Term
    op: str = "store"

    @property
    def roots(self) -> list[Term]:
        """The terms that the store reads, those inside its positions included."""
        return [self.term, *read_by(self.at)]


@dataclass(frozen=True, slots=True)
class Head:
    """What a nest reduces, contracts or scans: `of` the value's own record, `args` its arguments as terms."""

    of: Reduction | Anchor
    args: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Nest:
    """`axes` in the order of the space; `reduced`: what heads reduce or contract; `fixed`: must stay as they are."""

    pool: TermTable
    axes: tuple[Axis, ...]
    reduced: frozenset[Axis]
    heads: tuple[Head, ...]
    stores: tuple[Store, ...]
    fixed: frozenset[Axis] = frozenset()
    batch: frozenset[Axis] = field(default_factory=frozenset)

    @property
    def kept(self) -> tuple[Axis, ...]:
        return tuple(a for a in self.axes if a not in self.reduced)

    def terms(self) -> list[Term]:
        """All terms, parts before wholes."""
        return below([*(t for h in self.heads for t in h.args), *(t for s in self.stores for t in s.roots)])

    def dims(self) -> set[Index]:
        """The sizes of all dims that a kernel of this nest sees of its tensors."""
        places = [(s.at, s.buffer.shape) for s in self.stores]
        places += [(t.at, t.buffer.shape) for t in self.terms() if isinstance(t, Load)]
        return {size for place in places for s in segments(*place) for _, size in factored(s)}


@dataclass(frozen=True, slots=True)
class Segment:
    """Neighbouring dims of a tensor walked as one: `offset` in [0, `extent`), made of `at` in `shape`.

    `safe`: each position is proved to be inside its dim; an unsafe segment is one dim.
    """

    offset: Index
    extent: Index
    at: Positions
    shape: Shape
    safe: bool


@lru_cache(maxsize=16384)  # a nest that is refined asks for the same ones after each step
def segments(at: Positions, shape: Shape) -> tuple[Segment, ...]:
    """The dims of an access, joined where they are safe."""
    found: list[Segment] = []
    run: list[tuple[Index, Index]] = []

    def close() -> None:
        if run:
            where, sizes = tuple(p for p, _ in run), tuple(s for _, s in run)
            found.append(Segment(flatten(where, sizes), product(sizes), where, sizes, True))
            run.clear()

    for p, size in zip(at, shape, strict=True):
        if p.within(0, size):
            run.append((p, size))
        else:
            close()
            found.append(Segment(p, size, (p,), (size,), False))
    close()
    return tuple(found)


def walked(nest: Nest) -> list[Index]:
    """Every way in which the nest's positions are used: as offsets into memory and as numbers."""
    found: list[Index] = [s.offset for store in nest.stores for s in segments(store.at, store.buffer.shape)]
    for term in nest.terms():
        if isinstance(term, Load):
            found += [s.offset for s in segments(term.at, term.buffer.shape)]
        elif isinstance(term, Place):
            found.append(term.index)
    return found


def refined(nest: Nest) -> Nest:
    """The nest with axes split where a quotient or a remainder cuts them, then merged where all walks agree."""
    nest = _changed(nest, {a: index(0) for a in nest.axes if a.extent == 1})
    while (cut := _find_cut(nest)) is not None:
        nest, _ = parted(nest, *cut)
    while (pair := _find_pair(nest)) is not None:
        outer, inner = pair
        whole = Axis(outer.name, outer.extent * inner.extent)
        both = position(whole)
        nest = _changed(nest, {outer: both // inner.extent, inner: both % inner.extent}, {outer: (whole,), inner: ()})
    return nest


def without_places(nest: Nest) -> Nest:
    """The nest with extremes whose places nobody asks for as plain ones."""
    asked = {(t.head, t.part) for t in nest.terms() if isinstance(t, Result)}
    plain: dict[Reduction | Anchor, Reduction] = {}
    for head in nest.heads:
        if isinstance(head.of, Reduction) and head.of.kind.startswith("arg") and (head.of, 1) not in asked:
            plain[head.of] = replace(head.of, kind=head.of.kind.removeprefix("arg"))
    if not plain:
        return nest
    free = nest.reduced if all(h.of in plain for h in nest.heads) else frozenset()
    return replace(with_results(nest, plain), fixed=nest.fixed - free)


def with_results(nest: Nest, new: Mapping[Reduction | Anchor, Reduction]) -> Nest:
    """The nest with other reductions in the place of what it reduces or contracts, their first results for its own."""
    pool = nest.pool
    terms: dict[Term, Term] = {}
    for term in nest.terms():
        if isinstance(term, Result):
            terms[term] = pool.result(new[term.head], 0, term.dtype) if term.head in new else term
        elif type(term) is Term:
            terms[term] = pool.apply(term.op, tuple(terms[a] for a in term.args), term.dtype, term.name)
        else:
            terms[term] = term
    heads = tuple(Head(new.get(h.of, h.of), tuple(terms[a] for a in h.args)) for h in nest.heads)
    return replace(nest, heads=heads, stores=tuple(replace(s, term=terms[s.term]) for s in nest.stores))


def parted(nest: Nest, axis: Axis, size: Index) -> tuple[Nest, tuple[Axis, Axis]]:
    """The nest with an axis as two, the inner one of `size`, which divides its extent; and these two."""
    outer, inner = (Axis(f"{axis.name}{n}", e) for n, e in ((0, axis.extent // size), (1, size)))
    return _changed(nest, {axis: position(outer) * size + position(inner)}, {axis: (outer, inner)}), (outer, inner)


def fused(nest: Nest, axes: Sequence[Axis]) -> Nest:
    """The nest with neighbouring `axes`, outermost first, as one whose digits they are."""
    if len(axes) < 2:
        return nest
    whole = Axis("".join(a.name for a in axes), product(a.extent for a in axes))
    digits = unflatten(position(whole), [a.extent for a in axes])
    listed: dict[Axis, tuple[Axis, ...]] = dict.fromkeys(axes, ())
    return _changed(nest, dict(zip(axes, digits, strict=True)), listed | {axes[0]: (whole,)})


def widened(nest: Nest, extents: dict[Axis, Index]) -> Nest:
    """The nest with axes of other extents: positions that it then has beyond a tensor load 0 and store nothing."""
    new = {a: Axis(a.name, extent) for a, extent in extents.items() if extent != a.extent}
    return _changed(nest, {a: position(b) for a, b in new.items()}, {a: (b,) for a, b in new.items()})


def _find_cut(nest: Nest) -> tuple[Axis, Index] | None:
    for walk in walked(nest):
        for atom in sorted(walk.atoms(), key=repr):
            if isinstance(atom, (Quotient, Remainder)) and len(atom.top.terms) == 1:
                ((monomial, coefficient),) = atom.top.terms
                axis = monomial[0] if len(monomial) == 1 and coefficient == 1 else None
                if isinstance(axis, Axis) and axis not in nest.fixed and axis.extent.exact(atom.bottom) is not None:
                    return axis, atom.bottom
    return None


def _find_pair(nest: Nest) -> tuple[Axis, Axis] | None:
    walks = walked(nest)
    for outer in nest.axes:
        for inner in nest.axes:
            apart = outer == inner or {outer, inner} & nest.fixed or (outer in nest.reduced) != (inner in nest.reduced)
            if (
                not apart
                and (outer in nest.batch) == (inner in nest.batch)
                and all(_as_one(walk, outer, inner) for walk in walks)
            ):
                return outer, inner
    return None


def stored_in_a_row(nest: Nest, axes: Sequence[Axis]) -> bool:
    """Whether results along these axes, outermost first, lie in memory as along one that they are digits of."""
    walks = [s.offset for store in nest.stores for s in segments(store.at, store.buffer.shape)]
    return all(_as_one(walk, *pair) for walk in walks for pair in pairwise(axes))


def _as_one(walk: Index, outer: Axis, inner: Axis) -> bool:
    far, near = walk.coefficient(outer), walk.coefficient(inner)
    return far is not None and near is not None and far == near * inner.extent


def _changed(nest: Nest, new: dict[Axis, Index], axes: dict[Axis, tuple[Axis, ...]] | None = None) -> Nest:
    """The nest with axes replaced in all positions, and in its lists by those of `axes` (dropped when not there)."""
    if not new:
        return nest
    axes = axes if axes is not None else {}

    def listed(old: tuple[Axis, ...] | frozenset[Axis]) -> tuple[Axis, ...]:
        return tuple(b for a in old for b in (axes.get(a, ()) if a in new else (a,)))

    def change(walk: Index) -> Index:
        return walk.replace(lambda atom: new.get(atom) if isinstance(atom, Axis) else None)

    roots = [*(t for h in nest.heads for t in h.args), *(t for s in nest.stores for t in s.roots)]
    terms = rewritten(nest.pool, roots, change)

    def moved(at: Positions) -> Positions:
        return tuple(
            change(p.replace(lambda a: position(Data(terms[a.term])) if isinstance(a, Data) else None)) for p in at
        )

    return replace(
        nest,
        axes=listed(nest.axes),
        reduced=frozenset(listed(nest.reduced)),
        batch=frozenset(listed(nest.batch)),
        heads=tuple(replace(h, args=tuple(terms[t] for t in h.args)) for h in nest.heads),
        stores=tuple(replace(s, at=moved(s.at), term=terms[s.term]) for s in nest.stores),
    )


def factored(segment: Segment) -> tuple[tuple[Index, Index], ...]:
    """(position, size) of each dim that a kernel sees of a segment: one dim an axis where that is possible."""
    digits = _digits(segment) if segment.safe else None
    return digits if digits is not None else tuple(zip(segment.at, segment.shape, strict=True))


def _digits(segment: Segment) -> tuple[tuple[Index, Index], ...] | None:
    offset = segment.offset
    axes = [m[0] for m, _ in offset.terms if len(m) == 1 and isinstance(m[0], Axis)]
    axes += [a for m, _ in offset.terms if len(m) > 1 for a in m if isinstance(a, Axis)]
    strides: dict[Axis, Index] = {}
    rest = offset
    for axis in dict.fromkeys(axes):
        stride = offset.coefficient(axis)
        if stride is None:
            return None
        strides[axis] = stride
        rest = rest - stride * position(axis)
    if rest.constant is None:
        return None
    digit: dict[Axis, Index] = {}
    start = rest
    for axis, stride in strides.items():
        digit[axis] = position(axis)
        if all(c < 0 for _, c in stride.terms):  # walked backwards
            strides[axis] = -stride
            start = start + stride * (axis.extent - 1)
            digit[axis] = axis.extent - 1 - position(axis)
    if start.constant is None:
        return None
    found: list[tuple[Index, Index]] = []
    room, left = segment.extent, start.constant
    ordered = sorted(strides, key=lambda a: -strides[a].example)
    for axis in ordered:
        size, stride = room.exact(strides[axis]), strides[axis]
        if size is None or (left and stride.constant is None):
            return None
        shift = left // (stride.constant or 1) if left else 0
        left -= shift * (stride.constant or 0)
        if not (size - shift - axis.extent).nonnegative:
            return None
        found.append((digit[axis] + shift, size))
        room = stride
    if room != 1 or not found:
        found.append((index(left), room))
    elif left:
        return None
    return tuple(found) if found != [(index(0), index(1))] else ()
