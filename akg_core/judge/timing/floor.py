"""How fast this machine could possibly be: bytes moved a second and operations a second.

The figures lie in the user's cache folder, by processor. They are measured again after a day, and sooner where the
machine was busy, and the better ones are kept. A time that would need more than 1 / MARGIN of these is no time.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from akg_core.device import HOST, Device
from akg_core.judge.records import Floor, Preparation
from akg_core.judge.timing import idle
from akg_core.machine import last_level_cache, processor
from akg_core.records import Record
from akg_core.storage import cache_folder, write_whole
from akg_core.worker.placement import device_at
from akg_core.worker.usage import cores, waited

if TYPE_CHECKING:
    from akg_core.worker.pool import Pool

MARGIN = 0.5
"""A measurement of this kind sees half of what the hardware can do at the very least: other loads, other code."""

_LESS_IS_BETTER = ("turn_seconds", "turn_spread", "open_seconds", "waited")
_MEASURING_SECONDS = 0.05  # for each figure
_BUSY = 0.05  # of the time in which measuring had no processor
_QUIET_SECONDS, _BUSY_SECONDS = 24 * 3600.0, 600.0  # for which figures stand that were measured on such a machine


class Machine(Record):
    """Bytes a second by the size of the memory swept, and operations a second of the best product, of all cores.

    `turn_seconds`, `turn_spread`: what a turn takes beside the calls in it, and how much that varies; on a device that
    is so of calls that are queued, and `open_seconds` of others, at the least. `waited`: the part of the time in which
    what measured all that waited for a processor.
    """

    processor: str
    cache_bytes: int
    bytes_per_second: dict[int, float]
    operations_per_second: float
    turn_seconds: float = 0.0
    turn_spread: float = 0.0
    open_seconds: float = 0.0
    waited: float = 0.0


def machine(pool: Pool, where: dict[str, Any] | None = None, *, again: bool = False) -> Machine:
    """The figures of this machine, or of the device of a plugin and target in it: kept ones, or new ones.

    With `again`, or when they are old, they are measured anew, keeping the better of both.
    """
    where = where or {}
    path = cache_folder() / f"machine-{_key(where)}.json"
    known = _read(path)
    if known and not again and time.time() - path.stat().st_mtime < _stands(known):
        return known
    rates = pool.call("akg_core.judge.timing.floor:measure_job", where).unwrap()
    on_host = rates.pop("on_host")
    found = Machine(**rates).model_copy(update=_beside(pool, where, on_host))
    if known:
        best = {size: max(rate, known.bytes_per_second.get(size, 0)) for size, rate in found.bytes_per_second.items()}
        operations = max(found.operations_per_second, known.operations_per_second)
        better = {"bytes_per_second": best, "operations_per_second": operations}
        least = {name: min(getattr(found, name), getattr(known, name)) for name in _LESS_IS_BETTER}
        found = found.model_copy(update=better | least)
    write_whole(path, found)
    return found


def _stands(known: Machine) -> float:
    """For how many seconds figures are used before they are measured again."""
    return _BUSY_SECONDS if known.waited > _BUSY else _QUIET_SECONDS


def _beside(pool: Pool, where: dict[str, Any], on_host: bool) -> dict[str, float]:
    """What taking times takes beside them, the way that it is done there."""
    if not on_host:
        return idle.on_device(pool, where)
    seconds, spread = idle.on_host(pool)
    return {"turn_seconds": seconds, "turn_spread": spread}


def floor(machine: Machine, preparation: Preparation) -> Floor | None:
    """The least time for a task; None when nothing is known that it must do."""
    moved, computed = preparation.minimum_bytes, preparation.operations
    rates = machine.bytes_per_second
    fitting = [size for size in rates if size <= moved]
    if moved >= 3 * machine.cache_bytes:  # most of it comes from memory, whatever the caches hold
        fitting = [max(rates)]
    # A sweep of less memory is never slower: a low figure for it only says that the machine was busy then.
    rate = max(rates[size] for size in rates if size >= max(fitting, default=min(rates)))
    moving, computing = moved / rate, computed / machine.operations_per_second
    if not moved and not computed:
        return None
    return Floor(
        seconds=max(moving, computing),
        limited_by="memory" if moving >= computing else "arithmetic",
        bytes=moved,
        bytes_per_second=rate,
        operations=computed,
        operations_per_second=machine.operations_per_second,
        margin=MARGIN,
    )


def measure_job(payload: dict[str, Any]) -> dict[str, Any]:
    """Worker job: {plugin?, target?} → a Machine's rates, and whether they are the host's.

    Reads, copies and multiplies, each the fastest of several.
    On the host with all threads and with one: on a busy machine threads that wait for each other can be slower than a
    single one.
    """
    import torch

    device, began, before = device_at(payload), time.monotonic(), _waited()
    found: list[dict[str, Any]] = []
    for threads in (torch.get_num_threads(), 1) if device is HOST else (1,):
        torch.set_num_threads(threads)
        found.append(_measured(device))
    return {
        "on_host": device is HOST,
        "waited": (_waited() - before) / (time.monotonic() - began),
        "processor": device.processor(),
        "cache_bytes": device.cache_bytes(),
        "bytes_per_second": {size: max(each["rates"][size] for each in found) for size in device.memory_sizes()},
        "operations_per_second": max(each["operations"] for each in found),
    }


def _waited() -> float:
    """Seconds that this process's first thread was ready to run and had no processor."""
    return waited([os.getpid()]).get((os.getpid(), os.getpid()), 0.0)


def _measured(device: Device) -> dict[str, Any]:
    import torch

    rates = {}
    for size in device.memory_sizes():
        source, target = (torch.ones(size // 4, device=device.name) for _ in range(2))  # zeros share one page
        reading = size / _fastest(device, source.sum)
        copying = 2 * size / _fastest(device, functools.partial(target.copy_, source))
        rates[size] = max(reading, copying)
    operations = 0.0
    for dtype in (torch.float32, torch.bfloat16):
        n = device.product_size
        a, b, c = (torch.zeros(n, n, dtype=dtype, device=device.name) for _ in range(3))
        operations = max(operations, 2 * n**3 / _fastest(device, functools.partial(torch.mm, a, b, out=c)))
    return {"rates": rates, "operations": operations}


def _fastest(device: Device, action: Callable[[], Any]) -> float:
    times: list[float] = []
    until = time.monotonic() + _MEASURING_SECONDS
    while len(times) < 4 or time.monotonic() < until:
        times.append(device.seconds(action)[0])
    return min(times)


def _key(where: dict[str, Any]) -> str:
    seen = f"{processor()} {cores()} {platform.node()} {last_level_cache()} {where.get('target')}"
    return hashlib.sha256(seen.encode()).hexdigest()[:16]


def _read(path: Path) -> Machine | None:
    try:
        return Machine(**json.loads(path.read_text()))
    except (OSError, ValueError):
        return None
