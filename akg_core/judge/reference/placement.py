"""Where the tensors of a case lie: at addresses that nobody promised to align, and beside what is not theirs.

Worker side, in the candidate's own process, for the host's memory. A walled tensor ends where a page begins that nobody
can read or write, so that who goes beyond its end crashes; before its begin lies a pattern, which is compared later.
Once it is locked, who writes to it crashes, too, be it to put back what it held.
"""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from akg_core.records import HOST, Placement
from akg_core.worker.tensors import memory, span, transform

_LARGEST = 64 << 20  # bytes of a tensor that gets walls
_BEFORE = bytes(range(1, 256, 2)) * 32  # what lies before a tensor, as far as it is looked at
_NO_ACCESS = 0
_BOUNDARY = 64  # bytes, on which torch lets the memory of parameters begin
_MOST, _MOST_BYTES = 4096, 256 << 20  # tensors that a constructor makes and that get walls
_protect = ctypes.CDLL(None).mprotect  # looked up before a kernel is there


class Walls:
    """Memory for tensors, walled; `broken` says whether somebody wrote before the begin of one."""

    def __init__(self) -> None:
        self._held: list[tuple[mmap.mmap, int, int, int]] = []

    def walled(self, tensor: torch.Tensor, boundary: int = 1) -> torch.Tensor:
        """A tensor of the same values, strides and dtype between walls; itself where there is nothing to wall.

        It begins on a `boundary` of so many bytes, so that a part of the pattern may lie between its end and the page.
        """
        size = span(tensor) * tensor.element_size()
        if not 0 < size <= _LARGEST or tensor.device.type != HOST or tensor.layout != torch.strided:
            return tensor
        page = mmap.PAGESIZE
        end = (len(_BEFORE) + boundary - 1 + size + page - 1) // page * page
        held = mmap.mmap(-1, end + page, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        begin = (end - size) // boundary * boundary
        held[begin - len(_BEFORE) : begin] = _BEFORE
        held[begin + size : end] = _BEFORE[: end - begin - size]
        address = ctypes.addressof(ctypes.c_char.from_buffer(held))
        _protect(ctypes.c_void_p(address + end), ctypes.c_size_t(page), _NO_ACCESS)
        self._held.append((held, begin, size, address))
        flat = torch.frombuffer(held, dtype=tensor.dtype, count=span(tensor), offset=begin)
        flat.copy_(memory(tensor))
        return flat.as_strided(tensor.shape, tensor.stride())

    def lock(self) -> None:
        """Let nobody write to the tensors that have walls by now."""
        for held, _, _, address in self._held:
            _protect(ctypes.c_void_p(address), ctypes.c_size_t(len(held) - mmap.PAGESIZE), mmap.PROT_READ)

    def broken(self) -> bool:
        """Whether what lies before a tensor has changed, or between its end and the page."""
        for held, begin, size, _ in self._held:
            behind = held[begin + size : len(held) - mmap.PAGESIZE]
            if held[begin - len(_BEFORE) : begin] != _BEFORE or behind != _BEFORE[: len(behind)]:
                return True
        return False


class MadeBetween(TorchDispatchMode):
    """Inside, what is made in memory of its own lies between walls from the beginning, as the parameters that a
    constructor makes, whose addresses it may keep. What is made when there is much has none."""

    def __init__(self, walls: Walls) -> None:
        super().__init__()
        self._walls, self._count, self._bytes = walls, 0, 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result, given = func(*args, **(kwargs or {})), list[torch.Tensor]()
        if type(result) is not torch.Tensor or result.layout != torch.strided or self._count >= _MOST:
            return result
        transform([args, kwargs], given.append)
        known = {tensor.untyped_storage().data_ptr() for tensor in given if tensor.layout == torch.strided}
        if result.untyped_storage().data_ptr() in known or self._bytes + result.nbytes > _MOST_BYTES:
            return result
        self._count, self._bytes = self._count + 1, self._bytes + result.nbytes
        return self._walls.walled(result, _BOUNDARY)


def placed(arguments: list[Any], placement: Placement, walls: Walls) -> list[Any]:
    """The same arguments in memory of their own, placed as asked."""
    if placement == "walled":
        return transform(arguments, walls.walled)
    return transform(arguments, _odd) if placement == "odd" else arguments


def _odd(tensor: torch.Tensor) -> torch.Tensor:
    """One element beyond where an allocator would put it."""
    if not tensor.numel():
        return tensor
    flat = torch.empty(span(tensor) + 1, dtype=tensor.dtype, device=tensor.device)[1:]
    flat.copy_(memory(tensor))
    return flat.as_strided(tensor.shape, tensor.stride())
