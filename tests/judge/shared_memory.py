"""A device whose memory is the host's, in a file that processes share, and which does at once what it is told.

So nothing can be queued on it: what waits for a start holds the process up that has asked for it.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from akg_core.device import Device, DeviceClock, Lane

_CONTROL = 4096  # bytes before the memory for inputs, which begin with the number of the turn that has begun


class SharedMemory(Device):
    """The host, with a clock in another process. `folder` is where its files lie, which every worker may read."""

    folder = Path()

    def clock(self, size: int) -> DeviceClock:
        return FileClock(self.folder / os.urandom(8).hex(), size)

    def lane(self, token: dict[str, Any]) -> Lane:
        return FileLane(token)


class FileClock(DeviceClock):
    """Takes the host's time."""

    def __init__(self, path: Path, size: int) -> None:
        path.write_bytes(bytes(_CONTROL + size))
        with path.open("r+b") as file:
            self._held = mmap.mmap(file.fileno(), 0)
        self.token = {"path": str(path), "bytes": size}
        self.memory = torch.frombuffer(self._held, dtype=torch.uint8, offset=_CONTROL)
        self._seen = self._begun = self._ended = self._kept = 0.0

    def copies(self, pairs: Sequence[tuple[torch.Tensor, torch.Tensor]]) -> Callable[[], None]:
        def copy() -> None:
            for source, target in pairs:
                target.copy_(source)

        return copy

    def begin(
        self, number: int, expose: Callable[[], None], sweep: int, keep: Callable[[], None] | None = None
    ) -> None:
        self._seen = time.perf_counter()
        expose()
        self._begun = time.perf_counter()
        self.start(number)
        assert keep is None

    def end(self, keep: Callable[[], None]) -> None:
        self._ended = time.perf_counter()
        keep()
        self._kept = time.perf_counter()

    def wait(self, seconds: float) -> None:
        pass

    def taken(self) -> tuple[float, float, float]:
        return self._ended - self._begun, self._begun - self._seen, self._kept - self._ended

    def start(self, number: int) -> None:
        self._held[:8] = struct.pack("=Q", number)

    def found(self, named: dict[str, Any], size: int) -> torch.Tensor:
        if len(named["bytes"]) != size:
            raise ValueError("an answer has another size")
        return torch.tensor(named["bytes"], dtype=torch.uint8)

    def forget(self) -> None:
        pass


class FileLane(Lane):
    """Sees what the clock's process writes, where it has not written itself."""

    def __init__(self, token: dict[str, Any]) -> None:
        with Path(token["path"]).open("rb") as file:
            self._seen = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            self._held = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        self.memory = torch.frombuffer(self._held, dtype=torch.uint8, offset=_CONTROL)

    def await_start(self, number: int) -> None:
        while struct.unpack_from("=Q", self._seen)[0] < number:
            time.sleep(1e-3)

    def tell_end(self, number: int) -> None:
        pass

    def named(self, address: int, size: int) -> dict[str, Any]:
        return {"bytes": list(ctypes.string_at(address, size))}
