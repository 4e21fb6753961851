"""Clusters become kernels, and a program that allocates, launches and returns: the text of a sketch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from akg_core.design.algebra.expression import parse_size, to_expr
from akg_core.design.algebra.index import Axis, ceil_div, index, position, product
from akg_core.design.fuse.anchors import partition_of
from akg_core.design.fuse.cluster import Cluster, Target
from akg_core.design.fuse.horizontal import fused_horizontally
from akg_core.design.fuse.loop_nest import nest_of
from akg_core.design.fuse.partition import Partition
from akg_core.design.fuse.sharing import shared
from akg_core.design.graph.reach import readers
from akg_core.design.graph.rules import SEED
from akg_core.design.graph.states import Loop, States
from akg_core.design.graph.values import Product, Reduction, Scatter, Shape, Source, Value, View, compute
from akg_core.design.kernels.builder import emit_elementwise, emit_looped, emit_merge, emit_partials, emit_single_pass
from akg_core.design.kernels.contraction import flattened, split_chunk
from akg_core.design.kernels.flash import emit_attention, tile_attention
from akg_core.design.kernels.multiplying import forms
from akg_core.design.kernels.reduction import RESULTS, state_dtypes, states
from akg_core.design.kernels.scan import emit_scan, scan_chunk, split_scan, tile_scan
from akg_core.design.kernels.scatter import emit_scatter, rows_are_filled, tile_scatter
from akg_core.design.kernels.segments import emit_segments, tile_segments
from akg_core.design.kernels.sort import emit_sort, tile_sort
from akg_core.design.kernels.symbols import with_sizes
from akg_core.design.nest.accesses import access_order, example
from akg_core.design.nest.cooperative import tile_cooperative
from akg_core.design.nest.nest import Head, Nest, Store, refined, with_results, without_places
from akg_core.design.nest.persistent import tile_persistent
from akg_core.design.nest.sliding import tile_windows
from akg_core.design.nest.terms import Buffer, Load, Result, below
from akg_core.design.nest.tiling import chunk_size, in_chunks, splits, tile
from akg_core.design.policy import Policy
from akg_core.design.program.blocked import in_blocks
from akg_core.design.program.in_place import in_place
from akg_core.design.program.inside import inside
from akg_core.design.program.joined_factors import without_joins
from akg_core.design.program.launches import ProgramWriter, Returned, kept_between_calls
from akg_core.design.program.memory_order import agree, memory_order
from akg_core.design.program.repeated import Repeated, Step, changed, kernels, repeated
from akg_core.design.program.scalars import computed_on_host
from akg_core.design.trace import Origin, Trace
from akg_core.dtypes import DTYPES
from akg_core.records import Task, Traits
from akg_core.sketch import ast
from akg_core.sketch.names import identifier
from akg_core.sketch.ops import OPERATIONS

STREAM_BYTES = 4 << 20  # outputs from this size on go past the caches


@dataclass(slots=True)
class Assembly:
    """One sketch in the making."""

    task: Task
    trace: Trace
    traits: Traits
    policy: Policy
    partition: Partition = field(init=False)
    emitted: list[Step] = field(default_factory=list)
    allocated: list[Buffer] = field(default_factory=list)
    finished: list[tuple[Value, Buffer]] = field(default_factory=list)
    _computed: dict[Buffer, ast.Expr] = field(default_factory=dict)
    _kernels: set[str] = field(default_factory=set)
    _read: set[Buffer] = field(default_factory=set)
    _leaving: frozenset[Buffer] = frozenset()
    _steady: frozenset[Buffer] = frozenset()

    def __post_init__(self) -> None:
        def split(space: Shape, reduced: frozenset[int], dtype: str) -> bool:
            wanted = splits(space, reduced, self.traits, always=self.policy.split is True)
            return wanted and self.policy.split is not False

        def rows(head: Scatter, own: int) -> bool:
            split = self.policy.split
            return rows_are_filled(head, own, self.traits, None if split is None else not split)

        self.partition = partition_of(self.trace, split, rows, self.policy.halving(self.traits))
        self.partition.buffers.names |= set(self.task.symbols)

    def sketch(self) -> ast.SketchFile:
        """The whole sketch."""
        for source in self.trace.sources.values():
            self.partition.buffers.source(source)
        self.partition.store_often_read()
        returned = self._place_outputs()
        self._place_mutations()
        outputs = {b for each in returned for b in (each.buffer, *each.sizes) if isinstance(b, Buffer)}
        self._leaving = frozenset(outputs)
        self._emit_all()
        program = self._program(returned)
        return ast.SketchFile(tuple({e.kernel.name: e.kernel for e in kernels(self.emitted)}.values()), program)

    def _emit_all(self) -> None:
        self.partition.cut()
        nests = [(c, without_places(nest_of(self.partition, c))) for c in self.partition.clusters]
        self._read = {t.buffer for _, n in nests for t in n.terms() if isinstance(t, Load)}
        of_loops = {b for looped in self.partition.loops.values() for b in looped.read}
        self._read |= of_loops
        nests = fused_horizontally(nests, of_loops | self._leaving, self.traits)
        for cluster, nest in nests:
            if isinstance(loop := next(iter(cluster.heads), None), Loop):
                self._emit_loop(loop)
            elif not all(index(0) in s.buffer.shape for s in nest.stores):
                self._emit(cluster, nest)

    def _emit_loop(self, loop: Loop) -> None:
        """A loop as one kernel, whose programs wait for each other once a turn; or else as launches in every turn."""
        taken = [(names, set(names)) for names in (self._kernels, self.partition.buffers.names)]
        steps = self._turns(loop, persistent=True) if self.traits.co_resident else []
        if not steps or any(isinstance(step, Repeated) for step in steps):
            for names, before in taken:
                names.intersection_update(before)
            steps = self._turns(loop, persistent=False)
        self.emitted += steps

    def _turns(self, loop: Loop, persistent: bool) -> list[Step]:
        """The kernels of one turn, made as those of a graph of its own, launched once a turn; or all turns inside of
        one. `persistent`: its programs may wait for each other."""
        looped = self.partition.loops[loop]
        sources = {"now": loop.now, "before": loop.before, "held": loop.held}
        found = Trace(sources={s.origin: s for group in sources.values() for s in group})
        policy = replace(self.policy, halves=False, split=False if persistent else self.policy.split)
        turn = Assembly(self.task, found, self.traits, policy)
        turn._kernels, turn.partition.buffers.names = self._kernels, self.partition.buffers.names
        inner = {kind: [turn.partition.buffers.source(s) for s in group] for kind, group in sources.items()}
        inner["after"] = []
        turn._steady = frozenset(inner["held"]) if persistent else frozenset()
        for value, state in zip(loop.after, looped.states, strict=True):
            name, shape = turn.partition.buffers.unique(f"new_{state.label}"), state.shape[1:]
            inner["after"].append(Buffer(name, state.label, state.dtype, shape, tuple(range(len(shape)))))
            turn.partition.store(compute("copy", value), inner["after"][-1])
        turn._leaving = frozenset(inner["after"])
        turn._emit_all()
        steps = repeated(loop, looped, inner, kernels(turn.emitted))
        return [inside(step, self.traits.co_resident if persistent else 0) for step in steps]

    # --- what goes out ----------------------------------------------------------------------------

    def _place_outputs(self) -> list[Returned]:
        """Each output: where it is, and the views that make it of that."""
        self._computed = computed_on_host(self.task.interface, self.trace, self.partition.buffers)
        given = ((number, output) for number, output in enumerate(self.trace.outputs) if output is not None)
        based = [(*self._base(*self._kept(*output)), self.trace.counts.get(number, [])) for number, output in given]
        placed = [(self._placed(value), views, value.shape[1:], sizes) for value, views, sizes in based]
        counts = [tuple(s if isinstance(s, int) else self._placed(s, "count") for s in each[-1]) for each in placed]
        return [Returned(at, views, n, others) for (at, views, others, _), n in zip(placed, counts, strict=True)]

    def _placed(self, value: Value, name: str = "out") -> Buffer:
        """The buffer that holds a value which leaves a kernel."""
        buffers = self.partition.buffers
        if value not in buffers:
            self.partition.store(value, buffers.new(value, "y" if name == "out" and "y" not in buffers.names else name))
        return buffers[value]

    def _kept(self, value: Value, origin: Origin) -> tuple[Value, Origin]:
        """An output that is, or is seen in, an argument which is updated afterwards: a copy of it."""
        base = value
        while isinstance(base, View):
            base = base.arg
        updated = {f"argument:{argument.name}" for argument in self.task.interface.arguments if argument.mutated}
        if isinstance(base, Source) and base.origin in updated:
            return compute("stored", value), origin
        return value, origin

    def _base(self, value: Value, origin: Origin) -> tuple[Value, list[View]]:
        """What is stored for an output, and the views of it that a program can express.

        That is the deepest value below such views that is a tensor from outside or whose memory order is known.
        """
        views: list[View] = []
        best: tuple[Value, list[View]] | None = None
        order: tuple[int, ...] | None = memory_order(value, origin, self.task.symbols)
        while True:
            if isinstance(value, (Source, States)):
                return value, views
            if order is not None:
                best = (value, list(views))
                self.partition.buffers.orders.setdefault(value, order)
            if not isinstance(value, View) or value.move is None:
                return best or (value, views)
            below_it = self.trace.origins.get(value.arg)
            if best and below_it and not agree(value, origin, below_it, self.task.symbols):
                return best
            views.insert(0, value)
            value, origin = value.arg, below_it or Origin("", value.dtype)
            order = memory_order(value, below_it, self.task.symbols) if below_it else None

    def _place_mutations(self) -> None:
        """What the module's buffers hold afterwards: written in place, or at the end where old values are read late."""
        p = self.partition
        late: list[tuple[Value, Buffer]] = []
        changed = {self.trace.sources[f"parameter:{n}"]: v for n, (v, _) in self.trace.mutations.items()}
        by_changes = readers(changed.values(), changed)
        by_outputs = readers((o[0] for o in self.trace.outputs if o is not None), changed)
        for source, value in changed.items():
            if value is source:
                continue
            copy = compute("copy", value)
            if by_changes[source] == 1 and not by_outputs[source]:
                p.store(copy, p.buffers.source(source))
            else:
                if value not in p.buffers:
                    p.store(value, p.buffers.new(value))
                late.append((copy, p.buffers.source(source)))
        for copy, buffer in late:
            cluster = Cluster("map", copy.shape, frozenset(), targets=[Target(copy, buffer, buffer.place)])
            p.clusters.add(cluster)

    def _stream(self, store: Store) -> bool:
        """Whether a store should go past the caches: big, and not read again."""
        size = product(store.buffer.shape).example * DTYPES[store.buffer.dtype].size
        return size >= STREAM_BYTES and store.buffer not in self._read

    # --- kernels -------------------------------------------------------------------------------------

    def _name(self, hint: str) -> str:
        name, number = hint if hint not in OPERATIONS else f"{hint}_kernel", 1
        while name in self._kernels:
            name, number = f"{hint}_{number}", number + 1
        self._kernels.add(name)
        return name

    def _emit(self, cluster: Cluster, nest: Nest) -> None:
        hint = identifier(min((s.buffer for s in nest.stores), key=lambda b: -product(b.shape).example).label)
        at_once = {
            "attention": (tile_attention, emit_attention),
            "sort": (tile_sort, emit_sort),
            "scatter": (tile_scatter, emit_scatter),
            "segments": (tile_segments, emit_segments),
        }
        if cluster.kind in at_once:
            (tiled, emit), nest = at_once[cluster.kind], refined(nest)
            name = self._name("attention" if cluster.kind == "attention" else hint)
            self.emitted.append(emit(nest, tiled(nest, self.traits), name, self._stream))
        elif cluster.kind == "product":
            self._emit_product(nest, f"{hint}")
        elif cluster.kind == "scan":
            self._emit_scan(refined(nest), hint)
        elif cluster.split:
            self._emit_split(nest, hint)
        else:
            self._emit_whole(refined(nest), hint)

    def _emit_whole(self, nest: Nest, hint: str) -> None:
        """One kernel whose programs share no result, or combine it by an all-reduction."""
        joined = tile_cooperative(nest, self.traits) if self.policy.on_chip is None else None
        if self._steady and (persistent := tile_persistent(nest, self.traits, self._steady)):
            joined = nest, persistent
        nest, tiling = joined or (
            nest,
            tile_windows(nest, self.traits) or tile(nest, self.traits, self.policy.on_chip),
        )
        emit = emit_elementwise if not nest.heads else emit_single_pass if tiling.on_chip else emit_looped
        self.emitted.append(emit(nest, tiling, self._name(hint), self._stream))

    def _emit_scan(self, nest: Nest, hint: str) -> None:
        """One kernel, or three where several programs share a row."""
        tiling = tile_scan(nest, self.traits)
        chunk = scan_chunk(tiling, self.traits, self.policy.split)
        if not chunk:
            self.emitted.append(emit_scan(nest, tiling, self._name(hint), self._stream))
            return
        tiling = replace(tiling, chunk=chunk)
        group = Axis("group", ceil_div(tiling.loops[0][0].extent, chunk))
        dtype, shape = nest.heads[0].args[0].dtype, (*(a.extent for a in nest.kept), group.extent)
        totals, through = (self.partition.buffers.part(n, dtype, shape) for n in ("chunk_totals", "running_totals"))
        parts, carried, before = split_scan(nest, group, totals, through)
        self.emitted.append(emit_partials(parts, tiling, group, self._name(f"{hint}_totals")))
        carry = tile_scan(carried, self.traits)
        self.emitted.append(emit_scan(carried, carry, self._name(f"{hint}_carried"), lambda store: False))
        self.emitted.append(emit_scan(nest, tiling, self._name(hint), self._stream, (group, before)))

    def _emit_split(self, nest: Nest, hint: str) -> None:
        """States of chunks in one kernel, their merge and what is stored in another; one kernel when a chunk is all."""
        trial = refined(replace(nest, stores=()))
        tiling = tile(trial, self.traits, on_chip=False, split=True)
        chunk = chunk_size(trial, tiling, self.traits)
        tiling = in_chunks(tiling, chunk)
        count = ceil_div(tiling.loops[0][0].extent, chunk)
        if count == 1:
            self._emit_whole(refined(nest), hint)
            return
        group = Axis("group", count)
        lane = access_order(trial).lane
        kept = nest.kept
        across = lane is not None and lane not in trial.reduced
        at = tuple(position(a) for a in kept)
        sizes = tuple(a.extent for a in kept)
        places, shape = (
            ((position(group), *at), (count, *sizes)) if across else ((*at, position(group)), (*sizes, count))
        )
        stores: list[Store] = []
        parts: dict[Reduction, list[Buffer]] = {}
        for head in nest.heads:
            assert isinstance(head.of, Reduction)
            dtypes = state_dtypes(head.of.kind, head.args[0].dtype)
            hints = (*RESULTS[head.of.kind], "count")
            for number in range(states(head.of.kind)):
                buffer = self.partition.buffers.part(f"{hints[number]}_parts", dtypes[number], shape)
                parts.setdefault(head.of, []).append(buffer)
                stores.append(Store(buffer, places, nest.pool.result(head.of, number, dtypes[number])))
        partial = refined(replace(nest, stores=tuple(stores)))
        tiling = in_chunks(tile(partial, self.traits, on_chip=False, split=True), chunk)
        self.emitted.append(emit_partials(partial, tiling, group, self._name(f"{hint}_parts")))
        heads = tuple(Head(of, tuple(nest.pool.load(b, places) for b in made)) for of, made in parts.items())
        merge = refined(Nest(nest.pool, (*kept, group), frozenset((group,)), heads, nest.stores, frozenset((group,))))
        counts = {h.of: h.of.count for h in nest.heads if isinstance(h.of, Reduction)}
        tiling = tile(merge, self.traits, on_chip=True)
        self.emitted.append(emit_merge(merge, tiling, self._name(f"{hint}"), self._stream, counts))

    def _emit_product(self, nest: Nest, hint: str) -> None:
        contracted = nest.heads[0].of
        assert isinstance(contracted, Product)
        kernels = forms(contracted, self.traits, self.partition.halves.get(contracted), beside=len(nest.heads))
        whole = flattened(refined(kernels[0].nest(nest)), self.policy.by_taps)
        tiling = kernels[0].tile(whole)
        # A long contraction hides its stores; streaming them only splits lines of memory at the edges of tiles.
        stream: Callable[[Store], bool] = self._stream if example(whole.reduced) <= 128 else lambda _: False

        def emit(part: Nest, hint: str, chunk: tuple[Axis, int] | None = None) -> None:
            for form in kernels:
                made = whole
                if form is not kernels[0] or part is not nest:
                    made = flattened(refined(form.nest(part)), self.policy.by_taps)
                self.emitted.append(form.emit(made, form.tile(made), self._name(f"{hint}{form.suffix}"), stream, chunk))

        may_split = self.policy.split is not False and len(nest.heads) == 1
        chunk = split_chunk(whole, tiling, self.traits) if may_split else 0
        if not chunk:
            emit(nest, hint)
            return
        # The contracted axis is shared by several programs: their sums, then the sum of these.
        group = Axis("group", ceil_div(tiling.loops[0][0].extent, chunk))
        total = next(t for s in nest.stores for t in below([s.term]) if isinstance(t, Result))
        at = tuple(position(a) for a in nest.kept)
        shape = (group.extent, *(a.extent for a in nest.kept))
        buffer = self.partition.buffers.part("product_parts", total.dtype, shape)
        store = Store(buffer, (position(group), *at), total)
        emit(replace(nest, stores=(store,)), f"{hint}_parts", (group, chunk))
        load = nest.pool.load(buffer, (position(group), *at))
        summed = Reduction("sum", contracted, (0,))
        stores = with_results(nest, {contracted: summed}).stores
        merge = refined(Nest(nest.pool, (group, *nest.kept), frozenset((group,)), (Head(summed, (load,)),), stores))
        tiling = tile(merge, self.traits, on_chip=True)
        self.emitted.append(emit_single_pass(merge, tiling, self._name(hint), self._stream))

    # --- the program -----------------------------------------------------------------------------------

    def _program(self, returned: list[Returned]) -> ast.Program:
        outer = {b for each in returned for b in (each.buffer, *each.sizes) if isinstance(b, Buffer)}
        sources = {self.partition.buffers[s]: where for where, s in self.trace.sources.items()}
        by_origin = {where: b for b, where in sources.items()}
        steps = without_joins(self.emitted) if self.traits.block_bytes else self.emitted
        self.emitted = in_place(in_blocks(steps, {*outer, *sources}, self.traits), {*outer, *sources})
        sized = changed(self.emitted, lambda es: [with_sizes(e, self.task.symbols, by_origin.values()) for e in es])
        self.emitted = changed(sized, shared)
        used = {p.buffer for e in self.emitted for p in e.parameters} | outer
        tensors: list[ast.TensorParameter] = []
        names = set(self._kernels)
        for argument in self.task.interface.arguments:
            if argument.kind == "constant":
                continue
            buffer = by_origin.get(f"argument:{argument.name}")
            name = buffer.name if buffer else self.partition.buffers.unique(argument.name)
            dims = tuple(to_expr(parse_size(d, self.task.symbols)) for d in argument.shape)
            tensors.append(ast.TensorParameter(name, "In", argument.dtype or "f64", dims))
            names.add(name)
        if self.task.interface.seeded:
            tensors.append(ast.TensorParameter(by_origin[SEED].name, "In", "i64", ()))
        for parameter in self.task.interface.parameters:
            buffer = by_origin.get(f"parameter:{parameter.name}")
            if buffer in used and buffer is not None:
                dims = tuple(to_expr(index(d)) for d in parameter.shape)
                tensors.append(ast.TensorParameter(buffer.name, "Param", parameter.dtype, dims, parameter.name))
                names.add(buffer.name)
        parameters = {b for b, where in sources.items() if where.startswith("parameter:")}
        kept = kept_between_calls(self.emitted, parameters, {*sources, *self._computed, *outer})
        names |= {b.name for b in used}
        writer = ProgramWriter(sources, names, self.partition.zeroed, self._computed)
        for number, step in enumerate(self.emitted):
            if isinstance(step, Repeated):
                writer.repeat(step)
            else:
                writer.launch(step, number in kept)
        results = [writer.result(each) for each in returned]
        writer.body.append(ast.Return(tuple(results)))
        return ast.Program("model", tuple(tensors), tuple(writer.body))
