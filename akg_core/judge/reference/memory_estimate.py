"""How much memory judging a task takes, estimated from its graph before anything is allocated."""

from __future__ import annotations

import math
import time

from akg_core.device import HOST, Device
from akg_core.dtypes import DTYPES
from akg_core.errors import OutOfMemory
from akg_core.judge.records import FEWEST_CALLS
from akg_core.judge.reference.other_sizes import FASTER, asked
from akg_core.records import Dim, Node, Task
from akg_core.task.graph import GraphIndex, references, resolve, size

_VIEWS = frozenset(
    f"aten.{name}"
    for name in ("view", "_unsafe_view", "reshape", "permute", "transpose", "unsqueeze", "squeeze", "expand", "slice")
)
_PARTS = frozenset(
    f"aten.{name}" for name in ("t", "select", "as_strided", "diagonal", "split", "unbind", "alias", "detach")
)
ROW_BYTES = 2 << 20  # of inputs and outputs of many calls in a row, on the host
KEPT_BYTES = 1 << 30  # an answer that takes no more stays in a device's memory; a larger one is soon made again
_FEWEST_CASES, _MOST_CASES = 2, 10  # that a kernel is run on; the first more often at the end
_USUAL_CASES, _KINDS = 6, 8  # of a task that has rows for all kinds of values, so many, in one case
_ROW_BYTES = 1 << 30  # of calls in a row on a device, held at once
_COPIES = 12  # of inputs and outputs, among which are those of cases with larger sizes
_ANSWERS_BYTES = 4 << 30  # of a candidate's answers that are held at once on a device, where they are large
_ANSWER = 3  # times the bytes of the outputs: as they are, and in float64
_COMPARED = _ANSWER + 2  # and those of the candidate, at the end of two runs
_TIMED = 3  # at once: a kernel, eager PyTorch and torch.compile
_HELD = (
    6  # times: by the reference, as constructed and as they are; by who is judged or timed, with what is made of them
)
_PIECE_BYTES = 4 << 30  # that comparing holds at most beside what it compares, on a device
_CONTEXTS_BYTES = 3 << 30  # that a device takes for the processes of a task
_GIVEN_BACK_SECONDS, _LOOK_SECONDS = 5.0, 0.02
_NOTHING_SECONDS = 1.0  # in which nothing is given back when nothing more is to come
_SLIGHT_BYTES = 64 << 20  # of a device, which come and go

_in_vain: dict[str, int] = {}  # by device: how many bytes were free when all waiting for more was over


def require_room(task: Task, device: Device) -> None:
    """Raise OutOfMemory when judging a task takes more memory than the device has free, however it is done."""
    need = _least_bytes(task)
    free = await_room(device, need)
    if need > free:
        raise OutOfMemory(
            f"{task.name}: judging it takes about {need / 2**30:.3g} GiB of memory, "
            f"and {free / 2**30:.3g} GiB are free.",
            "Make its sizes smaller, for example by --scale.",
        )


def await_room(device: Device, wanted: int) -> int:
    """The bytes that are free, when there are so many as `wanted` or no more are to be expected.

    What a process held that has just ended, a device gives back a moment later. Who has waited for that in vain waits
    again only when more is free than then.
    """
    free = device.free_bytes()
    if device.name == HOST.name or (device.name in _in_vain and free <= _in_vain[device.name] + _SLIGHT_BYTES):
        return free
    until, most = time.monotonic() + _GIVEN_BACK_SECONDS, free
    grown = time.monotonic()
    while free < wanted and time.monotonic() < min(until, grown + _NOTHING_SECONDS):
        time.sleep(_LOOK_SECONDS)
        free = device.free_bytes()
        if free > most:
            most, grown = free, time.monotonic()
    if free < wanted:
        _in_vain[device.name] = free
    return free


def bytes_needed(task: Task, cases: int = _FEWEST_CASES) -> int:
    """Bytes that judging a task with so many cases takes at once.

    Inputs of all cases and outputs of the candidate (of large ones, one) are held. Beside them either the reference
    runs, once as it is and once in float64, or what both answered is compared; the candidate, on inputs of one call, of
    which it keeps a copy, takes less.
    """
    return cases * _given(task) + _answers(task, cases) + bytes_to_answer(task)


def _least_bytes(task: Task) -> int:
    """Bytes that judging a task takes at once where float64 is run on some rows after the others, if it may have such.

    Which rows are apart only running it tells.
    """
    index = GraphIndex(task.graph, task.interface)
    tensors = [a for a in task.interface.arguments if a.kind == "tensor" and a.shape]
    most = max(tensors, key=lambda a: _bytes(a.dtype, a.shape, task), default=None)
    shapes = [index.shape(output) for output in task.graph.outputs if output]
    if most is None or not all(shape and shape[0] == most.shape[0] for shape in shapes):
        return bytes_needed(task)
    given, outputs = _given(task), bytes_of_outputs(task)
    return min(bytes_needed(task), (_FEWEST_CASES + 1) * given + (_COMPARED + 1) * outputs)


def bytes_on_device(task: Task, room: int, most: int = _MOST_CASES) -> int:
    """Bytes of a device that judging and then timing a task takes, on as many cases, `most` or fewer, as fit into
    `room` bytes."""
    return _on_device(task, min(most, cases_within(task, room)))


def likely_cases(task: Task) -> int:
    """How many cases a task is judged on, about: few, where its sizes are fixed and one case holds rows of all kinds.

    What its rows have to do with each other only running it tells.
    """
    index = GraphIndex(task.graph, task.interface)
    rows = (
        size(index.shape(output)[0], task.symbols) if index.shape(output) else 1
        for output in task.graph.outputs
        if output
    )
    return _MOST_CASES if task.symbols or min(rows, default=1) < _KINDS else _USUAL_CASES


def cases_within(task: Task, room: int) -> int:
    """How many cases a task is judged on where it may take `room` bytes of a device; two are judged in any case."""
    fitting = (cases for cases in range(_MOST_CASES, _FEWEST_CASES, -1) if _on_device(task, cases) <= room)
    return next(fitting, _FEWEST_CASES)


def _on_device(task: Task, cases: int) -> int:
    """Bytes of a device for so many cases: while they are judged or a kernel is timed, or what it answered is compared.

    Beside the cases, the reference holds a draw, the inputs of a turn, and copies of two answers, and each that is
    timed its parameters and its answer. These give them back before inputs are made again and compared. Parameters are
    held several times all along, each time in memory of its own.
    """
    given, outputs = _given(task), bytes_of_outputs(task)
    kept = cases * _ANSWER * outputs if _are_kept(task) else 0
    turns = (cases + 2) * given + _TIMED * (_state(task) + outputs) + 2 * outputs
    timing = max(turns, (cases + 3) * given + 2 * outputs + bytes_to_answer(task))
    piece = min(_PIECE_BYTES, 2 * _COMPARED * outputs)
    scattering = cases * given + _answers(task, cases) + _bytes_to_scatter(task)
    held = _HELD * _state(task) + kept + FASTER * ROW_BYTES + _CONTEXTS_BYTES
    return max(bytes_needed(task, cases), timing, scattering) + piece + held


def bytes_to_answer(task: Task) -> int:
    """Bytes that the reference takes for one case: to answer it, or to compare."""
    given, outputs = _given(task), bytes_of_outputs(task)
    return max(given + outputs + 2 * (given + _most_alive(task)), _COMPARED * outputs)


def bytes_to_time(task: Task) -> int:
    """Bytes that timing a kernel takes at once beside the cases: a draw, the inputs of a turn, and answers, of which
    one is compared with those inputs made again; then the reference answers instead of the kernel."""
    given, outputs = _given(task), bytes_of_outputs(task)
    turns = given + _TIMED * (_state(task) + outputs)
    return 2 * given + outputs + max(turns, bytes_to_answer(task))


def _answers(task: Task, cases: int) -> int:
    """Bytes of a candidate's answers that are held at once: large ones are compared before more are made."""
    given, outputs = _given(task), bytes_of_outputs(task)
    count = cases + FEWEST_CALLS - 1
    return outputs * (min(count, answers_at_once(outputs)) if is_large(given, outputs) else count)


def is_large(given: int, outputs: int) -> bool:
    """Whether inputs and answers of so many bytes had better not be held at once for several calls on a device."""
    return FEWEST_CALLS * (given + outputs) > _ROW_BYTES


def answers_at_once(outputs: int) -> int:
    """How many answers of so many bytes each are held at once on a device, where they are large."""
    return max(1, _ANSWERS_BYTES // max(1, outputs))


def may_want_rows(task: Task, device: Device) -> bool:
    """Whether memory may be too little to run the reference in float64 on all rows at once."""
    is_short = device.free_bytes() < bytes_to_answer(task)
    return is_short or (device.name != HOST.name and not _are_kept(task))


def _are_kept(task: Task) -> bool:
    """Whether answers, in float64 too, stay in a device's memory."""
    return _ANSWER * bytes_of_outputs(task) <= KEPT_BYTES


def _bytes_to_scatter(task: Task) -> int:
    """Bytes that the reference takes to run in float64 with noise, beside a case's answers and the candidate's.

    An operator is taken apart then, into steps that hold about twice as much.
    """
    given, outputs = _given(task), bytes_of_outputs(task)
    return given + (_ANSWER + 1) * outputs + 2 * (given + _most_alive(task) + 2 * outputs)


def bytes_of_process(task: Task) -> int:
    """Bytes that a candidate's process may take for a task's tensors, of the largest case: some copies, and a module
    made on the host."""
    return _COPIES * max(_given(each) + bytes_of_outputs(each) for each in asked(task, HOST)) + 2 * _state(task)


def bytes_of_answers(task: Task) -> int:
    """Bytes of the files in which a candidate answers all cases."""
    sizes = [bytes_of_outputs(each) for each in asked(task, HOST)]
    return (_MOST_CASES + 2) * max(sizes[0], 1 << 20) + sum(sizes[1:]) + ROW_BYTES


def _state(task: Task) -> int:
    """Bytes of all parameters."""
    return sum(_bytes(parameter.dtype, parameter.shape, task) for parameter in task.interface.parameters)


def _given(task: Task) -> int:
    """Bytes of all arguments and parameters."""
    tensors = (argument for argument in task.interface.arguments if argument.kind == "tensor")
    return _state(task) + sum(_bytes(argument.dtype, argument.shape, task) for argument in tensors)


def bytes_of_outputs(task: Task) -> int:
    """Bytes of what the reference answers, for the sizes of the task."""
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


def has_work(task: Task) -> bool:
    """Whether a task asks for more than to look at memory in another way: for elements that are computed or moved."""
    return any(node.op.rpartition(".")[0] not in _VIEWS | _PARTS for node in task.graph.nodes)
