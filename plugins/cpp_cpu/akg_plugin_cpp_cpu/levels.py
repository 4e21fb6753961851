"""The levels of x86-64 that kernels can be built for, and what this processor lacks of them."""

from __future__ import annotations

import functools
import platform
from pathlib import Path

NATIVE = "native"  # gcc's name for the processor that is here
# What each level adds to the one before it, by the names that Linux gives to a processor's features.
LEVELS: dict[str, tuple[str, ...]] = {
    "x86-64": ("cmov", "cx8", "fpu", "fxsr", "mmx", "sse", "sse2"),
    "x86-64-v2": ("cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3"),
    "x86-64-v3": ("avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"),
    "x86-64-v4": ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
}


@functools.cache
def features() -> frozenset[str]:
    """What this processor has, as Linux lists it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return frozenset()
    found = (line.partition(":")[2].split() for line in lines if line.startswith(("flags", "Features")))
    return frozenset(next(found, ()))


def known() -> tuple[str, ...]:
    """The levels that a compiler of this machine can build for: none on another family of processors."""
    return tuple(LEVELS) if platform.machine() == "x86_64" else ()


def lacking(arch: str) -> tuple[str, ...]:
    """The features of a level that this processor does not have; it lacks nothing of itself."""
    names = list(LEVELS)
    levels = names[: names.index(arch) + 1] if arch in names else []
    return tuple(feature for level in levels for feature in LEVELS[level] if feature not in features())
