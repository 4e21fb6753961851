"""From one task to the next: what a process that knows answers gives up before it is opened for another task."""

from __future__ import annotations

import gc
from typing import Any

from akg_core.judge.reference import drawing, timed_inputs, turns_on_device
from akg_core.task.source.load import unload
from akg_core.worker import surroundings


def forget_job(payload: dict[str, Any]) -> dict[str, Any]:
    """{} → {reusable}: give up the task, and say whether the process may be opened for another."""
    device = drawing.current().device
    turns_on_device.forget()
    timed_inputs.forget()
    drawing.forget()
    unload()
    gc.unfreeze()
    device.release_unused()
    device.synchronize()  # which raises where what ran has broken it
    return {"reusable": surroundings.unchanged()}
