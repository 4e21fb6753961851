"""Files of tensors and plain values that processes hand to each other.

A file is a length, a JSON tree, and the tensors' bytes on 64-byte boundaries. Reading maps the file, runs nothing that
it contains, and trusts nothing: whoever wrote it may have been the code under judgement. Large tensors on a device that
can lend its memory stay there: the file then says where.
Trees are made of tensors, None, bool, int, float, str, lists, tuples and dicts with string keys.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import stat
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from akg_core.worker.device import HOST, Device

_LENGTH = struct.Struct("<Q")
_ALIGNMENT = 64
_HEADER_BYTES = 64 << 20
_LENT_BYTES = 1 << 20  # smaller tensors travel in the file even when their device could lend them


class TensorFileError(Exception):
    """A file that is not what `save` writes."""


def save(path: Path, value: Any, device: Device = HOST) -> None:
    """Write a tree. Strides are kept; a tensor that spans far more memory than it has elements is made contiguous.

    Raises TypeError for what a file cannot hold.
    """
    flats: list[torch.Tensor] = []
    table: list[dict[str, Any]] = []
    offset = 0

    def place(tensor: torch.Tensor) -> dict[str, int]:
        nonlocal offset
        flat, strides = _flat(tensor)
        entry = {"dtype": _name(tensor.dtype), "shape": list(tensor.shape), "strides": strides, "span": flat.numel()}
        lent = device.share(flat) if flat.device.type == device.name and flat.nbytes >= _LENT_BYTES else None
        table.append(entry | ({"lent": lent} if lent else {"offset": offset}))
        if not lent:
            flats.append(flat.cpu())
            offset += -(-flat.nbytes // _ALIGNMENT) * _ALIGNMENT
        return {"tensor": len(table) - 1}

    header = json.dumps({"tree": _encode(value, place), "tensors": table}).encode()
    header += b" " * (-(len(header) + _LENGTH.size) % _ALIGNMENT)
    with path.open("wb") as file:
        file.write(_LENGTH.pack(len(header)) + header)
        for flat in flats:
            size = flat.numel() * flat.element_size()
            if size:
                file.write((ctypes.c_char * size).from_address(flat.data_ptr()))
            file.write(b"\0" * (-size % _ALIGNMENT))


def load(path: Path, device: Device = HOST) -> Any:
    """Read a tree onto `device`. On the host, tensors are views of the mapped file; writing changes nothing outside.

    Raises TensorFileError for a file that is missing, a link, or damaged.
    """
    try:
        memory = _map(path)
        content, start = _described(memory)
        tensors = [_tensor(memory, start, device, **entry) for entry in content["tensors"]]
        return _decode(content["tree"], tensors)
    except (OSError, ValueError, TypeError, LookupError, RuntimeError, AttributeError, struct.error) as error:
        raise TensorFileError(f"{path.name} is not a file of tensors: {error}") from None


def description(path: Path) -> str:
    """A text that is the same for files which differ in their tensors' numbers alone, one that `save` has written."""
    content, _ = _described(_map(path))
    for entry in content["tensors"]:
        for place in ("lent", "offset"):
            entry.pop(place, None)
    return json.dumps(content)


def fresh(value: Any) -> Any:
    """The same tree with tensors in newly allocated memory, of the same strides."""
    return transform(value, _copy)


def transform(value: Any, change: Callable[[torch.Tensor], Any]) -> Any:
    """The same tree with each tensor replaced by `change(tensor)`."""
    if isinstance(value, torch.Tensor):
        return change(value)
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


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    flat, strides = _flat(tensor)
    return flat.clone().as_strided(tensor.shape, strides)


def _flat(tensor: torch.Tensor) -> tuple[torch.Tensor, list[int]]:
    """The memory that a tensor lies in as one dimension, and its strides there."""
    tensor = tensor.detach()
    if span(tensor) > 4 * tensor.numel() + 1024:
        tensor = tensor.contiguous()
    return memory(tensor), list(tensor.stride())


def _encode(value: Any, place: Callable[[torch.Tensor], Any]) -> Any:
    match value:
        case torch.Tensor():
            return place(value)
        case None | bool() | int() | float() | str():
            return value
        case list():
            return [_encode(item, place) for item in value]
        case tuple():
            return {"tuple": [_encode(item, place) for item in value]}
        case dict() if all(isinstance(key, str) for key in value):
            return {"dict": {key: _encode(item, place) for key, item in value.items()}}
    raise TypeError(f"a {type(value).__name__} cannot be handed to another process")


def _decode(node: Any, tensors: list[torch.Tensor]) -> Any:
    match node:
        case list():
            return [_decode(item, tensors) for item in node]
        case {"tensor": int(index)}:
            return tensors[index]
        case {"tuple": list(items)}:
            return tuple(_decode(item, tensors) for item in items)
        case {"dict": dict(items)}:
            return {key: _decode(item, tensors) for key, item in items.items()}
        case dict():
            raise ValueError("an unknown kind of value")
    return node


def _described(memory: mmap.mmap) -> tuple[dict[str, Any], int]:
    """What a file says of its tree and its tensors, and where their bytes begin."""
    header = _LENGTH.unpack_from(memory)[0]
    if header > min(_HEADER_BYTES, len(memory) - _LENGTH.size):
        raise ValueError("the header does not fit")
    start = _LENGTH.size + header
    return json.loads(memory[_LENGTH.size : start]), start


def _map(path: Path) -> mmap.mmap:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
            raise ValueError("it is a link or no file")
        return mmap.mmap(descriptor, 0, access=mmap.ACCESS_COPY)
    finally:
        os.close(descriptor)


def _tensor(
    memory: mmap.mmap,
    start: int,
    device: Device,
    dtype: str,
    shape: list[int],
    strides: list[int],
    span: int,
    offset: int = 0,
    lent: dict[str, Any] | None = None,
) -> torch.Tensor:
    kind = getattr(torch, dtype)
    if not isinstance(kind, torch.dtype) or len(shape) != len(strides) or min([0, *shape, *strides]) < 0:
        raise ValueError("a tensor's description makes no sense")
    if span == 0:
        return torch.empty_strided(shape, strides, dtype=kind, device=device.name)
    if lent is None:
        flat = torch.frombuffer(memory, dtype=kind, count=span, offset=start + offset).to(device.name)
    else:
        flat = device.shared(lent, kind, span)
    return flat.as_strided(shape, strides)  # raises when the shape reaches beyond the span


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
