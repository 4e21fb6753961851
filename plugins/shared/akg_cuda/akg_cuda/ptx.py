"""Kernels that are written in PTX, which the driver translates when they are first launched."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import torch

from akg_cuda.driver import check, cuda


class Kernels:
    """The kernels of these names in a text of PTX, for the current device."""

    def __init__(self, text: bytes, *names: str) -> None:
        self._text, self._names = text, names
        self._loaded = functools.cache(self._load)

    def ready(self) -> None:
        """Have the device know the kernels, which would be waited for at the first launch."""
        self._loaded(torch.cuda.current_device())

    def launch(self, name: str, grid: tuple[int, int], threads: int, *given: Any) -> None:
        """Queue a kernel on the current stream; `given` are ctypes values."""
        kernels = self._loaded(torch.cuda.current_device())
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        arguments = (ctypes.c_void_p * len(given))(*(ctypes.addressof(value) for value in given))
        check(cuda().cuLaunchKernel(kernels[name], *grid, 1, threads, 1, 1, 0, stream, arguments, None))

    def _load(self, device: int) -> dict[str, ctypes.c_void_p]:
        torch.zeros((), device=device)  # makes this process's context, which the driver's calls need
        module, kernels = ctypes.c_void_p(), dict[str, ctypes.c_void_p]()
        check(cuda().cuModuleLoadData(ctypes.byref(module), self._text))
        for name in self._names:
            kernels[name] = ctypes.c_void_p()
            check(cuda().cuModuleGetFunction(ctypes.byref(kernels[name]), module, name.encode()))
        return kernels
