"""Whether code that ran beside the harness has replaced any of it, or left a thread that still could.

What is called by name may have been replaced as well, so that the comparison is made by a frame that exists already
when the foreign code begins, out of what it holds, and calls nothing by name.
"""

from __future__ import annotations

import _thread
import builtins
import json
import os
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import BuiltinFunctionType, CodeType, FunctionType, MethodDescriptorType
from typing import Any

import torch

from akg_core.worker import isolation
from akg_core.worker.limits import CHANGED_HARNESS

_MESSAGE = b"The kernel has changed the harness, or left a thread that could.\n"
_ENDING_SECONDS = 0.02  # in which a thread that has done its work ends
_PARTS = (FunctionType, BuiltinFunctionType, MethodDescriptorType, type, classmethod, staticmethod, property)
_OTHERS = (
    builtins,
    json,
    json.JSONEncoder,
    os,
    time,
    torch,
    torch.Tensor,
    torch._C.TensorBase,
)  # what the harness calls beside its own


def watch(packages: Collection[str] = (), others: Sequence[Any] = ()) -> Callable[[], None]:
    """To be called once when the foreign code has run: ends a confined process whose harness is not what it is now.

    `packages` belong to the harness beside `akg_core`; `others` are modules and classes that it calls.
    """
    resume = _compare({"akg_core", *packages}, (*_OTHERS, *others)).__next__
    resume()
    return resume


def _compare(packages: Collection[str], others: Sequence[Any]) -> Iterator[None]:
    parts, codes, modules = _harness(packages, others) if isolation.is_confined() else ((), (), ())
    leave, write, count, sleep = os._exit, os.write, _thread._count, time.sleep
    running, tries, is_whole = count(), 0, True
    yield
    while parts and count() > running and tries < 10:
        sleep(_ENDING_SECONDS / 10)
        tries += 1
    for space, name, part in parts:
        is_whole = is_whole and space.get(name) is part
    for function, code in codes:
        is_whole = is_whole and function.__code__ is code
    for names, known in modules:
        for name in names:
            is_whole = is_whole and name in known
    if not is_whole or (parts and count() > running):
        write(2, _MESSAGE)
        leave(CHANGED_HARNESS)
    yield


def _harness(
    packages: Collection[str], others: Sequence[Any]
) -> tuple[
    Sequence[tuple[Mapping[str, Any], str, Any]],
    Sequence[tuple[FunctionType, CodeType]],
    tuple[tuple[dict[str, Any], frozenset[str]], ...],
]:
    """Names with what they stand for, functions with their code, and modules with all names that they have."""
    loaded = [(name.partition(".")[0], module) for name, module in sys.modules.items()]
    ours = [vars(module) for package, module in loaded if package in packages and not hasattr(module, "__path__")]
    classes = {value: None for space in ours for value in space.values() if isinstance(value, type)}
    spaces: list[Mapping[str, Any]] = [*ours, *map(vars, others)]
    spaces += [vars(one) for one in classes if one.__module__.partition(".")[0] in packages]
    parts = [(space, key, value) for space in spaces for key, value in space.items() if isinstance(value, _PARTS)]
    functions = {id(value): value for _, _, value in parts if isinstance(value, FunctionType)}
    codes = [(function, function.__code__) for function in functions.values()]
    return parts, codes, tuple((space, frozenset(space) | {"__warningregistry__"}) for space in ours)
