"""Programs run with each launch done by an emitter's kernel, tensor by tensor as the interpreter runs them.

A `Case` is a sketch with what it is run on. `Run` interprets it; a plugin's tests override `execute` to run what they
emitted for the launch, and compare.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from akg_core.lower.specialise import Instance, specialise
from akg_core.records import Schedule
from akg_core.sketch import ast
from akg_core.sketch.check import require
from akg_core.sketch.interpret import KernelCall, interpret
from akg_core.sketch.parse import parse

ROUGH = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2}

Results = tuple[tuple[Tensor, ...], dict[str, Tensor]]
"""What a program gives: its results, and its parameters by name as it leaves them."""


@dataclass
class Case:
    """A sketch with what it is run on. `static`: sizes folded into the kernels."""

    name: str
    text: str
    inputs: Sequence[Tensor]
    parameters: Mapping[str, Tensor] = field(default_factory=dict)
    schedule: Mapping[str, int | str] = field(default_factory=dict)
    static: bool = True
    tolerance: float = 3e-6


@dataclass(frozen=True)
class Launched(KernelCall):
    """A launch with its numbers, its kernel specialised as an emitter takes it, and sizes by dimension."""

    instance: Instance
    sizes: Mapping[str, int]


class Run:
    """A case's run, which notes the instance of every launch. Override `execute` to run what an emitter made of it."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.tree: ast.SketchFile = require(parse(case.text, case.name), case.name)
        self.instances: list[Instance] = []

    def execute(self, launched: Launched) -> None:
        """Do a launch, in place: here by the interpreter. Override it."""
        launched.interpret()

    def go(self) -> Results:
        """Results, and parameters as the program leaves them."""
        held = {name: tensor.clone() for name, tensor in self.case.parameters.items()}
        self.instances = []
        schedule = Schedule(values=dict(self.case.schedule))
        done = interpret(self.tree, list(self.case.inputs), held, schedule, perform=self._perform)
        return done.outputs, held

    def _perform(self, call: KernelCall) -> None:
        kernel, values = call.kernel, call.frame.values
        constants = {constant.name: values[constant.name].value.item() for constant in kernel.constants}
        sizes = {name: int(values[name].value) for name in kernel.dimensions}
        symbol = f"{self.case.name}_{len(self.instances)}"
        self.instances.append(specialise(kernel, constants, sizes if self.case.static else {}, symbol))
        self.execute(Launched(call.launch, kernel, call.tensors, call.frame, self.instances[-1], sizes))


def compare_all(found: Results, due: Results, tolerance: float) -> None:
    """AssertionError where a result or a parameter of `found` is not that of `due`."""
    assert len(found[0]) == len(due[0]), f"{len(found[0])} results where {len(due[0])} are due"
    for number, (ours, wanted) in enumerate(zip(found[0], due[0], strict=True)):
        compare(f"output {number}", ours, wanted, tolerance)
    for key, wanted in due[1].items():
        compare(key, found[1][key], wanted, tolerance)


def compare(what: str, found: Tensor, due: Tensor, tolerance: float) -> None:
    """AssertionError unless dtype and shape agree, and values: floats to `tolerance` of the largest, others exactly."""
    assert found.dtype == due.dtype and found.shape == due.shape, what
    if not due.dtype.is_floating_point:
        assert torch.equal(found, due), f"{what}: {int((found != due).sum())} of {due.numel()} differ"
        return
    finite = due.double().nan_to_num(0, 0, 0).abs()
    scale = float(finite.max()) if due.numel() else 0.0
    tolerance = max(tolerance, ROUGH.get(due.dtype, 0.0))
    torch.testing.assert_close(
        found.double(),
        due.double(),
        rtol=tolerance,
        atol=tolerance * scale,
        equal_nan=True,
        msg=lambda m: f"{what}: {m}",
    )


def retimed(case: Case) -> Case:
    """The case with its sizes left to the launch."""
    return replace(case, name=f"{case.name}_dynamic", static=False)
