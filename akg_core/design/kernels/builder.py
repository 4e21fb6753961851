"""A refined nest with its tiling becomes a kernel of the language."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce

from akg_core.design.algebra.index import Axis, Index
from akg_core.design.graph.anchors import Anchor
from akg_core.design.graph.values import Reduction
from akg_core.design.kernels.dead_code import without_unread
from akg_core.design.kernels.reduction import RESULTS, ReductionBuilder
from akg_core.design.kernels.writer import Parameter, Writer
from akg_core.design.nest.accesses import stage_of
from akg_core.design.nest.nest import Head, Nest, Store
from akg_core.design.nest.terms import Buffer, Constant, Place, Result, Term, axes_of, below, inputs, read_by
from akg_core.design.nest.tiling import WHOLE, Step, Tiling
from akg_core.sketch.ast import (
    Assign,
    AxisList,
    Call,
    Effect,
    Expr,
    Grid,
    Group,
    Hints,
    Kernel,
    Name,
    Number,
    Statement,
    Text,
    Tiles,
    TuneParameter,
    Whole,
    call,
)
from akg_core.sketch.numerics import identity

_SCATTERED = {"set": "store", "add": "atomic_add", "max": "atomic_max", "min": "atomic_min"}
_TOGETHER = {"add": "reduce_sum", "max": "reduce_max", "min": "reduce_min"}
_KEPT_NAMES = ("m", "p", "q", "r", "s", "u", "v")
_REDUCED_NAMES = ("n", "k", "l", "j", "w", "y", "z")


@dataclass(frozen=True, slots=True)
class Emitted:
    """A kernel and what its tensor parameters stand for."""

    kernel: Kernel
    parameters: list[Parameter]


def name_axes(nest: Nest, order: tuple[Axis, ...]) -> dict[Axis, str]:
    """Letters for axes, in the order of their loops."""
    kept = [a for a in order if a not in nest.reduced]
    reduced = [a for a in order if a in nest.reduced]
    if not reduced:
        letters = ("i",) if len(kept) == 1 else ("m", "n", "p", "q", "r", "s", "u", "v")
        return dict(zip(kept, letters, strict=False))
    return dict(zip(kept, _KEPT_NAMES, strict=False)) | dict(zip(reduced, _REDUCED_NAMES, strict=False))


def ends(axis: str) -> tuple[Expr, Expr]:
    """Where the tile at hand of an axis begins and ends."""
    return call("begin", Name(axis)), call("end", Name(axis))


class KernelBuilder:
    """One kernel in the making. `stream(buffer)` says whether a store should go past the caches. `filled`: tensors that
    hold nothing before it."""

    def __init__(self, nest: Nest, names: dict[Axis, str], stream: Callable[[Store], bool]) -> None:
        self.nest = nest
        self.writer = Writer(names)
        self.writer.unjoin((store.buffer, store.at) for store in nest.stores)
        self.tunes: list[TuneParameter] = []
        self.stream, self.filled = stream, frozenset[Buffer]()
        self.terms = nest.terms()
        dims = nest.dims()
        self.writer.bind_sizes(a.extent for a in nest.axes if a.extent in dims)

    def axis(self, axis: Axis) -> str:
        return self.writer.axis_names[axis]

    def extent(self, axis: Axis) -> Expr:
        return self.writer.size(axis.extent)

    def step(self, axis: Axis, step: Step) -> Expr:
        """A tile's size, a parameter when there is a choice."""
        if len(step.choices) < 2:
            return Number(step.default)
        name = f"B{self.axis(axis).upper()}"
        if name not in [t.name for t in self.tunes]:
            self.tunes.append(TuneParameter(name, step.choices, step.default))
        return Name(name)

    def number_chunks(self, chunk: Axis, size: int) -> None:
        """Each program has one chunk, of so many positions "g", whose number is `chunk`."""
        self.writer.names.add("g")
        self.writer.special[chunk] = ends("g")[0] // size

    def store(self, store: Store) -> Statement:
        hints = (("stream", Number(True)),) if store.op == "store" and self.stream(store) else ()
        partly = store.op != "store" and store.buffer not in self.filled
        element = self.writer.element(store.buffer, store.at, write=True, partly=partly)
        op = store.op if store.op == "store" else _SCATTERED[store.op]
        value = self._together(store) if store.op in _TOGETHER else self.writer.expression(store.term)
        return Effect(Call(op, (element, value), hints))

    def _together(self, store: Store) -> Expr:
        """What is joined with a place: all updates of a tile together that differ in axes which the place lacks."""
        read, kept = read_by(store.at), frozenset(self.nest.kept)
        known = axes_of(below([store.term, *read]), kept)
        lost = kept.difference(*(walk.axes() for walk in store.at), *(known[term] for term in read))
        if not lost:
            return self.writer.expression(store.term)
        names = sorted(self.axis(a) for a in lost)
        over = Name(names[0]) if len(names) == 1 else Group(tuple(map(Name, names)))
        return call(_TOGETHER[store.op], self._spread(store.term, lost - known[store.term]), over)

    def _spread(self, term: Term, missing: frozenset[Axis]) -> Expr:
        """A term along axes that it does not vary along, too."""
        if not missing:
            return self.writer.expression(term)
        names = AxisList(tuple(sorted(self.axis(a) for a in missing)))
        nothing = Number(identity("any" if term.dtype == "bool" else "sum", term.dtype))
        same = Call("full", (names, nothing, Text(term.dtype)))
        return call("|" if term.dtype == "bool" else "+", self.writer.expression(term), same)

    def stores(self, stores: list[Store]) -> list[Statement]:
        """The stores, after names for what they share."""
        out = self.writer.named(self.terms, [t for s in stores for t in s.roots])
        return out + [self.store(s) for s in stores]

    def wholes(self, axes: Iterable[Axis]) -> list[Statement]:
        return [Whole(self.axis(a), self.extent(a)) for a in axes]

    def in_grid(
        self,
        grid: tuple[tuple[Axis, Step], ...],
        body: list[Statement],
        rows: tuple[Axis, ...] = (),
        cooperative: Axis | None = None,
        hints: Hints = (),
    ) -> list[Statement]:
        """`body` for each tile of `grid`; of `rows`, for each position of the tile, one after the other.

        Programs along `cooperative` run together. `hints`: on the innermost grid.
        """
        tiles = {axis: self.writer.fresh("g") for axis in rows}
        steps = dict(grid)
        for axis in reversed(rows):
            start, stop = ends(tiles[axis])
            unrolled: Hints = (("unroll", Number(steps[axis].default)),)
            body = [Tiles(self.axis(axis), self.extent(axis), Number(1), tuple(body), start, stop, False, unrolled)]
        for axis, step in reversed(grid):
            own: Hints = (("cooperative", Number(True)),) if axis == cooperative else ()
            own += hints if axis == grid[-1][0] else ()
            name = tiles.get(axis, self.axis(axis))
            body = [Grid(name, self.extent(axis), self.step(axis, step), tuple(body), own)]
        return body

    def looped(
        self, loops: Iterable[tuple[Axis, Step]], body: list[Statement], chunked: bool, reverse: bool = False
    ) -> list[Statement]:
        """`body` for each tile of `loops`, of whose first one `chunked` programs have a part each."""
        for number, (axis, step) in reversed(list(enumerate(loops))):
            if step is not WHOLE:
                start, stop = ends("g") if chunked and number == 0 else (None, None)
                hints: Hints = (("unroll", Number(step.unroll)),) if step.unroll > 1 else ()
                hints += (("stages", Number(step.stages)),) if step.stages else ()
                name, size = self.axis(axis), self.step(axis, step)
                body = [Tiles(name, self.extent(axis), size, tuple(body), start, stop, reverse, hints)]
        return body

    def kernel(self, name: str, body: list[Statement], doc: str = "") -> Emitted:
        declared, parameters = self.writer.declared()
        tunes = tuple(sorted(self.tunes, key=lambda t: t.name))
        kernel = Kernel(name, tuple(declared), (), tunes, without_unread(tuple(body)), doc)
        return Emitted(kernel, parameters)

    # --- reductions -----------------------------------------------------------------------------------

    def count(self, head: Reduction) -> Expr:
        """How many elements a result is made of."""
        total = head.count
        if total.constant is not None or total in self.writer.sizes:
            return self.writer.size(total)
        return reduce(operator.mul, (self.extent(a) for a in self.nest.axes if a in self.nest.reduced))

    def reducing(self, head: Reduction, tiling: Tiling, dtype: str) -> ReductionBuilder:
        kept = tuple(self.axis(a) for a, _ in tiling.grid) + tuple(self.axis(a) for a in tiling.inside)
        axes = tuple(self.axis(a) for a in tiling.reduced)
        cooperative = self.axis(tiling.cooperative) if tiling.cooperative else ""
        return ReductionBuilder(head.kind, dtype, axes, kept, self.writer.fresh, tiling.has_many_tiles, cooperative)

    def bind(self, head: Reduction | Anchor, results: tuple[Expr, ...]) -> None:
        for term in self.terms:
            if isinstance(term, Result) and term.head is head:
                self.writer.known[term] = results[term.part]

    def argument(self, term: Term, axes: frozenset[Axis], twice: bool, out: list[Statement]) -> Expr:
        """A reduction's argument over all of `axes`, by name when it is read twice."""

        missing = axes - axes_of(below([term]), frozenset(self.nest.kept))[term]
        if missing:
            value, name = self._spread(term, missing), self.writer.fresh("spread")
            out.append(Assign((name,), value))
            return Name(name)
        if twice:
            return self.writer.assign(term, out)
        return self.writer.expression(term)


def builder_of(nest: Nest, tiling: Tiling, stream: Callable[[Store], bool] = lambda store: False) -> KernelBuilder:
    """A kernel whose axes are named in the order of their loops."""
    order = (*(a for a, _ in tiling.grid), *tiling.inside, *(a for a, _ in tiling.loops))
    return KernelBuilder(nest, name_axes(nest, order), stream)


def emit_elementwise(nest: Nest, tiling: Tiling, name: str, stream: Callable[[Store], bool]) -> Emitted:
    """Stores of elementwise values."""
    order = (*(a for a, _ in tiling.grid), *tiling.inside)
    e = builder_of(nest, tiling, stream)
    # What does not vary along the innermost axis is computed once for all of it.
    roots = [t for s in nest.stores for t in s.roots]
    before = e.writer.hoisted(e.terms, roots, frozenset(order[-1:]), loads=False)
    body = [*e.wholes(tiling.inside), *before, *e.stores(list(nest.stores))]
    return e.kernel(name, e.in_grid(tiling.grid, body))


def _twice(head: Reduction) -> bool:
    return len(RESULTS[head.kind]) > 1


def emit_single_pass(nest: Nest, tiling: Tiling, name: str, stream: Callable[[Store], bool]) -> Emitted:
    """Reductions whose tile stays on the chip: loaded once, straight-line code."""
    e = builder_of(nest, tiling, stream)
    inside = frozenset(tiling.reduced)
    body = e.wholes(a for a, _ in tiling.loops if a != tiling.cooperative)
    roots = [*(h.args[0] for h in nest.heads), *(s.term for s in nest.stores)]
    for head in nest.heads:
        assert isinstance(head.of, Reduction)
        term = head.args[0]
        for part in _shared(e.writer, e.terms, roots, set(below([term]))):
            e.writer.assign(part, body)
        tile = e.argument(term, inside, _twice(head.of), body)
        reducing = e.reducing(head.of, tiling, term.dtype)
        weights = _weights(e.terms, head)
        results = reducing.whole(body, tile, e.count(head.of), keep=weights is not None)
        e.bind(head.of, results)
        if weights is not None:
            e.writer.known[weights] = results[-1]
    body += e.writer.hoisted(e.terms, [s.term for s in nest.stores], nest.reduced)
    body += e.stores(list(nest.stores))
    return e.kernel(name, e.in_grid(tiling.grid, body, tiling.rows, tiling.cooperative))


def _weights(terms: list[Term], head: Head) -> Term | None:
    """exp(x - peak), where what follows a softmax's sum needs it again."""
    if not isinstance(head.of, Reduction) or head.of.kind != "online_softmax":
        return None
    for term in terms:
        if term.op == "exp" and term.args[0].op == "-":
            x, peak = term.args[0].args
            if x is head.args[0] and isinstance(peak, Result) and peak.head is head.of and peak.part == 0:
                return term
    return None


def _shared(writer: Writer, terms: list[Term], roots: list[Term], among: set[Term]) -> list[Term]:
    """Terms among these that are used more than once anywhere in the kernel, and are worth a name."""
    uses: dict[Term, int] = {}
    for term in [*terms, None]:
        for part in roots if term is None else inputs(term):
            uses[part] = uses.get(part, 0) + 1
    return [
        t
        for t in terms
        if t in among and uses.get(t, 0) > 1 and t not in writer.known and not isinstance(t, (Constant, Place, Result))
    ]


def emit_looped(nest: Nest, tiling: Tiling, name: str, stream: Callable[[Store], bool]) -> Emitted:
    """Reductions over tiles, a pass for each that waits for another, and a last pass for what is stored elementwise."""
    e = builder_of(nest, tiling, stream)
    body = e.wholes(a for a, s in tiling.loops if s is WHOLE)
    stages = stage_of(nest)
    for stage in sorted(set(stages.values())):
        heads = [h for h in nest.heads if isinstance(h.of, Reduction) and stages[h.of] == stage]
        body += _pass(e, tiling, heads)
    rows = [s for s in nest.stores if not any(p.axes() & nest.reduced for p in s.at)]
    elements = [s for s in nest.stores if s not in rows]
    body += e.stores(rows)
    if elements:
        body += e.writer.hoisted(e.terms, [s.term for s in elements], nest.reduced)
        known = dict(e.writer.known)
        # Backwards: what was read last is nearest.
        body += e.looped(tiling.loops, e.stores(elements), bool(tiling.chunk), reverse=True)
        e.writer.known = known
    return e.kernel(name, e.in_grid(tiling.grid, body))


def _pass(e: KernelBuilder, tiling: Tiling, heads: list[Head]) -> list[Statement]:
    """One pass over the reduced axes; afterwards all parts of the heads' states are known."""
    inside = frozenset(a for a, _ in tiling.loops)
    roots = [h.args[0] for h in heads]
    out = e.writer.hoisted(e.terms, roots, inside)
    work = [(h.of, h.args[0], e.reducing(h.of, tiling, h.args[0].dtype)) for h in heads if isinstance(h.of, Reduction)]
    for _, _, reducing in work:
        reducing.start(out)
    known = dict(e.writer.known)
    inner = e.writer.named(e.terms, roots)
    for head, term, reducing in work:
        reducing.step(inner, e.argument(term, inside, _twice(head), inner))
    e.writer.known = known
    out += e.looped(tiling.loops, inner, bool(tiling.chunk))
    for head, _, reducing in work:
        e.bind(head, reducing.finish(out))
    return out


def emit_partials(nest: Nest, tiling: Tiling, chunk: Axis, name: str) -> Emitted:
    """States of reductions, one program a chunk of the first reduced axis; stored where the nest's stores say.

    `chunk` is the axis over chunks that the stores are indexed by.
    """
    e = builder_of(nest, tiling)
    e.number_chunks(chunk, tiling.chunk)
    body = e.wholes(a for a, s in tiling.loops if s is WHOLE)
    body += _pass(e, tiling, list(nest.heads))
    body += e.stores(list(nest.stores))
    body = [Grid("g", e.extent(tiling.loops[0][0]), Number(tiling.chunk), tuple(body))]
    return e.kernel(name, e.in_grid(tiling.grid, body))


def emit_merge(
    nest: Nest, tiling: Tiling, name: str, stream: Callable[[Store], bool], counts: dict[Reduction, Index]
) -> Emitted:
    """Results from the states of chunks, and what is stored of them."""
    e = builder_of(nest, tiling, stream)
    body = e.wholes(a for a, _ in tiling.loops)
    for head in nest.heads:
        assert isinstance(head.of, Reduction)
        parts = tuple(e.writer.expression(t) for t in head.args)
        reducing = e.reducing(head.of, tiling, head.args[0].dtype)
        known = counts[head.of]
        total = e.writer.size(known) if known.constant is not None else None
        e.bind(head.of, reducing.merge(body, parts, total))
    body += e.stores(list(nest.stores))
    return e.kernel(name, e.in_grid(tiling.grid, body))
