"""What a task is refused for, all of it, before anything is made."""

from __future__ import annotations

import pytest

from akg_core.design import policies, variant
from akg_core.design.trace import refusals
from akg_core.errors import DesignerFailed
from akg_core.stages.stage_jobs import design_job
from akg_core.task.capture import capture
from akg_core.task.source.load import load_source
from tests.design.judging import USUAL, forward, reference

TWO = """    def forward(self, x):
        first = torch.special.bessel_j0(x)
        both = torch.relu(first) + torch.linalg.ldl_factor(x)[0]
        return torch.special.bessel_j0(both)"""


def test_every_operator_without_a_rule_is_named_with_its_line() -> None:
    task = capture(load_source(reference(TWO, "[torch.rand(4, 4)]"), "reference"))
    said = refusals(task)
    assert [(text.split("`")[1], text.partition("(")[2][:7]) for text in said] == [
        ("torch.special.bessel_j0", "line 9)"),
        ("torch.linalg.ldl_factor", "line 10"),
        ("torch.special.bessel_j0", "line 11"),
    ], said


def test_nothing_is_said_where_all_have_rules() -> None:
    source = reference("    def forward(self, x):\n        return torch.relu(x).sum(1)", "[torch.rand(4, 4)]")
    assert refusals(capture(load_source(source, "reference"))) == ()


def test_a_fault_of_the_designer_is_none_of_the_users(monkeypatch) -> None:
    task = capture(load_source(reference(forward("x.exp()"), "[torch.randn(5)]"), "reference"))
    sketch = variant(task, USUAL, policies(USUAL)[0])
    faulty = sketch.model_copy(update={"text": sketch.text.replace("exp(", "expo(")})
    monkeypatch.setattr("akg_core.design.variant", lambda task, traits, policy: faulty)
    with pytest.raises(DesignerFailed, match="made a sketch with a fault, which is none of yours") as told:
        design_job.run("", None, task, USUAL, 0, None)
    assert told.value.exit_code == 1 and told.value.cure.startswith("Please report it")
