"""A kernel's model, constructed as the reference file constructs its own, and put into the state of a case.

Worker side, in the candidate's own process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from akg_core.device import Device
from akg_core.judge.candidate.holdings import put, transient
from akg_core.records import Case
from akg_core.task.argument_records import taking_records
from akg_core.task.complex_border import as_pairs
from akg_core.task.load import as_buffers, load_source, moved
from akg_core.worker.tensors import load


def construct(module: Any, case: Case, device: Device) -> nn.Module:
    """A `ModelNew` as the reference file constructs its `Model`, after the case's seed, moved to the device."""
    torch.manual_seed(case.made_by)
    source = load_source(case.reference.read_text(), "reference") if case.reference else module
    arguments = source.get_init_inputs() if hasattr(source, "get_init_inputs") else ()
    model = as_buffers(moved(module.ModelNew(*arguments), device.name), case.replaced)
    if case.records:
        model = taking_records(model, source.examples(), plain_results=True)
    return model if case.pairs is None else as_pairs(model, case.pairs)


class Subject:
    """A constructed model, and what is needed to put it into the state of a case.

    `left_open`: what the confinement of its process does not exclude. `has_changed`: whether a call left arguments
    different.
    """

    left_open: tuple[str, ...] = ()
    has_changed = False

    def __init__(self, module: Any, case: Case, device: Device, watch: Callable[[], Callable[[], None]]) -> None:
        self.device, self.watch = device, watch
        self.model = construct(module, case, device)
        if not case.training:
            self.model.eval()  # else the mode is what the constructor leaves
        self._transient = transient(self.model)

    def enter(self, case: Case) -> dict[str, Any]:
        """Load the case's state, which is also returned, and reset buffers that no state dict holds."""
        state = load(case.state, self.device) if case.state else {}
        put(self.model, state, self._transient)
        return state
