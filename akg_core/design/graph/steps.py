"""Turns that were captured once, for as often as values say: the nodes between `begun` and `ended`.

What depends on the former, and what the latter needs, is the turn; all else is made before it. See
`akg_core.task.tracing.steps`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from akg_core.design.algebra.expression import parse_size
from akg_core.design.algebra.index import index
from akg_core.design.graph.loop_search import rolled
from akg_core.design.graph.reach import parts_first
from akg_core.design.graph.rolled import Rolled
from akg_core.design.graph.states import Loop, States
from akg_core.design.graph.values import (
    Iota,
    Literal,
    Pointwise,
    Positions,
    Source,
    Value,
    View,
    counting,
    literal,
    narrow,
    view,
)
from akg_core.errors import UnsupportedOperator
from akg_core.records import Graph, Interface, Node
from akg_core.task.graph import BEGUN, ENDED, reference, references, resolve

Turn = Callable[[Sequence["Node | Stepped"], Sequence[str], Mapping[str, Value]], Sequence[Value]]


@dataclass(frozen=True, slots=True)
class Stepped:
    """A loop: the node that a turn begins with, those of the turn in order, and the one that it ends with."""

    begun: Node
    body: tuple[Node | Stepped, ...]
    ended: Node

    @property
    def outside(self) -> tuple[str, ...]:
        """The references of a turn to what is made before it."""
        own = {self.begun.name, *map(_name, self.body)}
        found: dict[str, None] = {}
        for each in (*self.body, self.ended):
            texts = references(each) if isinstance(each, Node) else (*references(each.begun), *each.outside)
            found |= {text: None for text in texts if resolve(text)[0] not in own}
        return tuple(found)


def looped(graph: Graph, interface: Interface) -> Iterable[Node | Rolled | Stepped]:
    """The nodes of a graph in order, those of loops as one."""
    if any(_is(node, BEGUN) for node in graph.nodes):
        return in_order(graph.nodes)
    return rolled(graph, interface)


def in_order(nodes: Sequence[Node]) -> list[Node | Stepped]:
    """Nodes in order, those of a turn that was captured once as one, after all that is made before it."""
    begun = {node.args[0]: node for node in nodes if _is(node, BEGUN)}
    found: list[Node | Stepped] = []
    for node in nodes:
        if not _is(node, ENDED):
            found.append(node)
            continue
        first = begun[node.args[0]]
        depends, body = {first.name}, list[Node | Stepped]()
        for each in found:
            texts = references(each) if isinstance(each, Node) else (*references(each.begun), *each.outside)
            if each is not first and any(resolve(text)[0] in depends for text in texts):
                depends.add(_name(each))
                body.append(each)
        found = [each for each in found if each is not first and _name(each) not in depends]
        found.append(Stepped(first, tuple(body), node))
    return found


def loop_of_steps(
    stepped: Stepped, symbols: dict[str, int], look: Callable[[str], Value], traced: Turn
) -> tuple[Value, ...]:
    """What is left after all turns, and then what every turn has left, [turns, …].

    `look`: a value from before the loop by its name. `traced`: what values of a turn are, by their names, where the
    names of what they are made of mean these values.
    """
    turns = parse_size(stepped.begun.args[1], symbols)
    after, left = stepped.ended.args[3], stepped.ended.args[4]
    now = Source("turn:number", shape=(), dtype="i64")
    known: dict[str, Value] = {reference(stepped.begun.name): now}
    initial = [look(text) for text in stepped.begun.args[2]]
    before = [Source(f"turn:state_{n}", shape=v.shape, dtype=v.dtype) for n, v in enumerate(initial)]
    known |= {reference(stepped.begun.name, n + 1): source for n, source in enumerate(before)}
    held: dict[Source, Value] = {}
    for text in stepped.outside:
        known[text] = value = look(text)
        if not _costs_nothing(value):
            source = Source(f"turn:held_{len(held)}", shape=value.shape, dtype=value.dtype)
            held[source], known[text] = value, source
    values = [*traced(stepped.body, [*after, *left], known)]
    initial, before = initial[: len(after)], before[: len(after)]
    for value in values[len(after) :]:
        initial.append(literal(0, value.dtype, value.shape))
        before.append(Source(f"turn:left_{len(before)}", shape=value.shape, dtype=value.dtype))
    read = {part for value in values for part in parts_first(value)}
    if any(isinstance(part, States) for part in read):
        raise UnsupportedOperator(
            "The builtin designer has no loop within a loop that runs as often as values say.",
            "Write a sketch by hand and pass it with --sketch.",
        )
    fixed = [source for source in held if source in read]
    loop = Loop(
        turns,
        (counting((turns,), lambda at: at[0]),),
        tuple(initial),
        tuple(held[source] for source in fixed),
        (now,),
        tuple(before),
        tuple(fixed),
        tuple(values),
    )
    states = [States(loop, n, shape=(turns + 1, *value.shape), dtype=value.dtype) for n, value in enumerate(values)]

    def last(at: Positions) -> Positions:
        return (turns, *at)

    finals = [view(state, state.shape[1:], last) for state in states[: len(after)]]
    return (*finals, *(narrow(state, 0, index(1), turns) for state in states[len(after) :]))


def _costs_nothing(value: Value) -> bool:
    """Whether a value is made of positions and numbers alone, which every kernel has."""
    return all(isinstance(part, (Literal, Iota, Pointwise, View)) for part in parts_first(value))


def _name(each: Node | Stepped) -> str:
    return each.name if isinstance(each, Node) else each.ended.name


def _is(node: Node, kind: str) -> bool:
    return node.op.split(".")[1:2] == [kind]
