"""Files of tensors and plain values that processes hand to each other.

A file is a length, a JSON tree, and the tensors' bytes on 64-byte boundaries. Reading runs nothing that a file contains
and trusts nothing: whoever wrote it may have been the code under judgement. What would take more memory than the file
itself, or could mean two things, is refused. Large tensors on a device that can lend its memory stay there: the file
then says where.
Trees are made of tensors, None, bool, int, float, complex, str, dtypes, sizes, lists, tuples, dicts with string keys.
"""

from __future__ import annotations

import ctypes
import itertools
import json
import math
import mmap
import os
import resource
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from akg_core.device import HOST, Device
from akg_core.foreign import sentence
from akg_core.worker.answers import COUNT, DEPTH, described
from akg_core.worker.layout import LENGTH, aligned, header

_HEADER_BYTES = 10 << 20
_LENT_BYTES = 1 << 20  # smaller tensors travel in the file even when their device could lend them
_LARGEST = 1 << 62  # of sizes and strides
_AT_ONCE = 1 << 26  # bytes that one call of the system moves
_SAID = 200  # characters of a reason that are repeated
_SPREAD, _ROOM = 4, 1024  # a tensor that spans more than so many times its elements, and so many, is made contiguous
_WIDTHS = "bool uint8 int8 uint16 int16 uint32 int32 uint64 int64 float16 bfloat16 float32 float64 complex64 complex128"
_EIGHTHS = "float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu"
_DTYPES = {name: getattr(torch, name) for name in f"{_WIDTHS} {_EIGHTHS}".split() if hasattr(torch, name)}
_QUANTISED = {name: getattr(torch, name) for name in ("qint8", "quint8", "qint32", "quint4x2", "quint2x4")}
"""Dtypes of no tensor here, but arguments may name them."""


class TensorFileError(Exception):
    """A file that is not what `save` writes."""


def save(path: Path, value: Any, device: Device = HOST) -> None:
    """Write a tree of our own. Strides are kept; what spans far more memory than it has elements is made contiguous.

    Raises TypeError for what a file cannot hold.
    """
    plain = transform(value, lambda tensor: tensor.detach().resolve_conj().resolve_neg().as_subclass(torch.Tensor))
    write(path, described(plain), device)


def write(path: Path, answer: dict[str, Any], device: Device = HOST) -> None:
    """Write what `described` tells of a tree, whose memory is read where it says; see `save`.

    The system copies memory of the host, so that nobody notices who has forbidden to read it: that is an OSError.
    Raises MemoryError for tensors that their device has no room to lend, and that no file may hold either.
    """
    table: list[dict[str, Any]] = []
    pieces: list[tuple[torch.Tensor | None, int, int]] = []  # what holds the memory, its address and bytes
    offset = 0
    for told in answer["tensors"]:
        (entry, holder, address, size), place = _laid_out(told, device), told["device"]
        lender = holder if place == device.name and size >= _LENT_BYTES else None
        lent = device.share(lender) if lender is not None else None
        table.append(entry | ({"lent": lent} if lent else {"offset": offset}))
        if not lent:
            if lender is not None and size > resource.getrlimit(resource.RLIMIT_FSIZE)[0] >= 0:
                raise MemoryError(f"out of memory: {place} has no room for another {size} bytes")
            if holder is not None:
                holder = holder.cpu()
                address = holder.data_ptr()
            pieces.append((holder, address, size))
            offset += aligned(size)
    with path.open("wb", buffering=0) as file:
        _write_all(file.fileno(), header({"tree": answer["tree"], "tensors": table}))
        for _, address, size in pieces:
            _write_all(file.fileno(), (ctypes.c_char * size).from_address(address) if size else b"")
            _write_all(file.fileno(), bytes(aligned(size) - size))


def taken(told: dict[str, Any], device: Device = HOST) -> torch.Tensor:
    """A tensor of ours on the memory of one that is described."""
    return _memory_of(told, device).as_strided(told["shape"], told["strides"])


def load(path: Path, device: Device = HOST) -> Any:
    """Read a tree onto `device`. On the host, tensors are views of the mapped file; writing changes nothing outside.

    Raises TensorFileError for a file that is missing, a link, or damaged.
    """
    return _read(path, device, lambda descriptor: mmap.mmap(descriptor, 0, access=mmap.ACCESS_COPY))


def receive(path: Path, device: Device = HOST) -> Any:
    """Read what foreign code has written, like `load`: a copy, so that nothing is lost when the file is cut later."""
    return _read(path, device, _copied)


def placed(path: Path, memories: Sequence[torch.Tensor]) -> Any:
    """The tree of a file that `save` has written, its tensors in other memory: flat, of bytes, as many as there are."""
    content, _ = _content(_opened(path, lambda descriptor: mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)))
    return assembled(content, memories)


def assembled(answer: dict[str, Any], memories: Sequence[torch.Tensor]) -> Any:
    """The tree that foreign code has described, on memory that was copied for each of its tensors: flat, of bytes.

    Raises TensorFileError for what makes no sense.
    """
    try:
        tensors = []
        for told, held in zip(answer["tensors"], memories, strict=True):
            kind, shape, strides, span = _checked(told["dtype"], told["shape"], told["strides"], told["span"])
            tensors.append(held[: span * kind.itemsize].view(kind).as_strided(shape, strides))
        return _decode(answer["tree"], tensors, itertools.count(), 0)
    except Exception as error:  # of whatever kind, as when a file is read
        raise TensorFileError(f"an answer is described wrongly: {_said(error)}") from None


def description(path: Path) -> str:
    """A text that is the same for files which differ in their tensors' numbers alone, one that `save` has written."""
    content, _ = _content(_opened(path, lambda descriptor: mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)))
    for entry in content["tensors"]:
        for place in ("lent", "offset"):
            entry.pop(place, None)
    return json.dumps(content)


def fresh(value: Any) -> Any:
    """The same tree with tensors in newly allocated memory, of the same strides."""
    return transform(value, _copy)


def overwritten(tree: Any, value: Any) -> Any:
    """The tree `value` with tensors in the memory of those of `tree`, which has as many; anew where one is unlike."""
    held: list[torch.Tensor] = []
    transform(tree, held.append)
    tensors = iter(held)

    def put(tensor: torch.Tensor) -> torch.Tensor:
        there = next(tensors)
        alike = (there.dtype, there.shape, there.stride()) == (tensor.dtype, tensor.shape, tensor.stride())
        if not alike or there.numel() != span(there):  # or places would be written that no element has
            return _copy(tensor)
        memory(there).copy_(memory(tensor))
        return there.detach()

    return transform(value, put)


def transform(value: Any, change: Callable[[torch.Tensor], Any]) -> Any:
    """The same tree with each tensor replaced by `change(tensor)`."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, torch.Size):
        return value
    if isinstance(value, (list, tuple)):
        items = [transform(item, change) for item in value]
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, dict):
        return {key: transform(item, change) for key, item in value.items()}
    return value


def span(tensor: torch.Tensor) -> int:
    """How many elements lie between a tensor's first and last in memory, both counted."""
    if tensor.numel() == 0:
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))


def memory(tensor: torch.Tensor) -> torch.Tensor:
    """The memory between a tensor's first element and its last as one dimension, a view."""
    return tensor.as_strided((span(tensor),), (1,))


def compact(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor, or a copy of it that is contiguous where it spans far more memory than it has elements."""
    tensor = tensor.detach()
    return tensor.contiguous() if span(tensor) > _SPREAD * tensor.numel() + _ROOM else tensor


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    tensor = compact(tensor)
    return memory(tensor).clone().as_strided(tensor.shape, tensor.stride())


def _laid_out(told: dict[str, Any], device: Device) -> tuple[dict[str, Any], torch.Tensor | None, int, int]:
    """How a described tensor is written: its entry in the table, then what holds it (None: the host), where, how much.

    Memory is taken by its address as a tensor of ours, and only where it lies on a device or must be made contiguous.
    """
    place, shape, strides = told["device"], told["shape"], told["strides"]
    entry = {key: told[key] for key in ("dtype", "shape", "strides", "span")}
    count = math.prod(shape)
    spread = told["span"] > _SPREAD * count + _ROOM
    may_stay = place == device.name and told["nbytes"] >= _LENT_BYTES
    if not told["span"] or (place == HOST.name and not spread and not may_stay):
        return entry, None, told["address"], told["nbytes"]
    flat = _memory_of(told, device)
    if spread:
        flat = flat.as_strided(shape, strides).contiguous().reshape(-1)
        entry |= {"strides": [math.prod(shape[dim + 1 :]) for dim in range(len(shape))], "span": count}
    return entry, flat, flat.data_ptr(), flat.nbytes


def _memory_of(told: dict[str, Any], device: Device) -> torch.Tensor:
    if told["device"] not in (HOST.name, device.name):
        raise TypeError(f"a tensor lies on {told['device']}, not on {device.name}")
    place, kind = HOST if told["device"] == HOST.name else device, _dtype(told["dtype"])
    if not told["span"]:
        return torch.empty(0, dtype=kind, device=place.name)
    return place.at(told["address"], told["nbytes"]).view(kind)


def _write_all(descriptor: int, data: Any) -> None:
    rest = memoryview(data).cast("B")
    while rest:
        rest = rest[os.write(descriptor, rest[:_AT_ONCE]) :]


def _read(path: Path, device: Device, get: Callable[[int], Any]) -> Any:
    try:
        memory = _opened(path, get)
        content, start = _content(memory)
        tensors = _tensors(content["tensors"], memory, start, device)
        return _decode(content["tree"], tensors, itertools.count(), 0)
    except Exception as error:  # of whatever kind: nothing in the file may end who reads it
        raise TensorFileError(f"{path.name} is not a file of tensors: {_said(error)}") from None


def _said(error: Exception) -> str:
    said = "" if isinstance(error, RecursionError) else sentence(str(error)[:_SAID])
    return said or type(error).__name__


def _opened(path: Path, get: Callable[[int], Any]) -> Any:
    """The bytes of a file as `get` gives them, by its descriptor."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
            raise ValueError("it is a link or no file")
        return get(descriptor)
    finally:
        os.close(descriptor)


def _copied(descriptor: int) -> Any:
    """A file's bytes in memory of this process's allocator, which is used again, unlike that of a mapping."""
    size, done = os.fstat(descriptor).st_size, 0
    held = torch.empty(size, dtype=torch.uint8)
    data: Any = (ctypes.c_char * size).from_address(held.data_ptr())
    data.held = held
    room = memoryview(data).cast("B")
    while done < size and (count := os.preadv(descriptor, [room[done : done + _AT_ONCE]], done)):
        done += count
    if done < size:  # what is left unread holds whatever this process had there
        raise ValueError("it became shorter while it was read")
    return data


def _content(memory: Any) -> tuple[dict[str, Any], int]:
    """What a file says of its tree and its tensors, and where their bytes begin."""
    length = LENGTH.unpack_from(memory)[0]
    if length > min(_HEADER_BYTES, len(memory) - LENGTH.size):
        raise ValueError("the header does not fit")
    start = LENGTH.size + length
    content = json.loads(memory[LENGTH.size : start], object_pairs_hook=_once)
    if type(content) is not dict or content.keys() != {"tree", "tensors"} or type(content["tensors"]) is not list:
        raise ValueError("the header has other parts")
    return content, start


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("the header says something twice")
    return found


def _tensors(table: list[Any], memory: Any, start: int, device: Device) -> list[torch.Tensor]:
    """The tensors of a table, whose bytes lie one after the other and end with the file."""
    tensors, offset = [], 0
    for entry in table if len(table) <= COUNT else ():
        kind, shape, strides, span = _checked(**entry)
        size = span * kind.itemsize
        lent = entry.get("lent")
        if lent is None and (entry.get("offset") != offset or start + offset + size > len(memory)):
            raise ValueError("a tensor's bytes are not where they must be")
        if span == 0:
            flat = torch.empty(0, dtype=kind, device=device.name)
        elif lent is None:
            flat = torch.frombuffer(memory, dtype=kind, count=span, offset=start + offset).to(device.name)
        else:
            flat = device.shared(lent, kind, span)
        offset += aligned(size) if lent is None else 0
        tensors.append(flat.as_strided(shape, strides))
    if len(tensors) != len(table) or start + offset != len(memory):
        raise ValueError("it holds more than it says, or too many tensors")
    return tensors


def _checked(
    dtype: Any, shape: Any, strides: Any, span: Any, offset: Any = 0, lent: Any = None
) -> tuple[torch.dtype, list[int], list[int], int]:
    """The description of a tensor, when it makes sense."""
    kind = _dtype(dtype)
    for numbers in (shape, strides, [span, offset]):
        if type(numbers) is not list or not all(type(n) is int and 0 <= n < _LARGEST for n in numbers):
            raise ValueError("a tensor's description is not made of sizes")
    due = 0 if 0 in shape else 1 + sum((size - 1) * step for size, step in zip(shape, strides, strict=True))
    if len(shape) != len(strides) or len(shape) > DEPTH or span != due or math.prod(shape) >= _LARGEST:
        raise ValueError("a tensor's description makes no sense")
    return kind, shape, strides, span


def _decode(node: Any, tensors: list[torch.Tensor], counted: Iterator[int], depth: int) -> Any:
    if depth > 2 * DEPTH or next(counted) > 2 * COUNT:
        raise ValueError("the tree is too large")

    def inner(item: Any) -> Any:
        return _decode(item, tensors, counted, depth + 1)

    match node:
        case list():
            return [inner(item) for item in node]
        case {"tensor": int(index)} if len(node) == 1 and 0 <= index < len(tensors):
            return tensors[index]
        case {"dtype": str(name)} if len(node) == 1:
            return _QUANTISED.get(name) or _dtype(name)
        case {"complex": [float(real), float(imaginary)]} if len(node) == 1:
            return complex(real, imaginary)
        case {"size": list(sizes)} if len(node) == 1:
            return torch.Size(sizes)
        case {"tuple": list(items)} if len(node) == 1:
            return tuple(inner(item) for item in items)
        case {"dict": dict(items)} if len(node) == 1:
            return {key: inner(item) for key, item in items.items()}
        case dict():
            raise ValueError("an unknown kind of value")
    return node


def _dtype(name: Any) -> torch.dtype:
    if type(name) is not str or name not in _DTYPES:
        raise ValueError("a dtype that there is not, or that no kernel answers in")
    return _DTYPES[name]
