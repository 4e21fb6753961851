"""What a kernel needs more of than its chip has, by what compiling it gave: smaller tiles are then worth a try."""

from __future__ import annotations

from typing import Any

from akg_cuda.chips import CHIPS
from akg_triton.build import kernel_of
from akg_triton.build import shortage as told

from akg_core.plugin import Shortage
from akg_core.plugin.resources import shortage as beyond

_MESSAGES = {
    r"too much shared data \((?P<needs>0x\w+) bytes, (?P<has>0x\w+) max\)": "bytes of shared memory",
}


def shortage(launch: dict[str, Any], said: dict[str, Any], capability: int) -> Shortage | None:
    """What is too little for the kernel of a launch, of which `said` is known; None where it fits."""
    if "error" in said:
        return told(launch, said["error"], _MESSAGES)
    unit = CHIPS[capability].unit
    return beyond(kernel_of(launch), said["registers"], said["shared_bytes"], launch["num_warps"], unit)
