"""What of the library computes, and how it is taken away from a process.

A dispatch mode can be popped, a profiler stopped, and both know threads. What `removal` gives needs no cooperation:
it lays refusals over all of the library's kernels but those that `akg_core.judge.candidate.operators` allows, in the
dispatcher's own table, where every caller in every thread meets them, by whatever name or path it came. Nothing that
Python code can find holds them, so that nothing takes them down.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch

from akg_core.device import HOST
from akg_core.judge.candidate.operators import COMPARING, is_allowed

_DEFAULT_KEYS = (
    "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional",
    "CompositeImplicitAutograd",
)
"""Where kernels lie that a device without one of its own gets. Those that call other operators may also compute."""
_COMPARING = frozenset({"aten::eq.Tensor", "aten::all"})
"""Of which `equal` is made on other devices than the host; they give bools, too."""
_SWITCHES = ("_jit_set_texpr_fuser_enabled", "_jit_set_profiling_executor", "_jit_override_can_fuse_on_gpu")
"""Bindings that let TorchScript compile kernels of its own."""
_HANDLES = ("_dispatch_get_computed_kernel_for_dispatch_key", "_SafeKernelFunction")
"""Bindings that give a kernel of the library past the dispatcher's table."""


class LibraryCall(RuntimeError):
    """A candidate called an operator of the library that computes."""


def removal(noted: Callable[[str], None], keys: tuple[str, ...]) -> list[Callable[[], Any]]:
    """Steps that, taken one after the other, take all operators under these keys but what is allowed from this process.

    An operator that is called afterwards raises LibraryCall, and `noted` is told its name. Make the list before any
    code is run that is not to have the operators: it asks nothing later, so that what was replaced meanwhile does not
    matter. There is no way back.
    """
    for switch in _SWITCHES:
        if hasattr(torch._C, switch):
            getattr(torch._C, switch)(switch == "_jit_set_profiling_executor")
    for binding in (*_HANDLES, *_SWITCHES):
        if hasattr(torch._C, binding):
            delattr(torch._C, binding)
    steps: list[Callable[[], Any]] = []
    warnings.filterwarnings("ignore", "Warning only once for all operators")
    for space, kernels in _kernels(keys).items():
        table = torch._C._dispatch_library("IMPL", space, "", __file__, 0)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(table))  # when it is freed, its entries go
        steps.append(functools.partial(_refuse, table.impl, kernels, noted))
    return steps


@functools.cache
def _kernels(keys: tuple[str, ...]) -> dict[str, tuple[tuple[str, str], ...]]:
    """The operators that are not allowed, by namespace: full names, with each of the keys under which one is called."""
    registered = torch._C._dispatch_get_registrations_for_dispatch_key
    found = {(name, key) for key in keys for name in registered(key)}
    found |= {(name, keys[0]) for key in _DEFAULT_KEYS for name in registered(key)}
    kept = COMPARING if keys == HOST.keys else COMPARING | _COMPARING
    refused = sorted((full, key) for full, key in found if not is_allowed(full) and full not in kept)
    spaces = itertools.groupby(refused, lambda kernel: kernel[0].partition("::")[0])
    return {space: tuple(kernels) for space, kernels in spaces}


_kernels(HOST.keys)  # as the module is imported, which a warm parent does once for all


def _refuse(
    impl: Callable[[str, str, Callable[..., Any]], None],
    kernels: Sequence[tuple[str, str]],
    noted: Callable[[str], None],
) -> None:
    """Lay a refusal over each of some kernels of one namespace."""

    def refusal(name: str) -> Callable[..., Any]:
        def refuse(*_: Any, **__: Any) -> Any:
            noted(name)
            raise LibraryCall(f"{name} is the library's work, not the kernel's")

        return refuse

    for full, key in kernels:
        impl(full, key, refusal(full.partition(".")[0]))
