"""An NVIDIA GPU as harness and judge see it: its clock, its caches, its memory, and how processes lend that memory.

Times are taken by CUDA events, on a device that is held until the host has launched what is timed. Work that is still
running when the last event has passed, on whatever stream, is added by the host's clock. What counts is taken from
outside, see `akg_cuda.clock`.
"""

from __future__ import annotations

import functools
import gc
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

from akg_core.plugin import Device, DeviceClock, Lane, ToolchainError
from akg_cuda import lending
from akg_cuda.chips import Gpu
from akg_cuda.clock import CudaClock, CudaLane
from akg_cuda.driver import cuda
from akg_cuda.hold import hold
from akg_cuda.sweep import queue_sweep

_LATE = 4  # times as long as waiting for a device that has nothing to do: then it had


class CudaDevice(Device):
    """The current GPU of this process."""

    name = "cuda"
    keys = ("CUDA", "SparseCUDA", "SparseCsrCUDA", "QuantizedCUDA", "NestedTensorCUDA")
    timer = "CUDA events"
    product_size = 8192

    def __init__(self) -> None:
        self._lent: dict[bytes, int] = {}  # by handle, which the process that lends cannot open itself

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
        cuda().cuCtxResetPersistingL2Cache()  # lines that are to stay would outlive what is read
        queue_sweep(size)
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
        return lending.memory(address, size)

    def share(self, flat: torch.Tensor) -> dict[str, Any] | None:
        address = lending.allocated(flat.nbytes)
        if address is None:
            return None
        handle = lending.handle_of(address)
        self._lent[handle] = address
        lending.memory(address, flat.nbytes).copy_(flat.view(torch.uint8))
        torch.cuda.synchronize()
        return {"handle": handle.hex(), "bytes": flat.nbytes}

    def take_back(self) -> None:
        while self._lent:
            lending.free(self._lent.popitem()[1])

    def shared(self, token: dict[str, Any], dtype: torch.dtype, count: int) -> torch.Tensor:
        handle, size, wanted = lending.token_of(token), int(token["bytes"]), count * dtype.itemsize
        if not 0 < wanted <= size:
            raise ValueError("what is said to be lent makes no sense")
        if own := self._lent.get(handle):
            return _copied(own, dtype, wanted)
        address = lending.opened(handle)
        try:
            return _copied(address, dtype, wanted)
        finally:
            torch.cuda.synchronize()
            lending.close(address)

    def clock(self, size: int) -> DeviceClock:
        return CudaClock(size, queue_sweep)

    def lane(self, token: dict[str, Any]) -> Lane:
        return CudaLane(token)


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


def _copied(address: int, dtype: torch.dtype, wanted: int) -> torch.Tensor:
    """A copy of the first `wanted` bytes that are lent; raises ValueError where these are fewer, whatever was said."""
    if lending.extent(address)[1] < wanted:
        raise ValueError("less memory is lent than is said")
    return lending.memory(address, wanted).view(dtype).clone()


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
