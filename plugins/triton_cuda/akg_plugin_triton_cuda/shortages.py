"""What a kernel needs more of than its chip has, by what compiling it gave: smaller tiles are then worth a try."""

from __future__ import annotations

import re
from typing import Any

from akg_cuda.chips import CHIPS

from akg_core.plugin import Shortage
from akg_core.plugin.resources import shortage as beyond

_MESSAGES = {
    r"numel \((?P<needs>\d+)\) exceeds triton maximum tensor numel \((?P<has>\d+)\)": "elements of a tile",
    r"too much shared data \((?P<needs>0x\w+) bytes, (?P<has>0x\w+) max\)": "bytes of shared memory",
    r"Triton took more than (?P<has>\d+) s": "seconds of compiling",
}


def shortage(launch: dict[str, Any], said: dict[str, Any], capability: int) -> Shortage | None:
    """What is too little for the kernel of a launch, of which `said` is known; None where it fits."""
    kernel = launch.get("of_sketch", launch["kernel"])
    if "error" in said:
        found = ((re.search(pattern, said["error"]), of) for pattern, of in _MESSAGES.items())
        return next((_told(kernel, of, match) for match, of in found if match), None)
    unit, warps = CHIPS[capability].unit, launch["num_warps"]
    return beyond(kernel, said["registers"], said["shared_bytes"], warps, unit)


def _told(kernel: str, of: str, match: re.Match[str]) -> Shortage:
    numbers = {name: int(text, 0) for name, text in match.groupdict().items()}
    return Shortage(kernel=kernel, of=of, needs=numbers.get("needs", 0), has=numbers["has"])
