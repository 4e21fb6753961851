"""A captured graph becomes values: each operator is rewritten by its rule."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from akg_core.design.algebra.expression import parse_size
from akg_core.design.graph.loops import Early, after_turn, all_parts, beside, loop_of
from akg_core.design.graph.rolled import Rolled, Written
from akg_core.design.graph.rules import SEED, Call, Choices, Stream, find_rule
from akg_core.design.graph.steps import Stepped, in_order, loop_of_steps, looped
from akg_core.design.graph.values import Shape, Source, Value, View, cast, compute, literal
from akg_core.design.operators import (
    constants,
    convolutions,
    eigenvalues,
    fourier,
    gathers,
    linear_algebra,
    losses,
    normalisations,
    orthogonal,
    pivoted_factors,
    pointwise,
    pooling,
    products,
    randomness,
    recurrent,
    reductions,
    scans,
    scatters,
    series,
    sorting,
    special,
    views,
)
from akg_core.errors import UnsupportedOperator
from akg_core.records import Argument, Dim, Graph, Node, Parameter, Task
from akg_core.task.graph import RANDOM, counts, dense, is_reference, random_nodes, reference, resolve

# A family of operators is a module whose functions are marked with @rule; importing it registers them.
FAMILIES = (
    pointwise, views, gathers, scatters, sorting, reductions, normalisations, products, scans, convolutions, pooling,
    recurrent, linear_algebra, pivoted_factors, orthogonal, eigenvalues, losses, randomness, constants, special,
    series, fourier,
)  # fmt: skip

Refused = Callable[[Node, UnsupportedOperator], None]


@dataclass(frozen=True, slots=True)
class Origin:
    """What the graph says of a value: its name there, and dtype and strides as eager PyTorch has them."""

    name: str
    dtype: str
    strides: tuple[int | str, ...] = ()


@dataclass(slots=True)
class Trace:
    """The values of a task. `origins` holds the first graph result that each value is.

    `counts`: of outputs whose first dims have sizes of which values say some, by their number: these sizes.
    """

    sources: dict[str, Source] = field(default_factory=dict)
    origins: dict[Value, Origin] = field(default_factory=dict)
    outputs: list[tuple[Value, Origin] | None] = field(default_factory=list)
    counts: dict[int, list[int | Value]] = field(default_factory=dict)
    mutations: dict[str, tuple[Value, Origin]] = field(default_factory=dict)


def trace(
    task: Task,
    choices: Choices = Choices(),
    refused: Refused | None = None,
) -> Trace:
    """Rewrite the graph of a task.

    Raises UnsupportedOperator for an operator without a rule, unless `refused` hears of it: the trace then goes on with
    a tensor in the place of each result, and is good for nothing but to hear of all.
    """
    result = Trace()
    tracer = _Tracer(result, task.symbols, choices, refused)
    tracer.take(task)
    tracer.add_all(in_order(task.graph.nodes) if refused else looped(task.graph, task.interface))
    _refuse_vectors(task.graph, refused)
    result.outputs = tracer.outputs(task.graph)
    result.counts = {
        number: [tracer.look_up(size)[0] if isinstance(size, str) else size for size in sizes]
        for number, sizes in counts(task.graph).items()
    }
    result.mutations = {name: tracer.look_up(o) for name, o in task.graph.mutations.items()}
    return result


Results = tuple[Value | None, ...]
_ALIASES = frozenset({
    "_unsafe_view", "alias", "as_strided", "broadcast_to", "contiguous", "detach", "diagonal", "dropout", "expand",
    "flatten", "permute", "reshape", "select", "slice", "split", "split_with_sizes", "squeeze", "t", "to", "transpose",
    "unbind", "unflatten", "unfold", "unsqueeze", "view",
})  # fmt: skip
"""Operators whose results lie in the memory of their arguments, as far as they can."""


class _Tracer:
    """Values of a graph's nodes, one node after the other."""

    def __init__(
        self, result: Trace, symbols: dict[str, int], choices: Choices, refused: Refused | None = None
    ) -> None:
        self._result, self._symbols, self._choices, self._refused = result, symbols, choices, refused
        self._values: dict[str, Results] = {}
        self._origins: dict[tuple[str, int], Origin] = {}
        self._seen: dict[str, Results] = {}
        self._rows: dict[Value, tuple[Value, int]] = {}  # what turns of loops have left
        self._streams: dict[str, int] = {}

    def take(self, task: Task) -> None:
        """Begin with what a task's graph takes from outside."""
        self._streams = {node.name: number for number, node in enumerate(random_nodes(task.graph))}
        known: dict[str, Argument | Parameter] = {f"argument:{a.name}": a for a in task.interface.arguments}
        known |= {f"parameter:{p.name}": p for p in task.interface.parameters}
        for name, where in task.graph.values.items():
            tensor, dtype = known[where], known[where].dtype or "f64"
            shape = tuple(parse_size(d, task.symbols) for d in tensor.shape)
            source = Source(where, tensor.order, shape=shape, dtype=dtype)
            self._result.sources[where] = source
            self._values[name] = (source,)
            self._origins[name, 0] = self._result.origins[source] = Origin(where.partition(":")[2], dtype)
        for argument in task.interface.arguments:
            if argument.kind == "size":  # which kernels take for its shape, if they need it
                shape, where = tuple(parse_size(d, task.symbols) for d in argument.shape), f"argument:{argument.name}"
                self._result.sources[where] = Source(where, shape=shape, dtype=argument.dtype)
        if task.interface.seeded:
            self._result.sources[SEED] = Source(SEED, shape=(), dtype="i64")

    def add_all(self, nodes: Iterable[Node | Rolled | Stepped]) -> None:
        """Rewrite nodes, one after the other."""
        for node in nodes:
            if isinstance(node, Rolled):
                self.roll(node)
            elif isinstance(node, Stepped):
                self._bind(node.ended, loop_of_steps(node, self._symbols, self._kept, self._turn))
            else:
                self.add(node)

    def add(self, node: Node) -> None:
        """Rewrite a node by its rule."""
        if node.op == "aten.cat.default" and self._rows:
            node = self._joined(node)
        drawn = self._streams.get(node.name)
        stream = None if drawn is None else Stream(self._result.sources[SEED], drawn)
        call = Call(node, self._values, self._symbols, self._choices, stream)
        # Equal operators on equal arguments are one: captures repeat masks and counts. No two draws are.
        given = (_resolved(node.args, self._values), _resolved(node.kwargs, self._values))
        key = repr((node.op, drawn, *given, node.dtypes, node.shapes))
        if key not in self._seen:
            found = _apply(call) if self._refused is None else _heard(call, self._refused)
            found = found if call.name in _ALIASES else tuple(map(_of_its_own, found))
            self._seen[key] = tuple(map(_unless_empty, found))
        self._bind(node, self._seen[key])

    def _bind(self, node: Node, found: Results) -> None:
        self._values[node.name] = found
        for number, value in enumerate(found):
            if value is not None and number < len(node.dtypes):
                strides = node.strides[number] if number < len(node.strides) else ()
                origin = self._origins[node.name, number] = Origin(_label(node, number), node.dtypes[number], strides)
                self._result.origins.setdefault(value, origin)
                while isinstance(value, View) and value.move is not None and value.move[0] == "reshape":
                    value = value.arg
                    self._result.origins.setdefault(value, replace(origin, strides=()))

    def look_up(self, text: str) -> tuple[Value, Origin]:
        key = resolve(text)
        value = self._values[key[0]][key[1]]
        assert value is not None
        return value, self._origins[key]

    def outputs(self, graph: Graph) -> list[tuple[Value, Origin] | None]:
        """What is returned: equal results of two operators are one value, and two tensors."""
        nodes = {node.name: node for node in graph.nodes}
        owners: dict[Value, str] = {}
        found: list[tuple[Value, Origin] | None] = []
        for text in graph.outputs:
            if text is None:
                found.append(None)
                continue
            value, origin = self.look_up(text)
            owner = _owner(text, nodes)
            if owners.setdefault(self.look_up(owner)[0], owner) != owner:
                value = compute("copy", value)
            found.append((value, origin))
        return found

    # --- loops ---------------------------------------------------------------------------------------

    def roll(self, loop: Rolled) -> None:
        """Make a loop of nodes that are turns of one body, or leave them as they are."""
        left = loop_of(loop, self._kept, partial(self._turn, loop.body))
        if left is None:
            for node in loop.nodes:
                self.add(node)
            return
        nodes = {node.name: node for node in loop.nodes}
        for name, turns in loop.kept.items():
            for turn, text in enumerate(turns):
                key, value = resolve(text), after_turn(left[name], turn)
                self._rows[value] = left[name], turn
                node = nodes[key[0]]
                strides = dense((loop.turns, *node.shapes[key[1]]))
                self._result.origins.setdefault(left[name], Origin(_label(node, key[1]), node.dtypes[key[1]], strides))
                found = [*self._values.get(key[0], (None,) * len(node.dtypes))]
                found[key[1]] = value
                self._bind(node, tuple(found))
        for written in loop.written:
            self._write(written, left[written.kept], loop.turns)

    def _kept(self, text: str) -> Value:
        """A value as a tensor of its own would hold it."""
        value, origin = self.look_up(text)
        return cast(value, origin.dtype)

    def _turn(
        self,
        body: Sequence[Node | Stepped],
        names: Sequence[str],
        known: Mapping[str, Value],
        early: Early | None = None,
    ) -> list[Value]:
        """What values of a loop's body are, made of what is `known`."""
        inner = _Tracer(Trace(), self._symbols, self._choices, self._refused)
        for text, value in known.items():
            name, result = resolve(text)
            found = [*inner._values.get(name, ())]
            found += [None] * (result + 1 - len(found))
            found[result] = value
            inner._values[name] = tuple(found)
            inner._origins[name, result] = Origin(name, value.dtype)
        for node in body:
            inner.add_all((node,))
            if early and isinstance(node, Node):
                inner._values[node.name] = tuple(v and early(v) for v in inner._values[node.name])
        return [inner._kept(name) for name in names]

    def _joined(self, node: Node) -> Node:
        """A concatenation whose parts are taken together where turns of a loop have left them in a row."""
        dim = node.args[1] % max(len(node.shapes[0]), 1)
        parts = beside([self.look_up(r)[0] for r in node.args[0]], dim, self._rows)
        names = [self._named(part) for part in parts]
        for part in parts:
            self._laid_out(part)
        return node.model_copy(update={"args": (names, *node.args[1:])})

    def _laid_out(self, value: Value) -> tuple[Dim, ...]:
        """Say of what turns have left how it lies in memory, as far as it is no more than moved; its strides."""
        known = self._result.origins.get(value)
        if known is not None or not isinstance(value, View) or value.move is None:
            return known.strides if known else ()
        strides, moved = self._laid_out(value.arg), value.move
        if moved[0] == "permute" and strides:
            strides = tuple(strides[d.constant or 0] for d in moved[1])
        elif moved[0] != "narrow":
            return ()
        self._result.origins[value] = Origin("turns", value.dtype, strides)
        return strides

    def _named(self, value: Value) -> str:
        """A name for a value that no node has."""
        name = f"value.{id(value)}"
        self._values[name] = (value,)
        return reference(name)

    def _write(self, written: Written, left: Value, turns: int) -> None:
        """A tensor of which each turn of a loop has written a part, all parts at once."""
        node, part = written.node, written.part
        value, step = all_parts(left, part, len(node.shapes[0])), part.stride if part.selected else 1
        if value.shape == self._shape(node):
            self._laid_out(value)
            self._bind(node, (value,))
            return
        stop = part.start + part.stride * (turns - 1) + part.length
        args = (part.base, self._named(value), part.dim, part.start, stop, step)
        self.add(node.model_copy(update={"op": "aten.slice_scatter.default", "args": args}))

    def _shape(self, node: Node) -> Shape:
        return tuple(parse_size(d, self._symbols) for d in node.shapes[0])


def _owner(text: str, nodes: Mapping[str, Node]) -> str:
    """What holds the memory that a result lies in."""
    while (node := nodes.get(resolve(text)[0])) and node.op.split(".")[1] in _ALIASES and is_reference(node.args[0]):
        text = node.args[0]
    return text


def _of_its_own(value: Value | None) -> Value | None:
    """A value, or a copy where it is no more than a tensor from outside: a sum over a dim of size 1 is one."""
    base = value
    while isinstance(base, View):
        base = base.arg
    return compute("copy", value) if value is not None and isinstance(base, Source) else value


def _unless_empty(value: Value | None) -> Value | None:
    """A value, or a number in its place where it has no elements and nothing is to be computed."""
    return literal(0, value.dtype, value.shape) if value is not None and 0 in value.shape else value


def _label(node: Node, number: int) -> str:
    """What to call a result: the operator's name without its trappings, and what further results of norms are."""
    if number and "_norm" in node.op:
        return ("", "mean", "scale", "running_mean", "running_var")[number]
    name = re.sub(r"^_?(native|linalg|fused)_|_(legit|functional|default)", "", node.name).strip("_")
    return f"{name}_{number}" if number else name


def _resolved(argument: Any, values: dict[str, tuple[Value | None, ...]]) -> Any:
    """An argument with references replaced by which values they mean."""
    if isinstance(argument, dict):
        return {name: _resolved(item, values) for name, item in argument.items()}
    if isinstance(argument, (list, tuple)):
        return [_resolved(item, values) for item in argument]
    if isinstance(argument, str) and argument.startswith("%"):
        name, _, number = argument.removeprefix("%").partition(":")
        return f"%{id(values[name][int(number or 0)])}"
    return argument


def _apply(call: Call) -> tuple[Value | None, ...]:
    function = find_rule(call.op)
    if function is None and call.op.rpartition(".")[0] in RANDOM:
        raise call.unsupported("which draws random numbers", "Draw them in get_inputs and take them as an argument.")
    if function is None:
        raise call.unsupported()
    found = function(call)
    results = found if isinstance(found, tuple) else (found,)
    return results


def refusals(task: Task) -> tuple[str, ...]:
    """A sentence for each operator of a task that has no rule: which, as the file calls it, and where."""
    found: list[str] = []
    trace(task, refused=lambda node, error: found.append(str(error)))
    return tuple(dict.fromkeys(found))


def _refuse_vectors(graph: Graph, refused: Refused | None) -> None:
    """Refuse what gives back vectors as they are: nobody can say whether such a sign is right."""
    nodes = {node.name: node for node in graph.nodes}
    for text in filter(None, graph.outputs):
        name, number = resolve(_owner(text, nodes))
        if (node := nodes.get(name)) and number in eigenvalues.VECTORS.get(node.op.split(".")[1], ()):
            detail = "where forward gives back its vectors, whose signs are arbitrary"
            error = Call(node, {}, {}).unsupported(detail, "Give back what does not depend on their signs.")
            if refused is None:
                raise error
            refused(node, error)


def _heard(call: Call, refused: Refused) -> tuple[Value | None, ...]:
    """The results of an operator, or tensors like them where it has no rule, which `refused` hears."""
    try:
        return _apply(call)
    except UnsupportedOperator as error:
        refused(call.node, error)
    return tuple(
        Source(f"refused:{call.node.name}:{n}", shape=call.shape_of(n), dtype=dtype) if dtype else None
        for n, dtype in enumerate(call.node.dtypes)
    )
