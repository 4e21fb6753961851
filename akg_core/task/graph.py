"""The captured graph's vocabulary, and questions to ask of it. Pure data: imports no torch.

What a `Graph` holds
    Operators are core ATen as `torch.export.export(strict=False)` followed by `run_decompositions()` leaves
    them, with PyTorch's default table less the recurrent layers (aten.lstm, gru, rnn_tanh, rnn_relu stay whole):
    functional, without in-place operators, in execution order, without dead code.
    `node.op` is the overload's full name: "aten.add.Tensor", "aten.sum.dim_IntList".

Arguments
    `node.args` holds every positional parameter of the operator's schema, defaults filled in, so that
    `sum.dim_IntList` always has (self, dim, keepdim); `node.kwargs` holds every keyword-only parameter except
    `device`, `layout` and `pin_memory`. A value of the graph is the string "%name", or "%name:1" for result 1 of an
    operator with several ("%name" is result 0). A dtype is its short name ("f32"), a memory format its name
    ("contiguous_format"), infinities and NaN are floats. Where a size may vary, an int or a float argument may be a
    string in the form of a dimension: "s0", "(s0 // 2)", "(s0 ** 0.5)".

Values from outside
    `graph.values` maps the name of each used input (without "%") to "argument:x" or "parameter:fc.weight"
    (parameters, buffers and tensors that are attributes of the module, by qualified name). A tensor that
    `forward` itself makes from Python numbers is a node: "aten.full.default" when all its elements are equal,
    otherwise "akg.tensor" with one argument, the nested list of its elements.

Results
    `node.dtypes`, `node.shapes` and `node.strides` have one entry a result (dtype "" for a result that is None).
    `graph.outputs` and the values of `graph.mutations` are references as in arguments ("%add", "%bn:3"); an
    output that is None stays None. After what forward returns come the new values of arguments that it updates, in the
    order of the interface. The strides of an output are those that the reference gives it; strides that are no
    expression over the sizes are empty.

Loops as often as values say
    One turn stands between "aten.begun.input", whose results are the number of the turn and what the one before has
    left, and "aten.ended.input" of the same number, which is given what this one leaves: its results are what is left
    after all turns, and what every turn has left, [turns, ...]. What does not follow from the former is no part of it.

Left out
    Assertions, `alias`, `detach` and `lift_fresh_copy` (uses refer to their argument), and size queries (they are
    dimensions).

Random operators stay what they are ("aten.native_dropout.default", "aten.rand.default", "aten.bernoulli.p").
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from akg_core.notation import FUNCTIONS, SYMBOLS
from akg_core.python_text import expression_of
from akg_core.records import Dim, Graph, Interface, Node

DTYPE = "torch.dtype"
"""The key of a constant that is a dtype: {"torch.dtype": "float16"}; tuples and sizes are lists."""
COMPLEX = "torch.complex"
"""The key of a constant that is a complex number: {"torch.complex": [1.0, -2.0]}."""

RECURRENT = ("lstm", "gru", "rnn_tanh", "rnn_relu")
"""Layers that stay whole, over all their steps."""
COUNTED = "counted"
"""The operator that says how many rows of a result are meant: the first of its first argument, of the shape of all."""
BEGUN, ENDED = "begun", "ended"
"""The operators that a turn of a loop stands between: what it goes on from, and what it leaves; see `steps`."""
_ADDING = frozenset(("sum", "cumsum", "scatter_add", "index_add"))
_MOVES = frozenset(("view", "clone", "permute", "unsqueeze", "squeeze", "expand", "slice", "select", "_to_copy"))
_DRAWING = """
    native_dropout rand rand_like randn randn_like randint randint_like randperm bernoulli normal normal_functional
    uniform exponential multinomial poisson geometric cauchy log_normal binomial rrelu_with_noise_functional
    """
RANDOM = frozenset(f"aten.{name}" for name in _DRAWING.split())


def spelled(path: tuple[int | str, ...]) -> str:
    """How a value that forward takes in a collection is written in Python: "xs[1]", "d['scale']"."""
    return str(path[0]) + "".join(f"[{part!r}]" for part in path[1:])


def reference(name: str, result: int = 0) -> str:
    """How arguments refer to a result of the value `name`: "%add", "%bn:1"."""
    return f"%{name}:{result}" if result else f"%{name}"


def is_reference(argument: Any) -> bool:
    """Whether an argument of a node refers to a value of the graph."""
    return isinstance(argument, str) and argument.startswith("%")


def resolve(text: str) -> tuple[str, int]:
    """The name and the result number of a reference: "%bn:1" is ("bn", 1)."""
    name, _, result = text.removeprefix("%").partition(":")
    return name, int(result or 0)


def references(node: Node) -> Iterator[str]:
    """Every reference in a node's arguments, in order, repeated as often as it is used."""
    stack: list[Any] = [*reversed([*node.args, *node.kwargs.values()])]
    while stack:
        item = stack.pop()
        if isinstance(item, (list, tuple)):
            stack.extend(reversed(item))
        elif is_reference(item):
            yield item


def counts(graph: Graph) -> dict[int, list[int | str]]:
    """By the number of an output, the sizes of its first dims, where a value says one of them: numbers, references."""
    found: dict[str, list[int | str]] = {}
    for node in graph.nodes:
        if node.op.split(".")[1:2] == [COUNTED]:
            _, references, sizes, dims = node.args
            said = dict(zip(dims, references, strict=True))
            found[node.name] = [said.get(dim, size) for dim, size in enumerate(sizes)]
    named = ((number, resolve(text)[0]) for number, text in enumerate(graph.outputs) if text is not None)
    return {number: found[name] for number, name in named if name in found}


def sums(graph: Graph) -> set[int]:
    """The numbers of the outputs that are sums of whole numbers or of truths, as counts are."""
    nodes = {node.name: node for node in graph.nodes}
    found = set[int]()
    for number, text in enumerate(graph.outputs):
        node = nodes.get(resolve(text)[0]) if text is not None else None
        while node is not None and node.op.split(".")[1] in _MOVES:
            node = nodes.get(resolve(node.args[0])[0])
        if node is not None and node.op.split(".")[1] in _ADDING and node.dtypes[0].startswith(("i", "u")):
            found.add(number)
    return found


def fixed(graph: Graph) -> set[int]:
    """The numbers of the outputs that follow from sizes alone: of no argument, state or random number."""
    moving = set(graph.values)
    for node in graph.nodes:
        if draws(node) or any(resolve(text)[0] in moving for text in references(node)):
            moving.add(node.name)
    return {number for number, text in enumerate(graph.outputs) if text and resolve(text)[0] not in moving}


class GraphIndex:
    """A graph with its look-ups made once: producers, users, dtypes and shapes of values.

    `text` is a reference ("%bn:1") or a bare name throughout.
    """

    def __init__(self, graph: Graph, interface: Interface) -> None:
        self.graph = graph
        self.nodes: dict[str, Node] = {node.name: node for node in graph.nodes}
        self._outside: dict[str, tuple[str, tuple[Dim, ...]]] = {}
        origins: dict[str, tuple[str, tuple[Dim, ...]]] = {}
        origins |= {f"argument:{a.name}": (a.dtype, a.shape) for a in interface.arguments}
        origins |= {f"parameter:{p.name}": (p.dtype, p.shape) for p in interface.parameters}
        for name, origin in graph.values.items():
            self._outside[name] = origins[origin]
        self._users: dict[tuple[str, int], list[Node]] = {}
        for node in graph.nodes:
            for key in dict.fromkeys(resolve(text) for text in references(node)):
                self._users.setdefault(key, []).append(node)

    def producer(self, text: str) -> Node | None:
        """The node that makes a value; None for an argument or a parameter."""
        return self.nodes.get(resolve(text)[0])

    def origin(self, text: str) -> str:
        """Where a value from outside comes from: "argument:x", "parameter:fc.weight"; "" for a node's."""
        return self.graph.values.get(resolve(text)[0], "")

    def users(self, text: str) -> list[Node]:
        """The nodes that read a value, each once, in execution order."""
        return list(self._users.get(resolve(text), ()))

    def alike(self, text: str) -> list[str]:
        """A value, and those that other nodes compute in the same way: `x[1]` where it is written again."""
        name, result = resolve(text)
        return [reference(n, result) for n, first in self._first.items() if first == self._first.get(name)] or [text]

    @functools.cached_property
    def _first(self) -> dict[str, str]:
        """By the name of each node, the first one that computes the same."""
        first: dict[str, str] = {}
        known: dict[str, str] = {}
        for node in self.graph.nodes:
            said = f"{node.op} {_renamed([node.args, node.kwargs], first)}"
            first[node.name] = node.name if draws(node) else known.setdefault(said, node.name)
        return first

    def dtype(self, text: str) -> str:
        """The dtype of a value: "f32"."""
        return self._look_up(text)[0]

    def shape(self, text: str) -> tuple[Dim, ...]:
        """The shape of a value."""
        return self._look_up(text)[1]

    def escapes(self, text: str) -> bool:
        """Whether a value leaves the graph: an output, or what a buffer holds after the call."""
        leaving = (*self.graph.outputs, *self.graph.mutations.values())
        return any(other is not None and resolve(other) == resolve(text) for other in leaving)

    def _look_up(self, text: str) -> tuple[str, tuple[Dim, ...]]:
        name, result = resolve(text)
        if name in self._outside:
            return self._outside[name]
        node = self.nodes[name]
        return node.dtypes[result], node.shapes[result]


def _renamed(argument: Any, names: dict[str, str]) -> Any:
    """A node's arguments, with other names in what they refer to."""
    if isinstance(argument, (list, tuple)):
        return [_renamed(each, names) for each in argument]
    if isinstance(argument, dict):
        return [(key, _renamed(each, names)) for key, each in argument.items()]
    if is_reference(argument):
        name, result = resolve(argument)
        return reference(names.get(name, name), result)
    return argument


def dense(shape: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """The strides of a tensor that lies in memory row by row."""
    strides: list[Dim] = [1]
    for dim in reversed(shape[1:]):
        strides.insert(0, dim if strides[0] == 1 else f"({dim} * {strides[0]})")
    return tuple(strides)


def replaced(interface: Interface) -> tuple[str, ...]:
    """The attributes of the module, no buffers, that forward replaces by other tensors or updates."""
    return tuple(p.name for p in interface.parameters if p.kind == "constant" and p.mutated)


def pairs(interface: Interface) -> tuple[int, ...] | None:
    """The places of complex arguments; None where nothing at the border is complex."""
    places = tuple(place for place, argument in enumerate(interface.arguments) if argument.pairs)
    return places if places or interface.pairs or any(p.pairs for p in interface.parameters) else None


def held(interface: Interface) -> dict[int, Any]:
    """What the tensors hold that kernels are made for the content of, by their places among the arguments."""
    return {place: argument.value for place, argument in enumerate(interface.arguments) if argument.is_held}


def random_nodes(graph: Graph) -> list[Node]:
    """The nodes that draw random numbers, in the order in which they do."""
    return [node for node in graph.nodes if draws(node)]


def draws(node: Node) -> bool:
    """Whether a node draws random numbers: dropout does not where it keeps all or nothing."""
    match node.op.split(".")[1], node.args:
        case "native_dropout", (_, p, training, *_):
            return bool(training) and 0 < p < 1
        case "rrelu_with_noise_functional", (_, _, _, _, training, *_):
            return bool(training)
    return node.op.rpartition(".")[0] in RANDOM


def size(dim: Dim, symbols: dict[str, int]) -> int:
    """The value of a dimension where `symbols` gives the sizes that vary: "(2 * s0)" at s0 = 3 is 6."""
    return int(evaluate(dim, symbols))


def evaluate(value: Any, symbols: dict[str, int]) -> Any:
    """A dimension, a number of a node's arguments, or a condition: "(s0 ** 0.5)" at s0 = 9 is 3.0."""
    return _evaluate(expression_of(value), symbols) if isinstance(value, str) else value


_CALLS: dict[str, Callable[..., Any]] = {"max": max, "min": min, "int": int, "round": round}


def holds(conditions: Iterable[str], symbols: dict[str, int]) -> bool:
    """Whether a task's graph is what its reference does where `symbols` gives the sizes that vary."""
    try:
        return all(value >= 1 for value in symbols.values()) and all(evaluate(c, symbols) for c in conditions)
    except ZeroDivisionError:
        return False


def is_for(interface: Interface, sizes: dict[str, int]) -> bool:
    """Whether the graph is forward where sizes that vary are these; 0 may be one where the interface says so."""
    return holds(interface.guards, {name: max(value, int(interface.empty)) for name, value in sizes.items()})


def answers(interface: Interface, values: Sequence[Any]) -> bool:
    """Whether arguments of these values answer what was asked of floats as the example does."""
    if not interface.asked:
        return True
    named = {a.name: value for a, value in zip(interface.arguments, values, strict=False) if a.kind == "number"}
    return all(evaluate(condition, named) for condition in interface.asked)


def _evaluate(node: ast.expr, symbols: dict[str, int]) -> Any:
    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.Name(id=name):
            return symbols[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_evaluate(operand, symbols)
        case ast.BinOp(left=left, op=op, right=right):
            return FUNCTIONS[SYMBOLS[type(op)]](_evaluate(left, symbols), _evaluate(right, symbols))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _evaluate(operand, symbols)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return FUNCTIONS[SYMBOLS[type(op)]](_evaluate(left, symbols), _evaluate(right, symbols))
        case ast.BoolOp(op=op, values=values):
            return (all if isinstance(op, ast.And) else any)(_evaluate(value, symbols) for value in values)
        case ast.Call(func=ast.Name(id=name), args=args) if name in _CALLS:
            return _CALLS[name](*(_evaluate(each, symbols) for each in args))
    raise ValueError(f"not a size: {ast.unparse(node)}")
