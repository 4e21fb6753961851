"""Horizontal fusion: products of one left operand whose results meet elementwise are summed in one kernel.

So the gates of a recurrent layer, or the halves of a gated linear unit, are not stored to be read again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace

from akg_core.design.algebra.index import Axis, Index, ceil_div, flatten, position, product, unflatten
from akg_core.design.fuse.cluster import Cluster
from akg_core.design.graph.values import Positions, Product
from akg_core.design.nest.nest import Head, Nest, Store
from akg_core.design.nest.terms import Buffer, Load, Result, Term, TermTable, below, read_by, rewritten
from akg_core.records import Traits

Nests = list[tuple[Cluster, Nest]]


def fused_horizontally(nests: Nests, held: Container[Buffer], traits: Traits) -> Nests:
    """The nests, those products in the one that reads them. `held`: tensors that are needed besides."""
    products = {n: made for n, (_, nest) in enumerate(nests) if (made := _maker(nest))}
    if traits.fused_products < 2 or not products:
        return nests
    found: dict[int, tuple[Cluster, Nest]] = dict(enumerate(nests))
    loaded = {n: {t.buffer for t in nest.terms() if isinstance(t, Load)} for n, (_, nest) in found.items()}
    stored = {n: {store.buffer for store in nest.stores} for n, (_, nest) in found.items()}
    readers, writers = (Counter(buffer for each in of.values() for buffer in each) for of in (loaded, stored))
    for number, (cluster, nest) in enumerate(nests):
        if cluster.kind != "map" and not _plain(nest):
            continue
        makers: dict[Buffer, tuple[int, _Maker]] = {}
        for n, maker in products.items():
            single = readers[maker.buffer] == writers[maker.buffer] == 1 and maker.buffer not in held
            if n < number and n in found and single and maker.buffer in loaded[number]:
                between = (stored[m] for m in range(n + 1, number + 1))
                if all(loaded[n].isdisjoint(each) for each in between):  # it would read the same here
                    makers[maker.buffer] = n, maker
        joined = _joined(nest, {buffer: maker for buffer, (_, maker) in makers.items()}, traits) if makers else None
        if joined is not None:
            whole, taken = joined
            found[number] = nests[makers[taken[0]][0]][0], whole
            for buffer in taken:
                del found[makers[buffer][0]]
            products.pop(number, None)  # and no other takes it in
    return list(found.values())


@dataclass(frozen=True, slots=True)
class _Maker:
    """A nest that does nothing but store a product, rows by columns, and what is elementwise of it."""

    nest: Nest
    store: Store
    product: Product

    @property
    def buffer(self) -> Buffer:
        return self.store.buffer

    @property
    def operands(self) -> tuple[Term, ...]:
        return self.nest.heads[0].args


def _plain(nest: Nest) -> Product | None:
    """The product that a nest makes, if it makes one, of matrices and in one way."""
    match nest.heads:
        case (Head(of=Product(guards=None) as made, args=(_, _)),) if len(nest.axes) == 3 and len(nest.reduced) == 1:
            return made
    return None


def _maker(nest: Nest) -> _Maker | None:
    match nest.stores:
        case (Store(op="store") as store,) if made := _plain(nest):
            return _Maker(nest, store, made)
    return None


def _joined(nest: Nest, makers: dict[Buffer, _Maker], traits: Traits) -> tuple[Nest, list[Buffer]] | None:
    """The nest with products of its own in the place of loads, and the tensors that it needs no longer."""
    loads: dict[Buffer, list[Load]] = {}
    for term in nest.terms():
        if isinstance(term, Load) and term.buffer in makers:
            loads.setdefault(term.buffer, []).append(term)
    looked_up = {t for term in nest.terms() if isinstance(term, Load) for t in below(read_by(term.at))}
    looked_up |= {t for store in nest.stores for t in below(read_by(store.at))}
    (contracted,) = nest.reduced or {Axis("contracted", next(iter(makers.values())).product.left.shape[-1])}
    heads, known, taken = list(nest.heads), dict[Term, Term](), list[Buffer]()
    for buffer, read in loads.items():
        made = [_moved(nest.pool, makers[buffer], load, nest.kept, contracted) for load in read]
        there = [each for each in made if each is not None]
        left = heads[0].args[0] if heads else there[0][0].args[0] if there else None
        if len(there) < len(read) or any(h.args[0] is not left for h, _ in there) or looked_up & set(read):
            continue
        heads += [head for head, _ in there]
        known |= {load: term for load, (_, term) in zip(read, there, strict=True)}
        taken.append(buffer)
    if not taken or len(heads) < 2 or not _worth_it(nest.kept, len(heads), traits):
        return None
    roots = [t for s in nest.stores for t in s.roots]
    new = rewritten(nest.pool, roots, known=known)
    stores = tuple(replace(store, term=new[store.term]) for store in nest.stores)
    return Nest(nest.pool, (*nest.kept, contracted), frozenset((contracted,)), tuple(heads), stores), taken


def _moved(
    pool: TermTable, maker: _Maker, load: Load, kept: Sequence[Axis], contracted: Axis
) -> tuple[Head, Term] | None:
    """The product that gives what is loaded, over the reader's axes, and the term of it that was stored; None where
    the reader's rows and columns are not those of the product, each once.
    """
    (row, column), (own,) = maker.nest.kept, maker.nest.reduced
    sizes = (row.extent, column.extent)
    stored = flatten(maker.store.at, maker.buffer.shape)
    if stored != flatten((position(row), position(column)), sizes) or own.extent != contracted.extent:
        return None
    rows, columns = unflatten(flatten(load.at, maker.buffer.shape), sizes)
    across = [a for a in kept if a in columns.axes()]
    down = [a for a in kept if a not in across and a.extent != 1]
    if (
        product(maker.buffer.shape) != product(sizes)
        or not across
        or not (_digits(rows, down) and _digits(columns, across))
    ):
        return None
    new: dict[object, Index] = {row: rows, column: columns, own: position(contracted)}

    def change(at: Index) -> Index:
        return at.replace(lambda atom: new.get(atom) if isinstance(atom, Axis) else None)

    head = replace(maker.product)  # one of its own, since a product may be read at several places
    results: dict[Term, Term] = {
        t: pool.result(head, t.part, t.dtype) for t in maker.nest.terms() if isinstance(t, Result)
    }
    terms = rewritten(pool, [*maker.operands, maker.store.term], change, results)
    return Head(head, tuple(terms[a] for a in maker.operands)), terms[maker.store.term]


def _digits(at: Index, axes: Sequence[Axis]) -> bool:
    """Whether a position goes through neighbours, one at each of all positions of these axes."""
    places: Positions = tuple(position(a) for a in axes)
    return (at - flatten(places, [a.extent for a in axes])).constant is not None


def _worth_it(kept: Sequence[Axis], products: int, traits: Traits) -> bool:
    """Whether one program may make so many, and tiles of them leave no unit without work."""
    *rows, columns = (a.extent for a in kept)
    tiles = product(rows).example // traits.dot_tile[0] or 1
    return products <= traits.fused_products and tiles * ceil_div(columns, 4 * traits.lanes).example >= 2 * traits.units
