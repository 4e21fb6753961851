"""How much memory judging a task takes, estimated from its graph before anything is allocated."""

from __future__ import annotations

import math

from akg_core.errors import TaskError
from akg_core.records import Dim, Node, Task
from akg_core.sketch.dtypes import DTYPES
from akg_core.task.graph import GraphIndex, references, resolve, size
from akg_core.worker.device import Device

_VIEWS = frozenset(
    f"aten.{name}"
    for name in ("view", "_unsafe_view", "reshape", "permute", "transpose", "unsqueeze", "squeeze", "expand", "slice")
)
_FEWEST_CASES, _MOST_CASES = 2, 10  # that a kernel is run on; the first once more at the end
_COMPARED = 8  # tensors in float64 that comparing holds for each output


def require_room(task: Task, device: Device) -> None:
    """Raise TaskError when judging a task takes more memory than the device has free."""
    need, free = bytes_needed(task), device.free_bytes()
    if need > free:
        raise TaskError(
            f"{task.name}: judging it takes about {need / 2**30:.3g} GiB of memory, "
            f"and {free / 2**30:.3g} GiB are free.",
            "Make its sizes smaller, for example by --scale.",
        )


def bytes_needed(task: Task, cases: int = _FEWEST_CASES) -> int:
    """Bytes that judging a task with so many cases takes at once.

    Inputs of all cases and outputs of the candidate are held. Beside them either the candidate runs, on inputs of which
    it keeps a copy, or the reference does, once as it is and once in float64.
    """
    given, outputs = _given(task), _outputs(task)
    candidate = 2 * given + 2 * outputs
    reference = given + outputs + 2 * (given + _most_alive(task))
    return cases * given + (cases + 1) * outputs + max(candidate, reference)


def bytes_unspared(task: Task) -> int:
    """Bytes that judging a task may take when all cases fit, and answers are compared without going piece by piece."""
    return bytes_needed(task, _MOST_CASES) + _COMPARED * 2 * _outputs(task)


def _given(task: Task) -> int:
    """Bytes of all arguments and parameters."""
    parameters = sum(_bytes(parameter.dtype, parameter.shape, task) for parameter in task.interface.parameters)
    tensors = (argument for argument in task.interface.arguments if argument.kind == "tensor")
    return parameters + sum(_bytes(argument.dtype, argument.shape, task) for argument in tensors)


def _outputs(task: Task) -> int:
    index = GraphIndex(task.graph, task.interface)
    return sum(_bytes(index.dtype(o), index.shape(o), task) for o in {*task.graph.outputs} if o)


def _most_alive(task: Task) -> int:
    """The most bytes of results that are alive at once when the operators are run one by one."""
    index, root, held = GraphIndex(task.graph, task.interface), dict[str, str](), dict[str, int]()
    last: dict[str, str] = {}  # by the value that holds memory: the node that reads it last
    for node in task.graph.nodes:
        read = [root.get(name, name) for name in _names(node)]
        is_view = node.op.rpartition(".")[0] in _VIEWS
        root[node.name] = read[0] if is_view else node.name
        held[node.name] = 0 if is_view else _results(node, task)
        last |= dict.fromkeys(read, node.name)
    kept = {root[node.name] for node in task.graph.nodes if index.escapes(node.name)}
    alive = most = 0
    for node in task.graph.nodes:
        alive += held[node.name]
        most = max(most, alive)
        ended = {root.get(name, name) for name in _names(node)} - kept
        alive -= sum(held.get(name, 0) for name in ended if last[name] == node.name)
    return most


def _names(node: Node) -> list[str]:
    return [resolve(text)[0] for text in references(node)]


def _results(node: Node, task: Task) -> int:
    shapes = zip(node.dtypes, node.shapes, strict=True)
    return sum(_bytes(dtype, shape, task) for dtype, shape in shapes if dtype)


def _bytes(dtype: str, shape: tuple[Dim, ...], task: Task) -> int:
    return DTYPES[dtype].size * math.prod(size(dim, task.symbols) for dim in shape)
