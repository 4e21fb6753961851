"""What a kernel's HIVM says of it: memory that was planned on each level of a core, and on which cores it runs."""

from __future__ import annotations

import math
import re
from collections import defaultdict

LEVELS = {"ub": "UB", "cbuf": "L1", "cc": "L0C"}  # address spaces of HIVM, as people call them
_CONSTANT = re.compile(r"(?P<name>%\w+) = arith\.constant (?P<value>\d+) : i64")
_BUFFER = re.compile(
    r"hivm\.hir\.pointer_cast\((?P<places>[^)]*)\)[^:]*: memref<(?P<type>[^#]*)#hivm\.address_space<(?P<level>\w+)>"
)


def planned(text: str) -> dict[str, int]:
    """Bytes of each level that a core's program takes: the end of its last buffer, of the cores that it runs on."""
    taken: dict[str, int] = defaultdict(int)
    for function in text.split("func.func ")[1:]:
        constants = {match["name"]: int(match["value"]) for match in _CONSTANT.finditer(function)}
        for match in _BUFFER.finditer(function):
            size = _bytes(match["type"])
            for place in match["places"].split(","):
                level = LEVELS.get(match["level"], match["level"])
                taken[level] = max(taken[level], constants.get(place.strip(), 0) + size)
    return dict(taken)


def cores(text: str) -> str:
    """Which cores the kernel runs on: "vector", "cube", or "cube and vector" where both work on it together."""
    if re.search(r"func\.func @\w+_mix_aic\b", text):
        return "cube and vector"
    return "cube" if "func_core_type<AIC>}" in text and "address_space<cc>" in text else "vector"


def _bytes(type: str) -> int:
    """Bytes of "4x16xf32, "."""
    *sizes, element = type.split(",")[0].strip().split("x")
    bits = int(re.sub(r"\D", "", element) or 8)
    return -(-math.prod(int(size) for size in sizes if size.isdigit()) * bits // 8)
