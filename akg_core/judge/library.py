"""What of the library computes, and how it is taken away from a process.

A dispatch mode can be popped, a profiler stopped, and both know threads. What `removal` gives needs no cooperation:
it lays refusals over the library's kernels in the dispatcher's own table, where every caller in every thread meets
them, by whatever name or path it came. Nothing that Python code can find holds them, so that nothing takes them down.
"""

from __future__ import annotations

import ctypes
import functools
import warnings
from collections.abc import Callable
from typing import Any

import torch

from akg_core.worker.device import HOST

ALLOCATIONS = frozenset(
    {"empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided", "resize_"}
)
COPIES = frozenset({"copy_", "clone", "_to_copy"})
_FILLS = frozenset(
    {"fill_", "zero_", "zeros", "zeros_like", "new_zeros", "full", "full_like", "new_full", "scalar_tensor"}
)
_OTHER = frozenset(
    {
        "detach",
        "detach_",
        "lift_fresh",
        "_local_scalar_dense",
        "_unsafe_view",
        "_reshape_alias",
        "is_pinned",
        "set_",
        "item",
    }
)
_HARMLESS = ALLOCATIONS | _FILLS | COPIES | _OTHER
_SPACES = ("aten", "quantized", "mkldnn", "mkl", "prims")
_DEFAULT_KEYS = ("CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional")  # where a device has no kernel
_KEPT = frozenset({"aten::equal", "aten::is_same_size"})  # by which the harness compares bits; they give a bool
_COMPARING = frozenset({"aten::eq.Tensor", "aten::all"})
"""Of which `equal` is made on other devices than the host; they give bools, too."""
_SWITCHES = ("_jit_set_texpr_fuser_enabled", "_jit_set_profiling_executor", "_jit_override_can_fuse_on_gpu")
"""Bindings that let TorchScript compile kernels of its own."""
_HANDLES = ("_dispatch_get_computed_kernel_for_dispatch_key", "_SafeKernelFunction")
"""Bindings that give a kernel of the library past the dispatcher's table."""


class LibraryCall(RuntimeError):
    """A candidate called an operator of the library that computes."""


@functools.cache
def computes(name: str) -> bool:
    """Whether an operator such as "aten::mm" is one of the library's own that does work on elements."""
    space, _, name = name.partition("::")
    if space not in _SPACES or name in _HARMLESS:
        return False
    overloads = getattr(getattr(torch.ops, space), name, None)
    every = [getattr(overloads, overload) for overload in overloads.overloads()] if overloads else []
    every = [
        overload for overload in every if torch._C._dispatch_has_kernel(overload.name())
    ]  # the rest is TorchScript's
    return not all(overload.is_view or _is_composite(overload) for overload in every)


def removal(noted: Callable[[str], None], keys: tuple[str, ...]) -> list[Callable[[], Any]]:
    """Steps that, taken one after the other, take all operators under these keys that compute from this process.

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
    for space in _SPACES:
        table = torch._C._dispatch_library("IMPL", space, "", __file__, 0)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(table))  # when it is freed, its entries go
        for name, key in _kernels(keys):
            if name.startswith(f"{space}::"):
                steps.append(functools.partial(table.impl, name, key, _refusal(name, noted)))
    return steps


@functools.cache
def _kernels(keys: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """The operators that compute, by their full names, with each of the keys under which one is called."""
    registered = torch._C._dispatch_get_registrations_for_dispatch_key
    found = {(name, key) for key in keys for name in registered(key)}
    found |= {(name, keys[0]) for key in _DEFAULT_KEYS for name in registered(key)}
    kept = _KEPT | {f"aten::{name}" for name in _HARMLESS}
    whole = _views() if keys == HOST.keys else _views() | _COMPARING
    wanted = ((full, key) for full, key in found if full.partition(".")[0] not in kept and full not in whole)
    return tuple(sorted(wanted))


@functools.cache
def _views() -> frozenset[str]:
    """The full names of operators whose results lie in memory of their operands."""
    return frozenset(
        f"{schema.name}.{schema.overload_name}".rstrip(".")
        for schema in torch._C._jit_get_all_schemas()
        if any(a.alias_info is not None and not a.alias_info.is_write for a in schema.arguments)
    )


_kernels(HOST.keys)  # as the module is imported, which a warm parent does once for all


def _refusal(full: str, noted: Callable[[str], None]) -> Callable[..., Any]:
    name = full.partition(".")[0]

    def refuse(*_: Any, **__: Any) -> Any:
        noted(name)
        raise LibraryCall(f"{name} is the library's work, not the kernel's")

    return refuse


def _is_composite(overload: Any) -> bool:
    """Whether an operator only calls others, which are then seen themselves."""
    return torch._C._dispatch_has_kernel_for_dispatch_key(overload.name(), "CompositeImplicitAutograd")
