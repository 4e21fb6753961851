"""What this machine is: its processor and caches, and the memory that is free."""

from __future__ import annotations

import platform
from pathlib import Path


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


def available_memory() -> int:
    """Bytes that the machine could give out now without swapping."""
    lines = (line.split() for line in Path("/proc/meminfo").read_text().splitlines())
    return next((int(line[1]) * 1024 for line in lines if line[0] == "MemAvailable:"), 0)
