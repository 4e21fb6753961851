"""What foreign code has answered, described by addresses, without running anything that it could have defined.

Worker side, in the candidate's own process. What is answered may be of any class, which may change while it is read:
containers are read as the built-in type that they are exactly, tensors by what torch's base class knows of them, both
through functions that were taken here before any foreign code was loaded. Trees are encoded as in
`akg_core.worker.tensors`.
"""

from __future__ import annotations

import functools
import itertools
from collections import OrderedDict
from typing import Any

import torch

DEPTH, COUNT = 64, 1 << 16  # of containers in each other, and of all values together
_TEXT, _BITS = 1 << 20, 64  # of strings together, and of a whole number
_BYTES = 1 << 42  # of all tensors' memory together
_NAMED = frozenset(kind for kind in vars(torch.return_types).values() if isinstance(kind, type))
_PLAIN = (type(None), bool, int, float, str)
_TENSORS = (torch.Tensor, torch.nn.Parameter)

_base = vars(torch._C.TensorBase)
_dtype, _shape, _device = (_base[name].__get__ for name in ("dtype", "shape", "device"))
_strides, _offset = _base["stride"], _base["storage_offset"]
_written_at, _stored_at = _base["data_ptr"], getattr(torch._C, "_data_address", None)
_storage, _storage_bytes = _base["untyped_storage"], vars(torch._C.StorageBase)["nbytes"]
_keys, _without_overrides = torch._C._dispatch_keys, torch._C.DisableTorchFunction
_items, _ordered_items, _pieces, _slice = dict.items, OrderedDict.items, tuple.__iter__, list.__getitem__
_name = vars(type)["__name__"].__get__


def described(value: Any) -> dict[str, Any]:
    """A tree of values and tensors as JSON: {"tree": …, "tensors": [{dtype, shape, strides, span, address, …}]}.

    `span`: how many elements lie between a tensor's first and last in memory, `nbytes` how many bytes these take,
    `itemsize` one of its elements, and `device` torch's name of where they are. Raises TypeError for what is no plain
    tensor, value or container, and for more of them than anybody answers.
    """
    with _without_overrides():
        return _Reading().described(value)


class _Reading:
    """What has been read so far of one answer."""

    def __init__(self) -> None:
        self.count = self.text = self.bytes = 0
        self.tensors: list[dict[str, Any]] = []

    def described(self, value: Any) -> dict[str, Any]:
        return {"tree": self.tree(value, 0), "tensors": self.tensors}

    def tree(self, value: Any, depth: int) -> Any:
        """The encoding of a value, its tensors put into the table."""
        kind = type(value)
        self.count += 1
        if self.count > COUNT or depth > DEPTH:
            raise TypeError(f"it holds more than {COUNT} values, or containers {DEPTH} deep")
        if kind in _TENSORS:
            self.tensors.append(self.tensor(value))
            return {"tensor": len(self.tensors) - 1}
        if kind in _PLAIN:
            return self.scalar(value)
        if kind is complex:
            return {"complex": [value.real, value.imag]}
        if kind is list:
            return [self.tree(item, depth + 1) for item in _slice(value, slice(COUNT + 1))]
        if kind is tuple or kind in _NAMED:
            return {"tuple": [self.tree(item, depth + 1) for item in _first(_pieces(value))]}
        if kind is dict or kind is OrderedDict:
            items = _first(iter(_items(value) if kind is dict else _ordered_items(value)))
            return {"dict": {self.key(key): self.tree(item, depth + 1) for key, item in items}}
        if kind is torch.dtype:
            return {"dtype": str(value).removeprefix("torch.")}
        if kind is torch.Size:
            return {"size": [self.scalar(size) for size in _pieces(value)]}
        raise TypeError(f"a {_name(kind)[:DEPTH]} is not a torch.Tensor, a plain value or a collection of these")

    def scalar(self, value: Any) -> Any:
        if type(value) is int and value.bit_length() > _BITS:
            raise TypeError(f"it holds a whole number of more than {_BITS} bits")
        if type(value) is str:
            self.text += len(value)
            if self.text > _TEXT:
                raise TypeError(f"it holds more than {_TEXT} characters")
        return value

    def key(self, key: Any) -> str:
        if type(key) is not str:
            raise TypeError(f"a dict has a {_name(type(key))[:DEPTH]} as key, not a string")
        return self.scalar(key)

    def tensor(self, tensor: torch.Tensor) -> dict[str, Any]:
        """What a table says of a tensor. Only what lies in memory just as its shape and strides say is plain."""
        device = _device(tensor)
        if _keys(tensor).raw_repr() & ~_plain_keys(device.type):
            raise TypeError("a tensor computes when it is read (a wrapper, a lazy view, sparse, …)")
        dtype, shape, strides = _dtype(tensor), [*_shape(tensor)], [*_strides(tensor)]
        span = 0 if 0 in shape else 1 + sum((size - 1) * step for size, step in zip(shape, strides, strict=True))
        nbytes = span * dtype.itemsize
        self.bytes += nbytes
        held = _storage_bytes(_storage(tensor))
        if span and (not 0 <= _offset(tensor) * dtype.itemsize <= held - nbytes or not _address(tensor)):
            raise TypeError("a tensor reaches beyond the memory that it has")
        if self.bytes > _BYTES:
            raise TypeError(f"it takes more than {_BYTES} bytes")
        return {
            "dtype": str(dtype).removeprefix("torch."),
            "shape": shape,
            "strides": strides,
            "span": span,
            "address": _address(tensor) if span else 0,
            "nbytes": nbytes,
            "itemsize": dtype.itemsize,
            "device": device.type,
        }


def _address(tensor: torch.Tensor) -> int:
    """Where a tensor's elements begin. Asked for as usual, memory that is copied lazily is taken to be written to."""
    if _stored_at is None:
        return int(_written_at(tensor))
    stored = int(_stored_at(tensor))
    return stored and stored + _offset(tensor) * _dtype(tensor).itemsize


def _first(items: Any) -> list[Any]:
    return list(itertools.islice(items, COUNT + 1))


@functools.cache
def _plain_keys(device: str) -> int:
    """The dispatcher's keys of a tensor that is nothing but memory of this device."""
    return int(_keys(torch.empty(0, device=device)).raw_repr())


_plain_keys("cpu")
