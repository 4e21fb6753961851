"""What a task is refused for, all of it, before anything is made."""

from __future__ import annotations

from akg_core.design.trace import refusals
from akg_core.task.capture import capture
from akg_core.task.source.load import load_source
from tests.design.judging import reference

TWO = """    def forward(self, x):
        first = torch.linalg.pinv(x)
        both = torch.relu(first) + torch.linalg.eigvalsh(x)
        return torch.linalg.pinv(both)"""


def test_every_operator_without_a_rule_is_named_with_its_line() -> None:
    task = capture(load_source(reference(TWO, "[torch.rand(4, 4)]"), "reference"))
    said = refusals(task)
    assert [(text.split("`")[1], text.partition("(")[2][:7]) for text in said] == [
        ("torch.linalg.pinv", "line 9)"),
        ("torch.linalg.eigvalsh", "line 10"),
        ("torch.linalg.pinv", "line 11"),
    ], said


def test_nothing_is_said_where_all_have_rules() -> None:
    source = reference("    def forward(self, x):\n        return torch.relu(x).sum(1)", "[torch.rand(4, 4)]")
    assert refusals(capture(load_source(source, "reference"))) == ()
