"""Which cases a task is judged on: by what it computes and how much, never by how long something took.

The first few are needed, and run however large the task is; where its rows are independent, one of them holds many
kinds of values. Others come while all together are of so much work at most.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from akg_core.device import HOST, Device
from akg_core.judge.records import CALLS, FEWEST_CALLS, StateKind
from akg_core.judge.reference.locality import Locality
from akg_core.judge.reference.lower_bound import has_products
from akg_core.judge.reference.memory_estimate import ROW_BYTES
from akg_core.judge.reference.other_sizes import FASTER, WORK, hidden, work
from akg_core.records import Node, Task
from akg_core.task.graph import GraphIndex, references
from akg_core.task.inputs import draws, edges, places, whole_numbers
from akg_core.task.inputs.borders import borders
from akg_core.task.inputs.other_numbers import other_numbers
from akg_core.task.inputs.patterns import EXACT, Deal

_WORK = 1e9  # that the cases of a task may be together, in the unit of `effort`
_KINDS = ("large", "border", "exact", "cancelling", "offset", "constant_rows", "small", "tiny")
# fmt: off
_LINEAR = frozenset((
    "abs", "add", "amax", "amin", "avg_pool1d", "avg_pool2d", "avg_pool3d", "_adaptive_avg_pool2d", "cat",
    "clamp", "clamp_min", "clone", "copy", "eq", "ge", "gt", "le", "lt", "hardtanh", "leaky_relu", "max",
    "maximum", "max_pool2d_with_indices", "max_pool3d_with_indices", "mean", "min", "minimum", "ne", "neg",
    "relu", "rsub", "sign", "sub", "sum", "threshold", "where", "_unsafe_view", "view", "reshape", "permute",
    "t", "transpose", "unsqueeze", "squeeze", "expand", "slice", "select", "alias", "detach", "constant_pad_nd",
))
# fmt: on
"""Operators of which the largest numbers ask no more than that sums stay finite. Others amplify their last digits
beyond all bounds: exp(s * x - max) is infinite where a product is not rounded before the difference."""
# fmt: off
_LIMITS = frozenset((
    "_softmax", "_log_softmax", "_safe_softmax", "all", "any", "arange", "bitwise_and", "bitwise_not", "bitwise_or",
    "bitwise_xor", "exp", "full", "isinf", "isnan", "log", "logical_and", "logical_not", "logical_or", "logical_xor",
    "masked_fill", "scalar_tensor", "sqrt", "_to_copy",
))
# fmt: on
_SCALING = frozenset(("mul", "div"))
_NAN = ("nan", "all_nan")
_NOT_FINITE = (*_NAN, "inf", "minus_inf", "both_inf", "all_minus_inf")
_CALLS_WORK = 2e8
_SIMULATED_WORK = 2e7  # the same where a kernel is simulated, which more than that would be left out of


@dataclass(frozen=True)
class Plan:
    """A case to be drawn. `needed`: without it, no kernel is correct; `numbers`: other values of arguments."""

    kind: str
    seed: int
    state: StateKind = "redrawn"
    sizes: dict[str, int] = field(default_factory=dict)
    deal: Deal | None = None
    needed: bool = False
    numbers: dict[str, Any] = field(default_factory=dict)


def planned(
    task: Task,
    seed: int,
    local: Locality,
    is_free: bool,
    device: Device,
    simulated: bool = False,
    is_masked: bool = False,
) -> Iterator[Plan]:
    """The cases after the first, those that find most coming early. `is_free`: any number may stand in its inputs.
    `simulated`: kernels are, so that cases of larger sizes have to be smaller. `is_masked`: as of `places`."""
    sizes = hidden(task, seed, device, _SIMULATED_WORK if simulated else WORK)
    needed = _needed(task, seed, local, is_free, is_masked, sizes[:2])
    more = _optional(task, seed, local, sizes[2:])
    yield from needed
    yield from more[: max(0, int(_WORK / work(task, device)) - 1 - len(needed))]


def calls(task: Task, inputs_bytes: int, outputs_bytes: int, device: Device) -> int:
    """How often a kernel is called in a row, on inputs of so many bytes."""
    faster = 1 if device.name == HOST.name else FASTER
    by_bytes = ROW_BYTES * faster / max(1, inputs_bytes + outputs_bytes)
    return max(FEWEST_CALLS, min(CALLS, int(by_bytes), int(_CALLS_WORK / work(task, device))))


def _needed(
    task: Task, seed: int, local: Locality, is_free: bool, is_masked: bool, near: list[dict[str, int]]
) -> list[Plan]:
    found = [_dealt(task, seed + 2, local)[0], Plan("signed", seed + 3, needed=True)]
    if whole_numbers.free(task):
        found.append(Plan(draws.WHOLE, seed + 9, needed=True))
    found += [Plan(kind, seed + 12 + number, needed=True) for number, kind in enumerate(places.asked(task, is_masked))]
    found += [Plan("drawn", seed + 4, sizes=sizes, needed=True) for sizes in (*near, *draws.fewer(task))]
    if is_free and (deal := _not_finite(task, local)):
        found.append(Plan(draws.DEALT, seed + 5, "initial", deal=deal, needed=True))
    found.append(Plan("disturbed", seed + 1, "initial", needed=True))  # the first case's own seed
    if task.graph.mutations and not task.interface.seeded:
        found.append(Plan("drawn", seed + 15, "later", needed=True))
    found += [Plan("drawn", seed + 10, "initial", numbers=numbers, needed=True) for numbers in other_numbers(task)]
    return found + [Plan("drawn", seed + 8, sizes=sizes, needed=True) for sizes in edges.edges(task)]


def _optional(task: Task, seed: int, local: Locality, others: list[dict[str, int]]) -> list[Plan]:
    found = [Plan("drawn", seed + 6)]
    if task.interface.parameters or local.rows > 1:
        found.append(_even(task, seed + 11, local))
    found += _dealt(task, seed + 20, local)[1:]
    return found + [Plan("signed", seed + 7, sizes=sizes) for sizes in others]


def _even(task: Task, seed: int, local: Locality) -> Plan:
    """Every row of equal, whole and zero numbers, beside parameters as the constructor leaves them: no row's greatest
    is there twice where each column has a factor of its own."""
    even = borders(task)
    deal = Deal((EXACT,), local.depth, local.leaves, borders=even.numbers, tables=even.tables, order=seed)
    return Plan(draws.DEALT, seed, "initial", deal=deal)


def _dealt(task: Task, seed: int, local: Locality) -> list[Plan]:
    """Cases that hold all kinds between them: as many kinds in each as it has rows."""
    is_linear = all(node.op.split(".")[1] in _LINEAR for node in task.graph.nodes)
    kinds = (*_KINDS, *(("huge",) if is_linear else ()))
    share = min(len(kinds), local.rows)
    parts = [kinds[start : start + share] for start in range(0, len(kinds), share)]
    plans, even = [], borders(task)
    for number, part in enumerate(parts):
        depth = local.depth if share > 1 else 0
        deal = Deal(part, depth, local.leaves, borders=even.numbers, tables=even.tables, order=seed + number)
        state: StateKind = "redrawn" if number % 4 != 3 else "initial"
        plans.append(Plan(draws.DEALT, seed + number, state, deal=deal, needed=not number))
    return plans


def _not_finite(task: Task, local: Locality) -> Deal | None:
    """Rows with infinities and NaN, where it is defined what comes of them.

    A row that goes into products is NaN as a whole: which of its terms an implementation computes at all, and into
    what it splits an infinity, is its own choice. So is what a function of several steps gives for an infinity, where
    one of them is zero. Places of an extreme among NaN are not asked for either.
    """
    index = GraphIndex(task.graph, task.interface)
    if any(index.dtype(output).startswith(("i", "u")) for output in task.graph.outputs if output):
        return None
    if has_products(task) or any("sample" in node.op for node in task.graph.nodes):
        return Deal(("all_nan",), local.depth, local.leaves, sparse=True) if local.rows > 1 else None
    kinds = _NOT_FINITE if all(_keeps_limits(node, index) for node in task.graph.nodes) else _NAN
    if local.rows < len(kinds):
        return Deal(("one_nan",), 0, local.leaves)
    return Deal(kinds, local.depth, local.leaves, sparse=True)


def _keeps_limits(node: Node, index: GraphIndex) -> bool:
    """Whether it is defined what comes of an infinity, in whatever steps it is computed."""
    name = node.op.split(".")[1]
    if name in _SCALING and node.dtypes[0] != "bool":  # by a number or a parameter, which may not be zero
        return (
            any(index.origin(text).startswith("parameter") for text in references(node))
            or len(list(references(node))) < 2
        )
    return name in _LINEAR or name in _LIMITS or name in _SCALING
