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

from akg_core.records import HOST, Placement
from akg_core.worker.tensors import memory, span, transform

_LARGEST = 64 << 20  # bytes of a tensor that gets walls
_BEFORE = bytes(range(1, 256, 2)) * 32  # what lies before a tensor, as far as it is looked at
_NO_ACCESS = 0
BOUNDARY = 64  # bytes, on which torch lets the memory of parameters begin
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
