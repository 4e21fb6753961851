"""The clock of a GPU: stamps that the GPU makes for a process which the code that is timed cannot reach.

A GPU works for one process at a time. What the process of the clock queues (inputs, a sweep, a stamp) is done without a
gap, behind what holds the GPU until all of it is queued. The other process has queued its calls behind a wait for a
word of memory, which the stamp's kernel writes; they begin when the GPU turns to that process. When a second word tells
that they have ended, the GPU turns back, to a second stamp and to copies of the answers.
"""

from __future__ import annotations

import ctypes
import functools
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from akg_core.plugin import DeviceClock, Lane
from akg_cuda import lending, stamps
from akg_cuda.driver import check, cuda
from akg_cuda.hold import hold

_START, _END, _CONTROL_BYTES = 0, 64, 4096  # where the two words lie, before the memory for inputs
_AT_LEAST = 0  # CU_STREAM_WAIT_VALUE_GEQ
_LOOK_SECONDS = 2e-5
_QUEUING_SECONDS = 3e-4  # within which a turn is queued
_SEEN, _BEGUN, _ENDED, _KEPT = range(4)  # stamps: inputs come in sight, the turn begins, it has ended, it is copied


class CudaClock(DeviceClock):
    """A clock; `sweep` queues reading so many bytes."""

    def __init__(self, size: int, sweep: Callable[[int], None]) -> None:
        address = lending.allocated(_CONTROL_BYTES + size)
        if address is None:
            raise torch.cuda.OutOfMemoryError(f"CUDA out of memory: {size} bytes for inputs")
        self._address, self._sweep = address, sweep
        self._stream, self._beside = torch.cuda.Stream(), torch.cuda.Stream()
        self._stamps = torch.zeros(4, dtype=torch.int64, device="cuda")
        self._opened: dict[bytes, int] = {}
        self.token = {"handle": lending.handle_of(address).hex(), "bytes": size}
        self.memory = lending.memory(address + _CONTROL_BYTES, size)
        lending.memory(address, _CONTROL_BYTES).zero_()
        stamps.load()
        torch.cuda.synchronize()

    def copies(self, pairs: Sequence[tuple[torch.Tensor, torch.Tensor]]) -> Callable[[], None]:
        rows = [(source.data_ptr(), target.data_ptr(), source.nbytes) for source, target in pairs if source.nbytes]
        table = torch.tensor(rows, dtype=torch.int64).view(-1, 3).cuda()
        torch.cuda.current_stream().synchronize()
        return functools.partial(stamps.gather, table)

    def begin(
        self, number: int, expose: Callable[[], None], sweep: int, keep: Callable[[], None] | None = None
    ) -> None:
        torch.cuda.synchronize()
        cuda().cuCtxResetPersistingL2Cache()  # lines that are to stay would outlive what is read
        with torch.cuda.stream(self._stream):
            hold(_QUEUING_SECONDS)
            stamps.stamp(self._at(_SEEN))
            expose()
            self._sweep(sweep)
            stamps.stamp(self._at(_BEGUN), self._address + _START, number)
            if keep:
                _wait(self._address + _END, number)
                self.end(keep)

    def end(self, keep: Callable[[], None]) -> None:
        with torch.cuda.stream(self._stream):
            stamps.stamp(self._at(_ENDED))
            keep()
            stamps.stamp(self._at(_KEPT))

    def wait(self, seconds: float) -> None:
        told, until = torch.cuda.Event(), time.perf_counter() + seconds
        told.record(self._stream)
        while not told.query():
            if time.perf_counter() > until:
                with torch.cuda.stream(self._beside):
                    _write(self._address + _END, (1 << 31) - 1)
                told.synchronize()
                with torch.cuda.stream(self._beside):
                    _write(self._address + _END, 0)
                self._beside.synchronize()
                raise TimeoutError
            time.sleep(_LOOK_SECONDS)

    def taken(self) -> tuple[float, float, float]:
        seen, begun, ended, kept = self._stamps.tolist()
        return (ended - begun) * 1e-9, (begun - seen) * 1e-9, (kept - ended) * 1e-9

    def start(self, number: int) -> None:
        with torch.cuda.stream(self._beside):
            _write(self._address + _START, number)
        self._beside.synchronize()

    def found(self, named: dict[str, Any], size: int) -> torch.Tensor:
        handle, offset = lending.token_of(named), int(named["offset"])
        if handle.hex() == self.token["handle"]:
            base, room = self._address, self.token["bytes"] + _CONTROL_BYTES
        else:
            if handle not in self._opened:
                self._opened[handle] = lending.opened(handle)
            base = self._opened[handle]
            room = lending.extent(base)[1]
        if not 0 <= offset <= room - size:
            raise ValueError("an answer reaches beyond the memory that it lies in")
        return lending.memory(base + offset, size)

    def forget(self) -> None:
        while self._opened:
            lending.close(self._opened.popitem()[1])

    def close(self) -> None:
        self.forget()
        lending.free(self._address)

    def _at(self, which: int) -> int:
        return self._stamps.data_ptr() + 8 * which


class CudaLane(Lane):
    """The lane of a clock, in the process that is timed."""

    def __init__(self, token: dict[str, Any]) -> None:
        self._handle, self._address = token["handle"], lending.opened(lending.token_of(token))
        self._extent = lending.extent(self._address)[0]
        self.memory = lending.memory(self._address + _CONTROL_BYTES, token["bytes"])

    def await_start(self, number: int) -> None:
        _wait(self._address + _START, number)

    def tell_end(self, number: int) -> None:
        _write(self._address + _END, number)

    def named(self, address: int, size: int) -> dict[str, Any]:
        base, _ = lending.extent(address)
        handle = self._handle if base == self._extent else lending.handle_of(base).hex()
        return {"handle": handle, "offset": address - base}

    def close(self) -> None:
        lending.close(self._address)


def _wait(address: int, number: int) -> None:
    """Have the current stream wait until a word is no less than a number."""
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    asked = ctypes.c_uint64(address), ctypes.c_uint32(number), ctypes.c_uint32(_AT_LEAST)
    check(cuda().cuStreamWaitValue32_v2(stream, *asked))


def _write(address: int, number: int) -> None:
    """Have the current stream write a word when what it has been given before is done."""
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    asked = ctypes.c_uint64(address), ctypes.c_uint32(number), ctypes.c_uint32(0)
    check(cuda().cuStreamWriteValue32_v2(stream, *asked))
