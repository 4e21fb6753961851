"""Quantities in words: times, counts and sizes with three digits and their unit."""

from __future__ import annotations


def count_of(number: int, noun: str) -> str:
    """ "1 kernel", "2 kernels"."""
    return f"{number} {noun}{'s' * (number != 1)}"


def spell_seconds(seconds: float) -> str:
    """A duration with three digits and its unit: "12.3 ms"."""
    unit, size = _unit(seconds)
    return f"{_three(seconds / size)} {unit}"


def spell_interval(low: float, high: float) -> str:
    """Two durations with one unit: "12.3 – 12.9 ms"."""
    unit, size = _unit(high)
    return f"{_three(low / size)} – {_three(high / size)} {unit}"


def spell_count(number: float, unit: str = "") -> str:
    """A count or a size with three digits: "16.8 MB", "1.02 G"."""
    for prefix, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.3g} {prefix}{unit}"
    return f"{number:g} {unit}".rstrip()


def _unit(seconds: float) -> tuple[str, float]:
    return next(((u, size) for u, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)) if seconds >= size), ("ns", 1e-9))


def _three(value: float) -> str:
    """Three digits, and no exponent: 0.123, 12.3, 1230."""
    return f"{value:.0f}" if value >= 100 else f"{value:#.3g}".rstrip(".")
