"""Whether a device still works after a kernel that crashed or hung there: asked by a process that has run no kernel."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from akg_core.errors import ToolchainError
from akg_core.worker.limits import Limits

if TYPE_CHECKING:
    from akg_core.worker.pool import Pool

_SECONDS = 30.0  # for one answer
_ATTEMPTS, _PAUSE_SECONDS = 3, 2.0  # ending a kernel that hangs takes a driver a moment
_COUNT = 1 << 20


def require_device(pool: Pool, where: dict[str, Any]) -> None:
    """Raise ToolchainError when the device of a plugin and target, `where`, does not copy there and back any more."""
    for attempt in range(_ATTEMPTS):
        time.sleep(_PAUSE_SECONDS if attempt else 0)
        result = pool.call("akg_core.judge.candidate.health:check_job", where, limits=Limits(seconds=_SECONDS))
        if result.status == "ok":
            return
    said = (result.error["message"].strip().splitlines() or [""])[0] if result.error else result.reason
    raise ToolchainError(
        f"The device does not work any more after a kernel that crashed or hung on it: {said.rstrip('.')}.",
        "Restart it, or the machine.",
    )


def check_job(payload: dict[str, Any]) -> dict[str, Any]:
    """Worker job: {plugin, target} → {}. Raises when bytes do not come back from the device as they went."""
    import torch

    from akg_core.judge.compare.bits import same_bits
    from akg_core.worker.placement import device_at

    device = device_at(payload)
    sent = torch.arange(_COUNT)
    returned = sent.to(device.name).clone()
    device.synchronize()
    if not same_bits(sent, returned.cpu()):
        raise ToolchainError("its memory does not keep what is written to it")
    return {}
