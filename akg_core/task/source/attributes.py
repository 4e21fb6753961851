"""Tensors that plain attributes of a module hold, in lists, dicts, tuples and distributions, too. Worker side only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torch import Tensor, nn
from torch.distributions import Distribution, Transform

from akg_core.records import HOST

_OF_EVERY_MODULE = frozenset(vars(nn.Module()))


def moved(model: nn.Module, device: str) -> nn.Module:
    """A module that was made on the host, on a device, with the tensors that its plain attributes hold."""
    if device == HOST:
        return model
    for attributes in map(vars, model.modules()):
        own = {key: value for key, value in attributes.items() if key not in _OF_EVERY_MODULE}
        attributes |= {key: _changed(value, lambda tensor: tensor.to(device)) for key, value in own.items()}
    return model.to(device)


def collected(model: nn.Module) -> list[Tensor]:
    """The tensors that plain attributes hold and are not; parameters are none of them."""
    return [
        tensor
        for attributes in map(vars, model.modules())
        for key, value in attributes.items()
        if key not in _OF_EVERY_MODULE and not isinstance(value, Tensor)
        for tensor in _held(value)
    ]


def _held(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield from () if isinstance(value, nn.Parameter) else (value,)
    for part in _parts(value).values():
        yield from _held(part)


def _parts(value: Any) -> dict[Any, Any]:
    if type(value) in (list, tuple):
        return dict(enumerate(value))
    return value if type(value) is dict else vars(value) if isinstance(value, (Distribution, Transform)) else {}


def _changed(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """The same value with each tensor that it holds changed, in place but for tuples. Parameters stay."""
    if isinstance(value, Tensor):
        return value if isinstance(value, nn.Parameter) else change(value)
    parts = {key: _changed(part, change) for key, part in _parts(value).items()}
    if type(value) is tuple:
        return tuple(parts.values())
    if type(value) is list:
        value[:] = parts.values()
    elif parts:
        _parts(value).update(parts)
    return value
