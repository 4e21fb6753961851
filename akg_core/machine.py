"""What this machine is: its processor and caches, and the memory that is free."""

from __future__ import annotations

import functools
import platform
from pathlib import Path


@functools.cache
def cache_bytes(level: int) -> int:
    """Bytes of the data cache of this level that one core reaches, 0 where the system does not say."""
    for index in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        try:
            found, kind, size = ((index / name).read_text().strip() for name in ("level", "type", "size"))
        except OSError:
            continue
        if found == str(level) and kind != "Instruction":
            unit = {"K": 1 << 10, "M": 1 << 20}.get(size[-1:], 1)
            return int(size.rstrip("KM") or 0) * unit
    return 0


def last_level_cache() -> int:
    """Bytes of the largest cache that one core reaches."""
    return max(map(cache_bytes, range(1, 5))) or 32 << 20


@functools.cache
def processor() -> str:
    """The processor's name."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith(("model name", "Model"))]
    return names[0] if names else platform.processor() or platform.machine()


def available_memory() -> int:
    """Bytes that the machine could give out now without swapping."""
    lines = (line.split() for line in Path("/proc/meminfo").read_text().splitlines())
    return next((int(line[1]) * 1024 for line in lines if line[0] == "MemAvailable:"), 0)
