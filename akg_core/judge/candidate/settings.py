"""What a process has set for all that runs in it, and what a kernel must leave as it was.

Worker side. A number of threads, a seed or a mode that a kernel leaves behind changes what the user's process computes
afterwards, and could change what the harness finds of the kernel.
"""

from __future__ import annotations

import ctypes
import gc
import locale
import os
import secrets
import signal
import sys
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import torch

from akg_core.worker.surroundings import SWITCHES

_function_modes, _pop_function_mode = torch._C._len_torch_function_stack, torch._C._pop_torch_function_stack
_dispatch_modes, _blocked = torch._C._len_torch_dispatch_stack, signal.pthread_sigmask
_without_overrides = torch._C.DisableTorchFunction
_ASKED: dict[str, Callable[[], Any]] = {
    "threads of torch": torch.get_num_threads,
    "processors": lambda: os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None,
    "gradients": torch.is_grad_enabled,
    "default dtype": torch.get_default_dtype,
    "deterministic algorithms": torch.are_deterministic_algorithms_enabled,
    "modes of torch": lambda: (_function_modes(), _dispatch_modes()),
    "blocked signals": lambda: _blocked(signal.SIG_BLOCK, ()),
    "folder": os.getcwd,
}
_SEED = "random numbers"
_LIBRARY = "TORCH"  # with which variables begin that torch sets for itself, as when it is first profiled
_HOOKS = [
    hooks for name, hooks in vars(torch.nn.modules.module).items() if name.startswith("_global_") and name[-1] == "s"
]
_OF_A_CALL: dict[str, Callable[[], Any]] = {
    **{name: ask for name, ask in SWITCHES.items() if name not in _ASKED},
    "autocast": torch._C._is_any_autocast_enabled,
    "detection of anomalies": torch.is_anomaly_enabled,
    "collection of garbage": gc.isenabled,
    "depth of recursion": sys.getrecursionlimit,
    "time between threads": sys.getswitchinterval,
    "locale": lambda: locale.setlocale(locale.LC_ALL),
    "environment": lambda: {name: value for name, value in os.environ.items() if not name.startswith(_LIBRARY)},
    "mask of new files": lambda: (mask := os.umask(0o77), os.umask(mask))[0],
    "thresholds of garbage": gc.get_threshold,
    "calls by garbage": lambda: _identities(gc.callbacks),
    "filters of warnings": lambda: _identities(warnings.filters),
    "where modules are found": lambda: (_identities(sys.path), _identities(sys.meta_path), _identities(sys.path_hooks)),
    "streams": lambda: _identities((sys.stdin, sys.stdout, sys.stderr)),
    "hooks of modules": lambda: [len(hooks) for hooks in _HOOKS],
}
"""What importing a kernel and its language may change, and no call."""


CHANGES_A_SETTING = "changes a setting of its process"
"""The rule that a kernel breaks which leaves one different."""


def _identities(values: Iterable[Any]) -> list[int]:
    """Which objects these are, without asking them."""
    return [*map(id, values)]


class Settings:
    """The settings as they are when this is made. `seeded`: the kernel is to leave another seed of random numbers.

    `loading`: it is not called, but loaded and constructed. `restore` names those that are others by then, and puts
    back what would touch who comes next.
    """

    def __init__(self, *, seeded: bool = False, loading: bool = False) -> None:
        if not seeded:
            torch.default_generator.manual_seed(secrets.randbits(62))  # that nobody sets to by chance
        self._asked = _ASKED | ({} if loading else _OF_A_CALL) | ({} if seeded else {_SEED: _drawn})
        self._known = {name: ask() for name, ask in self._asked.items()}

    def restore(self) -> tuple[str, ...]:
        with _without_overrides():
            different = tuple(name for name, ask in self._asked.items() if ask() != self._known[name])
        while _function_modes() > self._known["modes of torch"][0]:
            _pop_function_mode()
        if different:
            torch.set_num_threads(self._known["threads of torch"])
            torch.set_grad_enabled(self._known["gradients"])
            torch.set_default_dtype(self._known["default dtype"])
            _blocked(signal.SIG_SETMASK, self._known["blocked signals"])
            if self._known["processors"]:
                os.sched_setaffinity(0, self._known["processors"])
        return different


def _drawn() -> bytes:
    """The state of torch's generator of the host."""
    state = torch.default_generator.get_state()
    return ctypes.string_at(state.data_ptr(), state.nbytes)
