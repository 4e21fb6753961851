"""Whether code that ran beside the harness has replaced any of it, or left a thread that still could.

What is called by name may have been replaced as well, so that the comparison is made by a frame that exists already
when the foreign code begins, out of what it holds, and calls nothing by name.
"""

from __future__ import annotations

import _thread
import builtins
import functools
import json
import operator
import os
import pathlib
import random
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import BuiltinFunctionType, CodeType, FunctionType, MappingProxyType, MethodDescriptorType, ModuleType
from typing import Any

import torch
import torch.profiler
from torch import nn

from akg_core.worker import isolation
from akg_core.worker.limits import CHANGED_HARNESS

_MESSAGE = b"The kernel has changed the harness, or left a thread that could.\n"
_ENDING_SECONDS = 0.02  # in which a thread that has done its work ends
_PARTS = (FunctionType, BuiltinFunctionType, MethodDescriptorType, type, classmethod, staticmethod, property)
_OTHERS = (
    *(builtins, json.JSONEncoder, random.Random, pathlib.PosixPath),
    *(torch.Tensor, torch._C.TensorBase, torch.profiler.profile, torch.autograd.profiler.profile),
    *(nn.functional, *(part for part in vars(nn).values() if isinstance(part, type))),
)  # what the harness has of what it calls, and what a user's modules are made of

_BESIDE = ("akg_core.judge.", "akg_core.worker.")
"""Rooms of core that run beside a kernel, or read what it gives."""

_Parts = tuple[tuple[Callable[[Any], tuple[Any, ...]], Mapping[str, Any], tuple[Any, ...]], ...]
"""For each room of names: what gets some of them from it, and what these stand for."""
_Codes = tuple[tuple[FunctionType, ...], tuple[CodeType, ...]]
_Names = tuple[tuple[Mapping[str, Any], frozenset[str]], ...]
_LATER = frozenset({"__warningregistry__", "__slotnames__"})  # names that Python adds to a module or a class


def watch(packages: Collection[str] = (), others: Sequence[Any] = ()) -> Callable[[], None]:
    """To be called once when the foreign code has run: ends a confined process whose harness is not what it is now.

    `packages` belong to the harness beside `akg_core`; `others` are modules and classes that it calls.
    """
    asked = frozenset({"akg_core", *packages}), (*_OTHERS, *others)
    held = _harness(*asked, _ours(asked[0], frozenset(sys.modules))) if isolation.is_confined() else ((), ((), ()), ())
    resume = _compare(*held).__next__
    resume()
    return resume


def _compare(parts: _Parts, codes: _Codes, names: _Names) -> Iterator[None]:
    leave, write, count, sleep = os._exit, os.write, _thread._count, time.sleep
    every, both, same, code, missing = all, map, operator.is_, operator.attrgetter("__code__"), KeyError
    running, tries, is_whole = count(), 0, True
    yield
    while parts and count() > running and tries < 10:
        sleep(_ENDING_SECONDS / 10)
        tries += 1
    for get, space, held in parts:
        try:
            is_whole = is_whole and every(both(same, get(space), held))
        except missing:
            is_whole = False
    is_whole = is_whole and every(both(same, both(code, codes[0]), codes[1]))
    for space, known in names:
        is_whole = is_whole and space.keys() <= known
    if not is_whole or (parts and count() > running):
        write(2, _MESSAGE)
        leave(CHANGED_HARNESS)
    yield


@functools.lru_cache(1)
def _ours(packages: frozenset[str], loaded: frozenset[str]) -> frozenset[str]:
    """The names of those modules that belong to the harness."""
    return frozenset(name for name in loaded if name.partition(".")[0] in packages)


def _with_bases(one: Any) -> Sequence[Any]:
    """What is looked into where one is called: a module itself, of a class all that it inherits, and what made it."""
    made_by: type = type(one)
    return (*one.__mro__[:-1], *made_by.__mro__[:-1]) if isinstance(one, type) else (one,)


def _parts(space: Mapping[str, Any]) -> _Parts:
    """What is held of one room of names; nothing where it has nothing that could be called."""
    held = {name: value for name, value in space.items() if isinstance(value, _PARTS)}
    if not held:
        return ()
    names = [*held, next(iter(held))]  # of a single name the getter would give no tuple
    return ((operator.itemgetter(*names), space, tuple(space[name] for name in names)),)


@functools.lru_cache(1)
def _harness(packages: frozenset[str], others: tuple[Any, ...], names: frozenset[str]) -> tuple[_Parts, _Codes, _Names]:
    """Names with what they stand for, functions and their code, and modules and classes with all names that they have:
    one that is added to a class hides what that inherits.

    That is of the modules that belong to the harness; of the modules and classes that those of them name which run
    beside a kernel, and of `others`; and of the modules whose functions these have.
    Found out once for the modules that are loaded; nobody can change what was found.
    """
    ours = {name: vars(module) for name in sorted(names) if not hasattr(module := sys.modules[name], "__path__")}
    beside = (space for name, space in ours.items() if name.startswith(_BESIDE) or name.count(".") < 2)
    named = [value for space in beside for value in space.values() if isinstance(value, (type, ModuleType))]
    called = {id(part): vars(part) for one in (*named, *others) for part in _with_bases(one)}
    spaces: dict[int, Mapping[str, Any]] = {id(space): space for space in ours.values()}
    for space in called.values():
        spaces.setdefault(id(space), space)
        for value in space.values():
            if isinstance(value, FunctionType):
                spaces.setdefault(id(value.__globals__), value.__globals__)
    parts = tuple(part for space in spaces.values() for part in _parts(space))
    functions = {id(value): value for _, _, held in parts for value in held if isinstance(value, FunctionType)}
    codes = (tuple(functions.values()), tuple(function.__code__ for function in functions.values()))
    classes = (space for space in called.values() if isinstance(space, MappingProxyType))
    known = tuple((space, _LATER.union(space)) for space in (*ours.values(), *classes))
    return parts, codes, known
