"""Indices, lengths, segments, labels and flags beyond those that a file happens to draw: at either end, empty, to be
ignored, all alike in a row, in no order.

Which indices are in range the captured graph says: of an argument that is nothing else than a place in a dimension, any
place may be asked. So may a number that the graph tells from the others, as a label that is to be ignored, and flags of
one value throughout, where the file draws flags by chance. A mask that is always the same, as a causal one, is an
argument all the same: it may be another.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from akg_core.records import Node, Task
from akg_core.task import arguments, layout
from akg_core.task.graph import GraphIndex, is_reference, size

KINDS = ("places", "all flags", "no flags", "no length")
_FLAGS, _EMPTY = KINDS[1:3], KINDS[3]
# fmt: off
_SAME = frozenset((
    "clone", "view", "_unsafe_view", "reshape", "unsqueeze", "squeeze", "expand", "permute", "t", "transpose",
    "_to_copy", "select", "slice",
))
# fmt: on
_MARKED = 8  # of so many numbers one is one that the graph tells from others
_BY_CHANCE = 0.1  # of the flags of two draws, at least, differ where they mean nothing
_SHARES = {"all flags": 0.75, "no flags": 0.25}  # of flags that are set in rows of both
_SAMPLED = 4096


def asked(task: Task, masked: bool = False) -> list[str]:
    """The kinds of draws that there are for a task's arguments. `masked`: an argument `is_masked`."""
    flags = masked or any(argument.dtype == "bool" and argument.shape for argument in task.interface.arguments)
    free = _free(task)
    lengths = any(ends and ends[0] for ends, _ in free.values())
    return [*KINDS[: 1 if free or _segmented(task) else 0], *(_FLAGS if flags else ()), *([_EMPTY] if lengths else ())]


def is_masked(values: Sequence[Any]) -> bool:
    """Whether an argument that is no bool may be a mask."""
    return any(_two(value) is not None for value in arguments.flat((), values) if isinstance(value, torch.Tensor))


def drawn(task: Task, kind: str, values: Sequence[Any], others: Sequence[Any], seed: int) -> list[Any]:
    """Arguments of `forward` with indices or flags of a kind; `others` are those of another draw."""
    leaves, beside = (arguments.flat(task.interface.arguments, each) for each in (values, others))
    free = {} if kind in _FLAGS else _free(task)
    segmented = _segmented(task) if kind == KINDS[0] else set[str]()
    for place, argument in enumerate(task.interface.arguments):
        value = leaves[place]
        draw = torch.Generator().manual_seed(seed * len(leaves) + place + 15_485_863)
        if argument.name in segmented:
            leaves[place] = layout.replaced(value, _with_empty)
        elif argument.name in free and not _is_ordered(value):
            ends, marks = free[argument.name]
            ends = (0, ends[1]) if ends and kind == _EMPTY else ends
            leaves[place] = layout.replaced(value, functools.partial(_placed, ends=ends, marks=marks, draw=draw))
        elif kind in _FLAGS and isinstance(value, torch.Tensor) and (two := _two(value, beside[place])) is not None:
            change = functools.partial(
                _flagged, two=two, kind=kind, throughout=_is_by_chance(value, beside[place]), draw=draw
            )
            leaves[place] = layout.replaced(value, change)
    return arguments.rebuilt(values, leaves)


def _placed(
    value: torch.Tensor, ends: tuple[int, int] | None, marks: Sequence[int], draw: torch.Generator
) -> torch.Tensor:
    """Any numbers between two ends, both among them, or without these the same; and marks, each once at least."""
    new = torch.randint(ends[0], ends[1] + 1, value.shape, generator=draw) if ends else value.cpu().clone()
    flat, order = new.view(-1), torch.randperm(value.numel(), generator=draw)
    for number, end in enumerate(ends or ()):
        flat[order[number : number + 1]] = end
    for number, mark in enumerate(marks):
        flat[order[2 + number :: _MARKED * len(marks)]] = mark
    return new.to(value)


def _flagged(
    value: torch.Tensor, two: torch.Tensor, kind: str, throughout: bool, draw: torch.Generator
) -> torch.Tensor:
    """Any of two values everywhere, both of them in each row; and some rows, one at least, of one `throughout`."""
    flags = torch.rand(value.shape, generator=draw) < _SHARES[kind]
    rows = flags.view(-1, flags.shape[-1])
    if rows.shape[1] > 1:
        for flag, place in enumerate(torch.rand(rows.shape, generator=draw).topk(2).indices.T):
            rows[torch.arange(len(rows)), place] = bool(flag)
    if throughout:
        rows[torch.randperm(len(rows), generator=draw)[: 1 + len(rows) // 4]] = kind == _FLAGS[0]
    return two[flags.to(value.device).long()]


def _with_empty(value: torch.Tensor) -> torch.Tensor:
    """Places in order, of which every second one within is that before it, so that nothing lies between them."""
    new = value.clone()
    new[..., 2:-1:2] = value[..., 1:-2:2]
    return new


def _two(value: torch.Tensor, beside: Any = None) -> torch.Tensor | None:
    """The two values of a mask: of flags, or of what is no bool and has these alone, in another draw at the same
    places; None of what is no mask."""
    if value.dtype == torch.bool:
        return torch.tensor([False, True], device=value.device) if value.dim() else None
    if value.dim() < 2 or value.shape[-1] < 2 or not value.numel():
        return None
    if len(value.reshape(-1)[:_SAMPLED].unique()) > 2:
        return None
    found = value.unique()
    found = torch.cat((found - 1, found)) if found.tolist() == [1] else found
    is_same = beside is None or torch.equal(value, beside)
    return found if len(found) == 2 and is_same and not _is_its_transpose(value) else None


def _is_its_transpose(value: torch.Tensor) -> bool:
    return value.shape[-1] == value.shape[-2] and torch.equal(value, value.mT)


def _is_by_chance(one: Any, other: Any) -> bool:
    alike = isinstance(one, torch.Tensor) and one.dim() > 1 and one.numel() and one.shape == other.shape
    return bool(alike) and float((one != other).double().mean()) > _BY_CHANCE


def _is_ordered(value: torch.Tensor) -> bool:
    """Whether numbers rise or fall along a row, or none is there twice: they mean more than places."""
    if value.numel() < 2:
        return True
    if bool((value == value.reshape(-1)[0]).all()):
        return False
    rows = value.reshape(-1, value.shape[-1]) if value.shape[-1] > 1 else value.reshape(1, -1)
    steps, apart = rows.diff(dim=-1), rows.sort(-1).values.diff(dim=-1)
    return bool((steps >= 0).all()) or bool((steps <= 0).all()) or bool((apart != 0).all())


def _segmented(task: Task) -> set[str]:
    """The arguments that say where segments begin or end, of which each may be empty."""
    index, found = GraphIndex(task.graph, task.interface), set[str]()
    for node in task.graph.nodes:
        match node.op.split(".")[1], node.args:
            case "_embedding_bag", [_, _, str(text), *_]:
                pass
            case "searchsorted", [str(text), *_]:
                pass
            case "bucketize", [_, str(text), *_]:
                pass
            case _:
                continue
        while (made := index.producer(text)) and made.op.split(".")[1] in _SAME:
            text = made.args[0]
        origin = index.origin(text)
        if origin.startswith("argument:") and index.dtype(text) in ("i64", "i32"):
            found.add(origin.removeprefix("argument:"))
    return found


def _free(task: Task) -> dict[str, tuple[tuple[int, int] | None, list[int]]]:
    """The arguments that are nothing but places, or how many places of a row count: the least and the greatest (None:
    of what nothing is read), and which numbers are told from others. One that is no place is so where a choice stands
    before all that reads."""
    index = GraphIndex(task.graph, task.interface)
    found = {}
    for name, origin in task.graph.values.items():
        uses, is_whole = _Uses(), origin.startswith("argument:") and index.dtype(name) in ("i64", "i32")
        if is_whole and _are_places(index, task, f"%{name}", uses) and (uses.greatest or uses.marks):
            ends = (uses.least, min(uses.greatest)) if uses.greatest and uses.least <= min(uses.greatest) else None
            marks = sorted(m for m in uses.marks if uses.is_guarded or (ends and ends[0] <= m <= ends[1]))
            found[origin.removeprefix("argument:")] = (ends, marks)
    return found


@dataclass
class _Uses:
    """The greatest that a value may be, each time that something is read there or it is compared with places, and the
    least; the numbers that it is compared with; whether it always comes by a choice where something is read."""

    greatest: list[int] = field(default_factory=list)
    least: int = 0
    marks: set[int] = field(default_factory=set)
    is_guarded: bool = True


def _are_places(index: GraphIndex, task: Task, text: str, uses: _Uses, is_chosen: bool = False) -> bool:
    """Whether a value is used as places or as lengths alone; takes in how."""
    for node in index.users(text):
        name, of = node.op.split(".")[1], f"%{node.name}"
        if name in ("eq", "ne") and isinstance(node.args[1], int):
            uses.marks.add(node.args[1])
        elif name in ("ge", "gt", "le", "lt") and (count := _counted(index, task, node, text)):
            uses.greatest.append(count)
            uses.least = 1  # of a row of which nothing counts nobody knows what becomes
        elif name in _SAME or name == "where":
            is_whole = node.dtypes[0] in ("i64", "i32")
            if not is_whole or not _are_places(index, task, of, uses, is_chosen or name == "where"):
                return False
        elif (read := _read(node, text)) is not None:
            source, dim = read
            sizes = index.shape(source) or (1,)  # a tensor without dims has one place
            uses.greatest.append(size(sizes[dim], task.symbols) - 1)
            uses.is_guarded = uses.is_guarded and is_chosen
        else:
            return False
    return not index.escapes(text)


def _counted(index: GraphIndex, task: Task, node: Node, text: str) -> int:
    """How many places there are, from 0 on, with which a value is compared; 0 where it is compared with others."""
    other = node.args[1] if node.args[0] == text else node.args[0]
    while is_reference(other) and (made := index.producer(other)):
        match made.op.split(".")[1], made.args:
            case "arange", [0, end, 1]:
                return size(end, task.symbols)
            case name, [other, *_] if name in _SAME:
                continue
        break
    return 0


def _read(node: Node, text: str) -> tuple[str, int] | None:
    """What is read at the places that a value is, and along which dimension; None where it is used otherwise."""
    match node.op.split(".")[1], node.args:
        case "gather" | "index_select", [str(source), int(dim), place, *_] if place == text != source:
            return source, dim
        case "embedding", [str(source), place, *_] if place == text != source:
            return source, 0
        case "index", [str(source), [*places]] if text in places and text != source:
            return source, places.index(text)
    return None
