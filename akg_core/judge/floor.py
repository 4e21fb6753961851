"""How fast this machine could possibly be, measured once: bytes moved a second and operations a second.

The figures lie in the user's cache folder, by processor and torch version. A time that would need more than
1 / MARGIN of what was measured is no time.
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

from akg_core.judge.records import Floor, Preparation
from akg_core.records import Record

if TYPE_CHECKING:
    from akg_core.worker.pool import Pool

MARGIN = 0.5
"""A measurement of this kind sees half of what the hardware can do at the very least: other loads, other code."""

_SMALL_SIZES = (1 << 20, 8 << 20)  # what caches of one core hold, and what they share; beyond comes memory
_MEASURING_SECONDS = 0.05  # for each figure


class Machine(Record):
    """Bytes a second by the size of the memory swept, and operations a second of the best product, of all cores."""

    processor: str
    bytes_per_second: dict[int, float]
    operations_per_second: float


def machine(pool: Pool, *, again: bool = False) -> Machine:
    """The figures of this machine: kept ones, or new ones. With `again` measured anew, keeping the better of both."""
    path = cache_folder() / f"machine-{_key()}.json"
    known = _read(path)
    if known and not again:
        return known
    found = Machine(**pool.call("akg_core.judge.floor:measure_job", {}).unwrap())
    if known:
        best = {size: max(rate, known.bytes_per_second.get(size, 0)) for size, rate in found.bytes_per_second.items()}
        operations = max(found.operations_per_second, known.operations_per_second)
        found = Machine(processor=found.processor, bytes_per_second=best, operations_per_second=operations)
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(f".{os.getpid()}")
    new.write_text(found.model_dump_json())
    new.replace(path)
    return found


def floor(machine: Machine, preparation: Preparation) -> Floor | None:
    """The least time for a task; None when nothing is known that it must do."""
    moved, computed = preparation.minimum_bytes, preparation.operations
    rates = machine.bytes_per_second
    fitting = [size for size in rates if size <= moved]
    if moved >= 3 * last_level_cache():  # most of it comes from memory, whatever the caches hold
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


def cache_folder() -> Path:
    """Where akg-core keeps what it need not find out twice."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "akg-core"


def processor() -> str:
    """The processor's name."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith(("model name", "Model"))]
    return names[0] if names else platform.processor() or platform.machine()


def measure_job(_: dict[str, Any]) -> dict[str, Any]:
    """Worker job: → Machine. Reads, copies and multiplies, each the fastest of several times.

    With all threads and with one: on a busy machine threads that wait for each other can be slower than a single one.
    """
    import torch

    found: list[dict[str, Any]] = []
    for threads in (torch.get_num_threads(), 1):
        torch.set_num_threads(threads)
        found.append(_measured())
    many, one = found
    rates = {size: max(rate, one["rates"][size]) for size, rate in many["rates"].items()}
    operations = max(many["operations"], one["operations"])
    return {"processor": processor(), "bytes_per_second": rates, "operations_per_second": operations}


def _measured() -> dict[str, Any]:
    import torch

    rates = {}
    for size in (*_SMALL_SIZES, 2 * last_level_cache()):
        source, target = torch.ones(size // 4), torch.ones(size // 4)  # zeros share one page
        reading = size / _fastest(source.sum)
        copying = 2 * size / _fastest(functools.partial(target.copy_, source))
        rates[size] = max(reading, copying)
    operations = 0.0
    for dtype in (torch.float32, torch.bfloat16):
        a, b, c = (torch.zeros(1024, 1024, dtype=dtype) for _ in range(3))
        operations = max(operations, 2 * 1024**3 / _fastest(functools.partial(torch.mm, a, b, out=c)))
    return {"rates": rates, "operations": operations}


def _fastest(action: Callable[[], Any]) -> float:
    times: list[float] = []
    while len(times) < 4 or sum(times) < _MEASURING_SECONDS:
        began = time.perf_counter()
        action()
        times.append(time.perf_counter() - began)
    return min(times)


def _key() -> str:
    return hashlib.sha256(
        f"{processor()} {os.cpu_count()} {platform.node()} {last_level_cache()}".encode()
    ).hexdigest()[:16]


def _read(path: Path) -> Machine | None:
    try:
        return Machine(**json.loads(path.read_text()))
    except (OSError, ValueError):
        return None
