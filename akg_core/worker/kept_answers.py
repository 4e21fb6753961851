"""Files of the answers that a timekeeper keeps, each with the tensors that were given for it.

A worker tells where each tensor of an answer lies, in words of 64 bits. Of those that are `sized`, whose size is among
the values, it tells shape and strides besides, in as many words as the first answer had dimensions.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Sequence
from typing import Any

from akg_core.worker import vm
from akg_core.worker.layout import aligned, header

LONGEST_ANSWER = 16 << 30  # bytes
_MOST_ANEW = 4 << 30  # bytes of all tensors whose sizes are told with them


class Unfit(Exception):
    """A worker did not do what a turn needs: it is ended."""


def words(answer: dict[str, Any], sized: Sequence[int]) -> int:
    """How many words tell of an answer."""
    return sum(1 + 2 * len(tensor["shape"]) * (n in sized) for n, tensor in enumerate(answer["tensors"]))


class Kept:
    """A file of tensors that gets the answers of an order's turns, all of one size."""

    def __init__(self, file: int, answer: dict[str, Any], order: dict[str, Any]) -> None:
        self._tensors = [*answer["tensors"], *order["given"]]
        offsets = [0, *itertools.accumulate(aligned(tensor["nbytes"]) for tensor in self._tensors)]
        table: list[dict[str, Any]] = []
        trees = []
        for turn in range(order["turns"]):
            trees.append(_tree(answer, len(table), len(self._tensors)))
            table += [_entry(each, turn * offsets[-1] + at) for each, at in zip(self._tensors, offsets, strict=False)]
        head = header({"tree": trees, "tensors": table})
        self._view = vm.View(file, len(head) + order["turns"] * offsets[-1], writable=True)
        ctypes.memmove(self._view.address, head, len(head))
        self._start, self._offsets = self._view.address + len(head), offsets

    def __enter__(self) -> Kept:
        return self

    def __exit__(self, *_: object) -> None:
        self._view.__exit__()

    def read(self, worker: int, turn: int, told: Sequence[int], places: Sequence[int]) -> None:
        """Take over an answer and its inputs from these addresses of the worker, which stands still."""
        start = self._start + turn * self._offsets[-1]
        for tensor, offset, address in zip(self._tensors, self._offsets, (*told, *places), strict=False):
            vm.read(worker, address, start + offset, tensor["nbytes"])


class KeptAnew:
    """A file of tensors that gets the answers of an order's turns, of the sizes that are told with each."""

    def __init__(self, file: int, answer: dict[str, Any], order: dict[str, Any]) -> None:
        self._file, self._answer, self._given, self._sized = file, answer, order["given"], order["sized"]
        self._trees: list[Any] = []
        self._table: list[dict[str, Any]] = []
        self._data: list[Any] = []
        self._end = 0
        self._room = _MOST_ANEW

    def __enter__(self) -> KeptAnew:
        return self

    def __exit__(self, *_: object) -> None:
        head = header({"tree": self._trees, "tensors": self._table})
        with vm.View(self._file, len(head) + self._end, writable=True) as view:
            ctypes.memmove(view.address, head, len(head))
            for entry, data in zip(self._table, self._data, strict=True):
                ctypes.memmove(view.address + len(head) + entry["offset"], data, len(data))

    def read(self, worker: int, turn: int, told: Sequence[int], places: Sequence[int]) -> None:
        """As `Kept.read`; raises Unfit for answers that are longer than any."""
        tensors = self._answer["tensors"]
        self._trees.append(_tree(self._answer, len(self._table), len(tensors) + len(self._given)))
        rest = iter(told)
        for number, tensor in enumerate(tensors):
            address = next(rest)
            if number in self._sized:
                shape, strides = (list(itertools.islice(rest, len(tensor["shape"]))) for _ in range(2))
                tensor = _resized(tensor, shape, strides)
                self._room -= tensor["nbytes"]
                if self._room < 0:
                    raise Unfit("its answer has no size")
            self._take(worker, address, tensor)
        for address, tensor in zip(places, self._given, strict=True):
            self._take(worker, address, tensor)

    def _take(self, worker: int, address: int, tensor: dict[str, Any]) -> None:
        data = ctypes.create_string_buffer(tensor["nbytes"])
        vm.read(worker, address, ctypes.addressof(data), tensor["nbytes"])
        self._table.append(_entry(tensor, self._end))
        self._data.append(data)
        self._end += aligned(tensor["nbytes"])


def _resized(tensor: dict[str, Any], shape: list[int], strides: list[int]) -> dict[str, Any]:
    """What is told of a tensor as that of another shape."""
    span = 1 + sum((size - 1) * step for size, step in zip(shape, strides, strict=True)) if all(shape) else 0
    return tensor | {"shape": shape, "strides": strides, "span": span, "nbytes": span * tensor["itemsize"]}


def _entry(tensor: dict[str, Any], offset: int) -> dict[str, Any]:
    return {key: tensor[key] for key in ("dtype", "shape", "strides", "span")} | {"offset": offset}


def _tree(answer: dict[str, Any], first: int, count: int) -> dict[str, Any]:
    """An answer and its inputs, for a table in which their tensors, so many, begin at `first`."""
    arguments = [{"tensor": first + index} for index in range(len(answer["tensors"]), count)]
    return {"dict": {"result": _renumbered(answer["tree"], first), "arguments": arguments}}


def _renumbered(tree: Any, first: int) -> Any:
    """The same tree for a table in which its tensors begin at `first`."""
    if isinstance(tree, list):
        return [_renumbered(item, first) for item in tree]
    if isinstance(tree, dict):
        return {
            key: first + item if key == "tensor" and isinstance(item, int) else _renumbered(item, first)
            for key, item in tree.items()
        }
    return tree
