"""Memory of a GPU that processes lend to each other, by CUDA's inter-process handles."""

from __future__ import annotations

import ctypes
from typing import Any

import torch

from akg_cuda.driver import check, cuda

HANDLE_BYTES = 64
_GRANULE = 2 << 20  # smaller allocations share a block, and a handle is one of a block


class _Handle(ctypes.Structure):
    """CUipcMemHandle, which is passed by value."""

    _fields_ = (("reserved", ctypes.c_ubyte * HANDLE_BYTES),)


class _Bytes:
    """Memory at an address, as torch takes it from others."""

    def __init__(self, address: int, size: int) -> None:
        self.__cuda_array_interface__ = {"shape": (size,), "typestr": "|u1", "data": (address, False), "version": 3}


def memory(address: int, size: int) -> torch.Tensor:
    """So many bytes from an address on, as a flat tensor, not a copy."""
    return torch.as_tensor(_Bytes(address, size), device="cuda")


def allocated(size: int) -> int | None:
    """The address of so many bytes that can be lent, an allocation of their own; None where there is no room."""
    pointer, wanted = ctypes.c_uint64(), ctypes.c_size_t(-(-size // _GRANULE) * _GRANULE)
    torch.zeros((), device="cuda")  # makes this process's context, which the driver's calls need
    if cuda().cuMemAlloc_v2(ctypes.byref(pointer), wanted):
        torch.cuda.empty_cache()  # the driver takes from what torch has not
        if cuda().cuMemAlloc_v2(ctypes.byref(pointer), wanted):
            return None
    return int(pointer.value)


def free(address: int) -> None:
    """Give back what was `allocated`."""
    check(cuda().cuMemFree_v2(ctypes.c_uint64(address)))


def handle_of(address: int) -> bytes:
    """The handle of the allocation that begins at an address of this process."""
    handle = (ctypes.c_ubyte * HANDLE_BYTES)()
    check(cuda().cuIpcGetMemHandle(handle, ctypes.c_uint64(address)))
    return bytes(handle)


def extent(address: int) -> tuple[int, int]:
    """Where the allocation with this address begins, and its bytes."""
    base, size = ctypes.c_uint64(), ctypes.c_size_t()
    check(cuda().cuMemGetAddressRange_v2(ctypes.byref(base), ctypes.byref(size), ctypes.c_uint64(address)))
    return int(base.value), int(size.value)


def opened(handle: bytes) -> int:
    """The address here of what another process lends by this handle. Raises ValueError for one that makes no sense."""
    if len(handle) != HANDLE_BYTES:
        raise ValueError("what is said to be lent makes no sense")
    torch.zeros((), device="cuda")
    pointer = ctypes.c_uint64()
    given = _Handle((ctypes.c_ubyte * HANDLE_BYTES)(*handle))
    check(cuda().cuIpcOpenMemHandle_v2(ctypes.byref(pointer), given, ctypes.c_uint(1)))
    return int(pointer.value)


def close(address: int) -> None:
    """Give up what was `opened`."""
    check(cuda().cuIpcCloseMemHandle(ctypes.c_uint64(address)))


def token_of(named: dict[str, Any]) -> bytes:
    """The handle in a token that may come from anybody. Raises ValueError where there is none."""
    try:
        return bytes.fromhex(named["handle"])
    except (KeyError, TypeError, ValueError):
        raise ValueError("what is said to be lent makes no sense") from None
