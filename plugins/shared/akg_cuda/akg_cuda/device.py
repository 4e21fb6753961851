"""An NVIDIA GPU as harness and judge see it: its clock, its caches, its memory, and how processes lend that memory.

Times are taken by CUDA events, on a device that is held until the host has launched what is timed. Work that is still
running when the last event has passed, on whatever stream, is added by the host's clock. Memory is lent by CUDA's
inter-process handles, each for an allocation of its own.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

from akg_core.plugin import Device, ToolchainError
from akg_cuda.chips import Gpu
from akg_cuda.driver import check, cuda
from akg_cuda.hold import hold

_HANDLE_BYTES = 64
_GRANULE = 2 << 20  # smaller allocations share a block, and a handle is one of a block
_LATE = 4  # times as long as waiting for a device that has nothing to do: then it had


class CudaDevice(Device):
    """The current GPU of this process."""

    name = "cuda"
    keys = ("CUDA", "SparseCUDA", "SparseCsrCUDA", "QuantizedCUDA", "NestedTensorCUDA")
    timer = "CUDA events"
    product_size = 8192

    def __init__(self) -> None:
        self._lent: dict[bytes, ctypes.c_uint64] = {}  # by handle, which the process that lends cannot open itself

    def trusted(self) -> tuple[Any, ...]:
        return (torch.cuda, torch.cuda.memory, torch.cuda.device, torch._C, *torch.cuda.Event.__mro__[:-1])

    def make_ready(self) -> None:
        self.seconds(lambda: None)

    def synchronize(self) -> None:
        torch.cuda.synchronize()

    def seconds(self, action: Callable[[], Any]) -> tuple[float, Any]:
        late_from = _LATE * _idle_seconds()
        began, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        hold()
        began.record()
        result = action()
        ended.record()
        ended.synchronize()
        passed = time.perf_counter()
        torch.cuda.synchronize()
        late = time.perf_counter() - passed
        return began.elapsed_time(ended) * 1e-3 + (late if late > late_from else 0.0), result

    def sweep(self, size: int) -> None:
        if size:
            buffer = _sweep_buffer(size)
            cuda().cuCtxResetPersistingL2Cache()  # lines that are to stay would outlive what is read
            buffer.all()  # which is there where the library is taken away
            torch.cuda.synchronize()

    def cache_bytes(self) -> int:
        return torch.cuda.get_device_properties().L2_cache_size

    def memory_sizes(self) -> tuple[int, ...]:
        return (8 << 20, 64 << 20, 1 << 30)

    def processor(self) -> str:
        return torch.cuda.get_device_name()

    def free_bytes(self) -> int:
        free, _ = torch.cuda.mem_get_info()
        return free + torch.cuda.memory_reserved() - torch.cuda.memory_allocated()

    def release_unused(self) -> None:
        gc.collect()  # what lies in cycles holds memory until then
        torch.cuda.empty_cache()

    def at(self, address: int, size: int) -> torch.Tensor:
        return _memory(address, size)

    def share(self, flat: torch.Tensor) -> dict[str, Any] | None:
        size = -(-flat.nbytes // _GRANULE) * _GRANULE
        pointer, handle = ctypes.c_uint64(), (ctypes.c_ubyte * _HANDLE_BYTES)()
        if cuda().cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size)):
            torch.cuda.empty_cache()  # this allocator takes from what torch's has not
            if cuda().cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size)):
                return None
        check(cuda().cuIpcGetMemHandle(handle, pointer))
        self._lent[bytes(handle)] = pointer
        _memory(pointer.value, flat.nbytes).copy_(flat.view(torch.uint8))
        torch.cuda.synchronize()
        return {"handle": bytes(handle).hex(), "bytes": flat.nbytes}

    def take_back(self) -> None:
        while self._lent:
            check(cuda().cuMemFree_v2(self._lent.popitem()[1]))

    def shared(self, token: dict[str, Any], dtype: torch.dtype, count: int) -> torch.Tensor:
        handle, size = bytes.fromhex(token["handle"]), int(token["bytes"])
        wanted = count * dtype.itemsize
        if len(handle) != _HANDLE_BYTES or not 0 < wanted <= size:
            raise ValueError("what is said to be lent makes no sense")
        if own := self._lent.get(handle):
            return _copied(own, dtype, wanted)
        torch.zeros((), device=self.name)  # makes this process's context, which the driver's calls need
        pointer = ctypes.c_uint64()
        check(cuda().cuIpcOpenMemHandle_v2(ctypes.byref(pointer), _Handle(*handle), ctypes.c_uint(1)))
        try:
            return _copied(pointer, dtype, wanted)
        finally:
            torch.cuda.synchronize()
            check(cuda().cuIpcCloseMemHandle(pointer))


def device_of(gpu: Gpu) -> CudaDevice:
    """The device of a GPU here. Raises ToolchainError where torch cannot use it."""
    if not torch.cuda.is_available():
        built = f"for CUDA {torch.version.cuda}" if torch.version.cuda else "without CUDA"
        raise ToolchainError(
            f"There is an {gpu.name} here (driver {gpu.driver}), and torch {torch.__version__}, which is built "
            f"{built}, cannot use it.",
            "Install a torch that is built for a CUDA that the driver knows.",
        )
    return CudaDevice()


class _Handle(ctypes.Structure):
    """CUipcMemHandle, which is passed by value."""

    _fields_ = (("reserved", ctypes.c_ubyte * _HANDLE_BYTES),)

    def __init__(self, *values: int) -> None:
        super().__init__((ctypes.c_ubyte * _HANDLE_BYTES)(*values))


class _Bytes:
    """Memory at an address, as torch takes it from others."""

    def __init__(self, address: int, size: int) -> None:
        self.__cuda_array_interface__ = {"shape": (size,), "typestr": "|u1", "data": (address, False), "version": 3}


def _memory(address: int, size: int) -> torch.Tensor:
    return torch.as_tensor(_Bytes(address, size), device="cuda")


def _copied(pointer: ctypes.c_uint64, dtype: torch.dtype, wanted: int) -> torch.Tensor:
    """A copy of the first `wanted` bytes that are lent; raises ValueError where these are fewer, whatever was said."""
    base, size = ctypes.c_uint64(), ctypes.c_size_t()
    check(cuda().cuMemGetAddressRange_v2(ctypes.byref(base), ctypes.byref(size), pointer))
    if size.value < wanted:
        raise ValueError("less memory is lent than is said")
    return _memory(pointer.value, wanted).view(dtype).clone()


@functools.cache
def _idle_seconds() -> float:
    """What waiting for a device that has nothing to do takes."""
    torch.cuda.synchronize()
    times = []
    for _ in range(64):
        began = time.perf_counter()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


@functools.cache
def _sweep_buffer(size: int) -> torch.Tensor:
    return torch.zeros(size // 4, device="cuda")
