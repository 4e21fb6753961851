"""A kernel's model, constructed as the reference file constructs its own, and put into the state of a case.

Worker side, in the candidate's own process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from akg_core.device import Device
from akg_core.judge.candidate.holdings import held, move, parameters, put, transient
from akg_core.judge.reference.placement import BOUNDARY, Walls
from akg_core.records import Case
from akg_core.task.argument_records import taking_records
from akg_core.task.complex_border import as_pairs
from akg_core.task.source.load import as_buffers, load_source, moved
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


_MOST_BYTES = 64 << 20  # of a model of which there are two
_set_gradients = vars(torch._C.TensorBase)["requires_grad"].__set__


class Subject:
    """A constructed model, and what is needed to put it into the state of a case.

    There may be another one, constructed after it and frozen, so that who keeps for a class or a library what is a
    module's own is wrong for one of them. Its parameters get other memory once it is constructed, as `Module.to` gives
    it to them, so that who keeps where they were is wrong, too; on the host it lies between `walls`. `left_open`: what
    the confinement of its process does not exclude. `has_changed`: whether a call left arguments different.
    `is_frozen`: whether the present model is the other one.
    """

    left_open: tuple[str, ...] = ()
    has_changed = False
    is_frozen = False

    def __init__(self, module: Any, case: Case, device: Device, watch: Callable[[], Callable[[], None]]) -> None:
        self.device, self.watch, self.walls = device, watch, Walls()
        self.model = self._constructed(module, case)
        self._models = [(self.model, transient(self.model))]
        if case.another and sum(value.nbytes for value in held(self.model, device).values()) <= _MOST_BYTES:
            other = self._constructed(module, case)
            move(other, lambda tensor: self.walls.walled(tensor.clone(), BOUNDARY))
            for value in parameters(other):
                _set_gradients(value, False)
            self._models.append((other, transient(other)))

    def _constructed(self, module: Any, case: Case) -> nn.Module:
        model = construct(module, case, self.device)
        if not case.training:
            model.eval()  # else the mode is what the constructor leaves
        return model

    def enter(self, case: Case) -> dict[str, Any]:
        """Load the case's state, which is also returned, and reset buffers that no state dict holds."""
        state = load(case.state, self.device) if case.state else {}
        self.is_frozen = case.another and len(self._models) > 1
        self.model, others = self._models[self.is_frozen]
        put(self.model, state, others)
        return state
