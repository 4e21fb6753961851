"""A captured graph becomes values: each operator is rewritten by its rule."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from akg_core.design.algebra.expression import parse_size
from akg_core.design.graph.rules import SEED, Call, Choices, Stream, find_rule
from akg_core.design.graph.values import Source, Value, View, literal
from akg_core.design.operators import (
    constants,
    convolutions,
    gathers,
    linear_algebra,
    losses,
    normalisations,
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
from akg_core.records import Node, Task
from akg_core.task.graph import RANDOM, random_nodes

# A family of operators is a module whose functions are marked with @rule; importing it registers them.
FAMILIES = (
    pointwise, views, gathers, scatters, sorting, reductions, normalisations, products, scans, convolutions, pooling,
    recurrent, linear_algebra, losses, randomness, constants, special,
    series,
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
    """The values of a task. `origins` holds the first graph result that each value is."""

    sources: dict[str, Source] = field(default_factory=dict)
    origins: dict[Value, Origin] = field(default_factory=dict)
    outputs: list[tuple[Value, Origin] | None] = field(default_factory=list)
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
    values: dict[str, tuple[Value | None, ...]] = {}
    origins: dict[tuple[str, int], Origin] = {}
    known = {f"argument:{a.name}": (a.dtype or "f64", a.shape) for a in task.interface.arguments}
    known |= {f"parameter:{p.name}": (p.dtype, p.shape) for p in task.interface.parameters}
    for name, where in task.graph.values.items():
        dtype, shape = known[where]
        source = Source(where, shape=tuple(parse_size(d, task.symbols) for d in shape), dtype=dtype)
        result.sources[where] = source
        values[name] = (source,)
        origins[name, 0] = result.origins[source] = Origin(where.partition(":")[2], dtype)
    seen: dict[str, tuple[Value | None, ...]] = {}
    streams = {node.name: number for number, node in enumerate(random_nodes(task.graph))}
    if task.interface.seeded:
        result.sources[SEED] = Source(SEED, shape=(), dtype="i64")
    for node in task.graph.nodes:
        stream = Stream(result.sources[SEED], streams[node.name]) if node.name in streams else None
        call = Call(node, values, task.symbols, choices, stream)
        # Equal operators on equal arguments are one: captures repeat masks and counts. No two draws are.
        drawn = streams.get(node.name)
        given = (_resolved(node.args, values), _resolved(node.kwargs, values))
        key = repr((node.op, drawn, *given, node.dtypes, node.shapes))
        if key not in seen:
            found = _apply(call) if refused is None else _heard(call, refused)
            seen[key] = tuple(map(_unless_empty, found))
        values[node.name] = seen[key]
        for number, value in enumerate(values[node.name]):
            if value is not None and number < len(node.dtypes):
                strides = node.strides[number] if number < len(node.strides) else ()
                origin = origins[node.name, number] = Origin(_label(node, number), node.dtypes[number], strides)
                result.origins.setdefault(value, origin)
                while isinstance(value, View) and value.move is not None and value.move[0] == "reshape":
                    value = value.arg
                    result.origins.setdefault(value, replace(origin, strides=()))

    def look_up(reference: str) -> tuple[Value, Origin]:
        name, _, number = reference.removeprefix("%").partition(":")
        value = values[name][int(number or 0)]
        assert value is not None
        return value, origins[name, int(number or 0)]

    result.outputs = [None if o is None else look_up(o) for o in task.graph.outputs]
    result.mutations = {name: look_up(o) for name, o in task.graph.mutations.items()}
    return result


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
