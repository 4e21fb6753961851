"""What a task asks of any implementation, read off its graph: how long reductions are, what must be read and computed.

Where an implementation could get by with less (a slice is read in part, a product's diagonal needs no product), nothing
is counted: these are lower bounds, by which a time is refused as impossible.
"""

from __future__ import annotations

import math
from typing import Any

from akg_core.records import Node, Task
from akg_core.task.graph import COUNTED, RECURRENT, GraphIndex, references, size

_SIZES = {"f64": 8, "i64": 8, "f32": 4, "i32": 4, "f16": 2, "bf16": 2, "i16": 2}
_ALONG_A_DIMENSION = ("_softmax", "_log_softmax", "cumsum", "cumprod", "logcumsumexp")
_MATRIX_PRODUCTS = ("mm", "bmm", "addmm", "baddbmm", "mv")
_PRODUCTS = (*_MATRIX_PRODUCTS, "dot", "convolution")
_SHARED = 64  # operations of a product that cost what one element of another operator does
_CALLED = 1e4  # elements that calling an operator, or launching a kernel, costs as much as
_OF_TURN = 8  # operators or kernels of a recurrent layer's turn, about
_WINOGRAD = 4  # how many times fewer multiplications a convolution can do with
# Operators that read every element of their operands; others (slices, look-ups, triangles, masks) may not.
# fmt: off
_READS_ALL = frozenset((
    "abs", "add", "addmm", "amax", "amin", "any", "argmax", "argmin", "avg_pool1d", "avg_pool2d", "avg_pool3d",
    "baddbmm", "bmm", "cat", "clamp", "clone", "convolution", "cos", "cumprod", "cumsum", "div", "dot", "elu", "erf",
    "exp", "exp2", "expm1", "gelu", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "log", "log1p", "log2",
    "max", "max_pool2d_with_indices", "max_pool3d_with_indices", "maximum", "mean", "min", "minimum", "mm", "mul",
    "mv", "native_batch_norm", "_native_batch_norm_legit", "native_group_norm", "native_layer_norm", "neg", "pow",
    "prod", "reciprocal", "relu", "rsqrt", "rsub", "sigmoid", "sign", "sin", "_softmax", "_log_softmax", "softplus",
    "sqrt", "sub", "sum", "tanh", "tan", "var", "var_mean", "_to_copy", "silu", "logsumexp",
))
# fmt: on
_ELEMENTWISE = frozenset(
    (
        "add",
        "sub",
        "mul",
        "div",
        "neg",
        "relu",
        "sigmoid",
        "tanh",
        "gelu",
        "silu",
        "leaky_relu",
        "hardswish",
        "hardtanh",
    )
)
_NONLINEAR = frozenset(
    ("_softmax", "_log_softmax", "elu", "exp", "gelu", "hardswish", "relu", "sigmoid", "silu", "softplus", "tanh")
)
"""No product before one of these can be merged with one behind it."""
_OFTEN_ZERO = ("relu",)  # whose zeros need no multiplication
_VIEWS = frozenset(
    ("view", "_unsafe_view", "reshape", "permute", "t", "transpose", "unsqueeze", "squeeze", "alias", "expand")
)

_PARTS = frozenset(("slice", "select", "as_strided", "diagonal", COUNTED))  # of which results may have any size


def longest_reduction(task: Task) -> float:
    """The largest number of values that any operator combines into one of its results; at least 1."""
    index = GraphIndex(task.graph, task.interface)
    return max([1.0, *(_combined(node, index, task.symbols) for node in task.graph.nodes)])


def read_whole(task: Task) -> list[str]:
    """The arguments and parameters ("argument:x") of which every element has to be read."""
    index = GraphIndex(task.graph, task.interface)
    return [origin for name, origin in task.graph.values.items() if _is_read_whole(index, name)]


def bytes_written(task: Task) -> int:
    """Bytes of the outputs, each value once, that are not just another view of an argument."""
    index = GraphIndex(task.graph, task.interface)
    made = {output for output in task.graph.outputs if output and _is_made(index, output)}
    sizes = (math.prod(_numbers(index.shape(o), task.symbols)) * _SIZES.get(index.dtype(o), 1) for o in made)
    return sum(sizes)


def operations(task: Task) -> float:
    """Multiplications and additions of those products that nothing can replace.

    Their operands come from outside, or out of what is not linear; their results leave, or go into it.
    """
    index = GraphIndex(task.graph, task.interface)
    total = 0.0
    for node in task.graph.nodes:
        name = node.op.split(".")[1]
        if name in (*_MATRIX_PRODUCTS, "convolution") and _leaves(index, node):
            texts = list(references(node))
            operands = texts[:2] if name == "convolution" else texts[-2:]
            if all(_comes_from_outside(index, text) for text in operands):
                results = math.prod(_numbers(node.shapes[0], task.symbols))
                total += (
                    2 * results * _combined(node, index, task.symbols) / (_WINOGRAD if name == "convolution" else 1)
                )
    return total


def effort(task: Task, faster: float = 1.0) -> float:
    """About how much one call computes, in elements of simple operators: the same on every machine, however busy. That
    is no less than the elements that it is given, which somebody has to draw.

    `faster`: how many times faster elements are there than here, while calling an operator takes as long.
    """
    index = GraphIndex(task.graph, task.interface)
    total = 0.0
    for node in task.graph.nodes:
        name = node.op.split(".")[1]
        if name in _VIEWS:
            continue
        turns, products = _recurrence(node, index, task.symbols) if name in RECURRENT else (0.0, 0.0)
        results = sum(math.prod(_numbers(shape, task.symbols)) for shape in node.shapes)
        if name in _PRODUCTS:
            products = results * _combined(node, index, task.symbols)
        total += results + products / _SHARED + _CALLED * faster * (1 + _OF_TURN * turns)
    tensors = (argument.shape for argument in task.interface.arguments if argument.kind == "tensor")
    return max(total, sum(math.prod(_numbers(shape, task.symbols)) for shape in tensors))


def _recurrence(node: Node, index: GraphIndex, symbols: dict[str, int]) -> tuple[float, float]:
    """The turns of a recurrent node, of all its layers and directions together, and the multiplications in them."""
    shapes = [_numbers(index.shape(text), symbols) for text in references(node)]
    (*rows, _), state, weights = shapes[0], shapes[1], [shape for shape in shapes[1:] if len(shape) == 2]
    layers = state[0] if len(state) == 3 else 1.0
    return layers * math.prod(rows) / state[-2], math.prod(rows) * sum(map(math.prod, weights))


def has_products(task: Task) -> bool:
    """Whether factors are multiplied and summed, which implementations may first split into narrower ones."""
    return any(node.op.split(".")[1] in _PRODUCTS or "attention" in node.op for node in task.graph.nodes)


def _combined(node: Node, index: GraphIndex, symbols: dict[str, int]) -> float:
    name = node.op.split(".")[1]
    operands = [_numbers(index.shape(text), symbols) for text in references(node)]
    if not operands or not node.shapes:
        return 1.0
    if name in _ALONG_A_DIMENSION and isinstance(node.args[1], int) and operands[0]:
        return operands[0][node.args[1]]
    if name == "convolution":
        return math.prod(operands[1][1:])
    if name in _PRODUCTS:
        left = operands[1] if name in ("addmm", "baddbmm") else operands[0]
        return left[-1] if left else 1.0
    results = [math.prod(_numbers(shape, symbols)) for shape in node.shapes]
    if "norm" in name and len(results) > 1 and 0 < results[1] < math.prod(operands[0]):
        return math.prod(operands[0]) / results[1]
    return math.prod(operands[0]) / max(1, results[0])


def _is_read_whole(index: GraphIndex, name: str) -> bool:
    """Whether some operator reads every element of a value, directly or through views of the whole of it."""
    for user in index.users(name):
        operator = user.op.split(".")[1]
        if operator in _READS_ALL or (operator in _VIEWS and _is_read_whole(index, user.name)):
            return True
    return False


def _is_made(index: GraphIndex, output: str) -> bool:
    node = index.producer(output)
    return node is not None and node.op.split(".")[1] not in _VIEWS | _PARTS


def _leaves(index: GraphIndex, node: Node) -> bool:
    """Whether no element of a result can be left out: it is an output, perhaps after elementwise operators, or is taken
    by what is not linear and of which some output reads all.
    """
    if index.escapes(node.name):
        return True
    users = [(user, user.op.split(".")[1]) for user in index.users(node.name)]
    return any(
        (name in _ELEMENTWISE | _VIEWS and _leaves(index, user)) or (name in _NONLINEAR and _is_needed(index, user))
        for user, name in users
    )


def _is_needed(index: GraphIndex, node: Node) -> bool:
    """Whether some output depends on every element of a result."""
    users = (user for user in index.users(node.name) if user.op.split(".")[1] in _READS_ALL | _VIEWS)
    return index.escapes(node.name) or any(_is_needed(index, user) for user in users)


def _comes_from_outside(index: GraphIndex, text: str) -> bool:
    node = index.producer(text)
    if node is None:
        return True
    name = node.op.split(".")[1]
    if name in _NONLINEAR and name not in _OFTEN_ZERO:
        return True
    return name in _VIEWS and _comes_from_outside(index, next(references(node)))


def _numbers(shape: Any, symbols: dict[str, int]) -> list[int]:
    return [size(dim, symbols) for dim in shape]
