"""What a sketch is interpreted on: small sizes, and the task's own where it is written for no others."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest

from akg_core.agents.stopwatch import Stopwatch
from akg_core.agents.verifier import Verifier
from akg_core.records import Schedule, Sketch, Task, Traits
from akg_core.stages import stages
from akg_core.task.capture import capture
from akg_core.task.scaling.scale import fitting
from akg_core.task.source import load

REFERENCE = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return x + 1
def get_inputs():
    return [torch.rand(4096, 4096)]
"""
NAMED = """
@kernel
def add(x: In["f32", "M", "N"], y: Out["f32", "M", "N"]):
    for m in grid(M, 1):
        for n in tiles(N, 64):
            store(y[m, n], load(x[m, n]) + 1)


@program
def model(x: In["f32", "M", "N"]):
    y = empty("f32", M, N)
    add(x, y)
    return y
"""
NUMBERS = (
    NAMED.replace('"M", "N"', "4096, 4096")
    .replace("(M,", "(4096,")
    .replace("(N,", "(4096,")
    .replace("M, N", "4096, 4096")
)


@pytest.mark.parametrize(
    ("text", "steps", "interpreted"), [(NAMED, 1e9, "small"), (NUMBERS, 1e9, "not"), (NUMBERS, 1e3, "whole")]
)
def test_which_sizes_a_sketch_is_interpreted_at(text, steps, interpreted, tmp_path, monkeypatch):
    whole = capture(load.load_source(REFERENCE, "add"))
    small = capture(load.load_source(fitting(REFERENCE, "add", 1 << 14)[0], "add"))
    assert small.interface.arguments[0].shape != whole.interface.arguments[0].shape
    seen: list[Task] = []

    def trial(pool: Any, task: Task, design: Any, seed: int) -> dict[str, Any]:
        seen.append(task)
        return {"outputs": []}

    sketch = Sketch(name="add", text=text, interface=whole.interface, origin="mine")
    designed = stages.Design(sketch=sketch, space=(), default=Schedule(values={}))
    monkeypatch.setattr(
        stages, "design", lambda pool, request, task, traits: stages.Designed(designs=(designed,), of=1)
    )
    monkeypatch.setattr(stages, "trial", trial)
    monkeypatch.setattr(stages, "steps", lambda pool, design, schedule, sizes: (steps,))
    request = stages.Request(reference=tmp_path / "add.py", plugin="", target=None)
    pipeline: Any = SimpleNamespace(
        pool=None, request=request, target="host", available=SimpleNamespace(traits=Traits())
    )
    verifier = Verifier(pipeline, SimpleNamespace(task=whole), None, tmp_path, None)
    verifier._small = Future()
    verifier._small.set_result(small)
    judged = verifier.sketch(text, Stopwatch())
    assert seen == {"small": [small], "whole": [whole], "not": []}[interpreted]
    assert judged.outcome == ("refused" if interpreted == "not" else "accepted")
    assert "Name the dimensions" in judged.feedback or judged.outcome == "accepted"
