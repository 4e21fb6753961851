"""Where kernels run, as harness and judge need to know it. Core knows the host; plugins bring others (`akg_device`).

Worker side. The reference, the baselines and the candidate each hold a device of their own process.
"""

from __future__ import annotations

import ctypes
import functools
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from akg_core import machine

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema


class Lane:
    """What a process that is timed on a device has of the clock, which is in another process: see `DeviceClock`.

    `memory`: bytes of the device, one-dimensional, in which the inputs of calls come to lie before each turn.
    """

    memory: torch.Tensor

    def await_start(self, number: int) -> None:
        """Have what is queued from now on in the current stream wait for the start of the turn of this number."""
        raise NotImplementedError

    def tell_end(self, number: int) -> None:
        """Have the device tell the clock when all that is queued in the current stream has ended."""
        raise NotImplementedError

    def named(self, address: int, size: int) -> dict[str, Any]:
        """How the clock's process finds so many bytes of the device's memory at an address of this one: JSON."""
        raise NotImplementedError

    def close(self) -> None:
        """Give up the memory of the clock, in which nothing is looked at any more."""


class DeviceClock:
    """The clock of a device in a process that nobody else can reach, which works on the device between two turns.

    A device works for one process at a time. So a turn begins when the last of what this process has queued before it
    has been done, and has ended when the device works for this process again: by stamps of the device itself, in memory
    of this process. `token`: JSON from which a `Lane` is made in another process; `memory`: as there.
    """

    token: dict[str, Any]
    memory: torch.Tensor

    def copies(self, pairs: Sequence[tuple[torch.Tensor, torch.Tensor]]) -> Callable[[], None]:
        """What queues copies from one flat tensor of bytes to another each, made by what computes on the device."""
        raise NotImplementedError

    def begin(
        self, number: int, expose: Callable[[], None], sweep: int, keep: Callable[[], None] | None = None
    ) -> None:
        """Queue, without a gap in which the device could do anything else: what `expose` queues, by which inputs come
        to lie in `memory`, reading `sweep` bytes so that they are in no cache, a stamp, and the start of the turn. With
        `keep` also what `end` queues, for when the end of the turn is told.
        """
        raise NotImplementedError

    def end(self, keep: Callable[[], None]) -> None:
        """Queue a stamp, what `keep` queues, by which answers are copied, and another stamp."""
        raise NotImplementedError

    def wait(self, seconds: float) -> None:
        """Wait for all that was queued; raises TimeoutError when that takes longer, with nothing queued any more."""
        raise NotImplementedError

    def taken(self) -> tuple[float, float, float]:
        """Seconds of the turn that has ended, for which inputs were in sight before it, and that copies took then."""
        raise NotImplementedError

    def start(self, number: int) -> None:
        """Start whoever waits for the turn of this number, now, though nobody takes the time."""
        raise NotImplementedError

    def found(self, named: dict[str, Any], size: int) -> torch.Tensor:
        """So many bytes of what a `Lane` has named, as a flat tensor, until `forget`.

        What was named may come from the code under judgement: raises ValueError when it makes no sense.
        """
        raise NotImplementedError

    def forget(self) -> None:
        """Give up what was `found`."""
        raise NotImplementedError

    def close(self) -> None:
        """Free the memory of the clock; nobody has a turn after that."""


class Device:
    """The host; derive from it for another device.

    `name` is torch's name of it, `keys` those of torch's dispatcher under which operators for it lie, the usual one
    first. `timer` is the name of the clock that `seconds` reads, `product_size` that of the square matrices whose
    product shows how fast it computes.
    """

    name = "cpu"
    keys: tuple[str, ...] = ("CPU", "SparseCPU", "SparseCsrCPU", "MkldnnCPU", "QuantizedCPU", "NestedTensorCPU")
    timer = "perf_counter"
    product_size = 1024

    def trusted(self) -> tuple[Any, ...]:
        """Modules and classes of others that this class calls: what they hold is nobody's to replace."""
        return ()

    def make_ready(self) -> None:
        """Have this process use the device and its clock for the first time, which may take a while."""

    def synchronize(self) -> None:
        """Wait for everything that was started on the device, on whatever stream."""

    def seconds(self, action: Callable[[], Any]) -> tuple[float, Any]:
        """How long `action` takes until all that it started has ended, in seconds, and what it returns."""
        self.synchronize()
        began = time.perf_counter()
        result = action()
        self.synchronize()
        return time.perf_counter() - began, result

    def sweep(self, size: int) -> None:
        """Read `size` bytes of memory, so that nothing else stays in the caches; reading leaves none to write back."""
        if size:
            one, other = _sweep_buffer(self.name, size)
            one.equal(other)  # which is there where the library is taken away
            self.synchronize()

    def cache_bytes(self) -> int:
        """Bytes of the largest cache that one core or multiprocessor reaches."""
        return machine.last_level_cache()

    def memory_sizes(self) -> tuple[int, ...]:
        """Sizes in bytes that show how fast memory is: what one core's caches hold, what they share, and beyond."""
        return (1 << 20, 8 << 20, 2 * self.cache_bytes())

    def processor(self) -> str:
        """What the device is called by its maker."""
        return machine.processor()

    def free_bytes(self) -> int:
        """Bytes of the device's memory that could be taken now."""
        return machine.available_memory()

    def release_unused(self) -> None:
        """Give back memory that this process holds for later and does not use now."""

    def take_back(self) -> None:
        """Free what was lent to other processes, which use it no more."""

    def at(self, address: int, size: int) -> torch.Tensor:
        """So many bytes of the device's memory from an address, as a one-dimensional tensor of bytes, not a copy."""
        import torch

        return torch.frombuffer((ctypes.c_char * size).from_address(address), dtype=torch.uint8)

    def share(self, flat: torch.Tensor) -> dict[str, Any] | None:
        """Lend a copy of a one-dimensional tensor to other processes, until it is taken back or this one ends.

        What is returned is JSON that `shared` understands there; None: the bytes are to travel in a file.
        """
        return None

    def shared(self, token: dict[str, Any], dtype: torch.dtype, count: int) -> torch.Tensor:
        """A copy, in memory of this process, of the first `count` elements of what another has lent.

        The token may come from the code under judgement: raises ValueError when it makes no sense.
        """
        raise ValueError("nothing is shared between processes here")

    def clock(self, size: int) -> DeviceClock:
        """A clock with so many bytes for inputs. Raises NotImplementedError where there is none, as for the host."""
        raise NotImplementedError

    def lane(self, token: dict[str, Any]) -> Lane:
        """The lane of a clock in another process."""
        raise NotImplementedError

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core import core_schema

        return core_schema.is_instance_schema(cls)


HOST = Device()


@functools.cache
def _sweep_buffer(name: str, size: int) -> torch.Tensor:
    import torch

    return torch.zeros(2, size // 8, device=name)
