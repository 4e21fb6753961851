"""The device on which a plugin's kernels run, in the process of a worker."""

from __future__ import annotations

import functools
from typing import Any

from akg_core.device import HOST, Device
from akg_core.records import Target
from akg_core.registry import hooks


def device_at(payload: dict[str, Any]) -> Device:
    """The device on which a plugin's kernels run here, by a job's payload {plugin, target}; the host by default."""
    plugin, target = payload.get("plugin"), payload.get("target")
    return _device_at(plugin, target["backend"], target.get("arch", "")) if plugin and target else HOST


def start_job(payload: dict[str, Any]) -> dict[str, Any]:
    """Worker job: {plugin?, target?} → {}; make this process's device ready."""
    device_at(payload).make_ready()
    return {}


@functools.cache
def _device_at(plugin: str, backend: str, arch: str) -> Device:
    caller = hooks(plugin)
    return caller.akg_device(target=Target(backend=backend, arch=arch)) if caller.has("akg_device") else HOST
