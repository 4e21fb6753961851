"""What a kernel needs more of than its chip has, by what the compiler said: smaller tiles are then worth a try."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from akg_triton import build

from akg_core.plugin import Shortage

_LEVELS = {"ub": "the unified buffer", "cbuf": "L1", "l1": "L1", "cc": "L0C", "l0c": "L0C"}
_OVERFLOW = re.compile(
    r"\b(?P<level>ub|cbuf|cc|l1|l0c) overflow, requires (?P<needs>\d+) bits while (?P<has>\d+) bits", re.IGNORECASE
)


def shortage(launch: Mapping[str, Any], error: str) -> Shortage | None:
    """What is too little for the kernel of a launch that was refused with `error`; None for another fault."""
    if match := _OVERFLOW.search(error):
        of = f"bytes of {_LEVELS[match['level'].lower()]}"
        return Shortage(
            kernel=build.kernel_of(launch), of=of, needs=int(match["needs"]) // 8, has=int(match["has"]) // 8
        )
    return build.shortage(launch, error)
