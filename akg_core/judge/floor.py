"""How fast this machine could possibly be, measured once: bytes moved a second and operations a second.

The figures lie in the user's cache folder, by processor and torch version. A time that would need more than
1 / MARGIN of what was measured is no time.
"""

from __future__ import annotations

import functools
import hashlib
import json
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from akg_core.judge import sampling
from akg_core.judge.records import Floor, Preparation
from akg_core.records import Record
from akg_core.storage import cache_folder, write_whole
from akg_core.worker.device import HOST, Device, device_at
from akg_core.worker.usage import cores

if TYPE_CHECKING:
    from akg_core.worker.pool import Pool

MARGIN = 0.5
"""A measurement of this kind sees half of what the hardware can do at the very least: other loads, other code."""

_MEASURING_SECONDS = 0.05  # for each figure


class Machine(Record):
    """Bytes a second by the size of the memory swept, and operations a second of the best product, of all cores.

    `sampling_seconds`: what taking a sample takes beside what it counts, at the least.
    """

    processor: str
    cache_bytes: int
    bytes_per_second: dict[int, float]
    operations_per_second: float
    sampling_seconds: float


def machine(pool: Pool, where: dict[str, Any] | None = None, *, again: bool = False) -> Machine:
    """The figures of this machine, or of the device of a plugin and target in it: kept ones, or new ones.

    With `again` they are measured anew, keeping the better of both.
    """
    where = where or {}
    path = cache_folder() / f"machine-{_key(where)}.json"
    known = _read(path)
    if known and not again:
        return known
    rates = pool.call("akg_core.judge.floor:measure_job", where).unwrap()
    found = Machine(**rates, sampling_seconds=sampling.seconds_beside(pool, where))
    if known:
        best = {size: max(rate, known.bytes_per_second.get(size, 0)) for size, rate in found.bytes_per_second.items()}
        operations = max(found.operations_per_second, known.operations_per_second)
        beside = min(found.sampling_seconds, known.sampling_seconds)
        found = Machine(
            processor=found.processor,
            cache_bytes=found.cache_bytes,
            bytes_per_second=best,
            operations_per_second=operations,
            sampling_seconds=beside,
        )
    write_whole(path, found)
    return found


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


def last_level_cache() -> int:
    """Bytes of the largest cache that one core reaches."""
    sizes = []
    for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        text = path.read_text().strip()
        sizes.append(int(text[:-1]) * {"K": 1 << 10, "M": 1 << 20}[text[-1]])
    return max(sizes, default=32 << 20)


def processor() -> str:
    """The processor's name."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith(("model name", "Model"))]
    return names[0] if names else platform.processor() or platform.machine()


def measure_job(payload: dict[str, Any]) -> dict[str, Any]:
    """Worker job: {plugin?, target?} → a Machine's rates. Reads, copies and multiplies, each the fastest of several.

    On the host with all threads and with one: on a busy machine threads that wait for each other can be slower than a
    single one.
    """
    import torch

    device = device_at(payload)
    found: list[dict[str, Any]] = []
    for threads in (torch.get_num_threads(), 1) if device is HOST else (1,):
        torch.set_num_threads(threads)
        found.append(_measured(device))
    return {
        "processor": device.processor(),
        "cache_bytes": device.cache_bytes(),
        "bytes_per_second": {size: max(each["rates"][size] for each in found) for size in device.memory_sizes()},
        "operations_per_second": max(each["operations"] for each in found),
    }


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
