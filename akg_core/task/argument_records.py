"""Dataclasses and named tuples that forward takes or gives, as dicts and tuples outside of it.

Worker side. A module that is told which records its forward takes is called with plain collections, which files can
hold and anybody may take apart, and makes the records of them itself.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Sequence
from typing import Any

from torch import nn

from akg_core.worker.tensors import transform

_KEPT = "_akg_records"  # of a module: records like those that its forward takes, without tensors


def plain(value: Any) -> Any:
    """A value with a dict for each dataclass and a tuple for each named tuple in it."""
    if _is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if _is_named(value):
        return tuple(map(plain, value))
    if type(value) in (list, tuple):
        return type(value)(map(plain, value))
    return {key: plain(item) for key, item in value.items()} if type(value) is dict else value


def holds_records(value: Any) -> bool:
    """Whether a value is or holds a dataclass or a named tuple."""
    if type(value) in (list, tuple, dict):
        return any(map(holds_records, value.values() if isinstance(value, dict) else value))
    return _is_dataclass(value) or _is_named(value)


def taking_records(model: nn.Module, examples: Sequence[Any], *, plain_results: bool = False) -> nn.Module:
    """The module, called with what `plain` makes of its arguments; `examples` are some of these.

    `plain_results`: what it gives is made plain, too.
    """
    vars(model)[_KEPT] = [_alike(each, transform(plain(each), lambda _: None)) for each in examples]
    kind = type(model)

    def forward(self: nn.Module, *arguments: Any) -> Any:
        known = vars(self)[_KEPT]
        made = [_alike(like, value) for like, value in zip(known, arguments, strict=False)]
        result = kind.forward(self, *made, *arguments[len(known) :])
        return plain(result) if plain_results else result

    model.__class__ = type(kind.__name__, (kind,), {"forward": forward, "__module__": kind.__module__})
    return model


def _alike(like: Any, value: Any) -> Any:
    """A plain value as records of the types that `like` has at the same places."""
    if _is_dataclass(like):
        made = copy.copy(like)
        for field in dataclasses.fields(like):
            object.__setattr__(made, field.name, _alike(getattr(like, field.name), value[field.name]))
        return made
    if _is_named(like):
        return type(like)(*map(_alike, like, value))
    if type(like) in (list, tuple):
        return type(value)(map(_alike, like, value))
    return {key: _alike(item, value[key]) for key, item in like.items()} if type(like) is dict else value


def _is_dataclass(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _is_named(value: Any) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_fields")
