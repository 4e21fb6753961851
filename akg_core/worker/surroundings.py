"""What all code in a process shares: settings of torch, names of its modules, where modules are found.

Worker side. A process that has run one task's code is asked for another only where that has left these as they were.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn


def _is_setting(name: str) -> bool:
    """Whether a name of torch's own is that of a switch, which files may turn: of precision, algorithms, libraries."""
    if not name.startswith("_get_") or not (hasattr(torch._C, f"_set_{name[5:]}") or name.endswith("_enabled")):
        return False
    try:
        value = getattr(torch._C, name)()
    except (TypeError, RuntimeError):
        return False
    return isinstance(value, (bool, str, tuple)) and name != "_get_thread_name"


SWITCHES: dict[str, Callable[[], Any]] = {
    name.removeprefix("_get_").replace("_", " "): getattr(torch._C, name) for name in dir(torch._C) if _is_setting(name)
}
"""What asks for each of torch's switches, by what it is called."""

_SETTINGS: tuple[Callable[[], Any], ...] = (
    torch.get_default_dtype,
    torch.get_default_device,
    torch.is_grad_enabled,
    torch.is_inference_mode_enabled,
    torch._C._is_any_autocast_enabled,
    lambda: (torch._C._len_torch_function_stack(), torch._C._len_torch_dispatch_stack()),
    *SWITCHES.values(),
    os.getcwd,
    lambda: dict(os.environ),
    lambda: list(sys.path),
)
_NAMES: tuple[Mapping[str, Any], ...] = tuple(map(vars, (torch, torch.Tensor, nn, nn.Module, nn.functional)))


_first: list[tuple[list[Any], list[dict[str, Any]], int]] = []


def remember() -> None:
    """Take these as they are, unless that was done before."""
    if not _first:
        _first.append((_settings(), [dict(space) for space in _NAMES], torch.get_num_threads()))


def unchanged() -> bool:
    """Whether these are as they were first; what has been added to a module, as by an import, does not count.

    The number of threads, which jobs set for themselves, is put back.
    """
    settings, names, threads = _first[0]
    torch.set_num_threads(threads)
    kept = (
        space.get(name) is value for space, known in zip(_NAMES, names, strict=True) for name, value in known.items()
    )
    return _settings() == settings and all(kept)


def _settings() -> list[Any]:
    return [ask() for ask in _SETTINGS]
