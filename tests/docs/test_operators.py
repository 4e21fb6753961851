"""docs/operators.md is what the rules make of it."""

from __future__ import annotations

from pathlib import Path

from akg_core.design.graph.rules import RULES
from akg_core.report.operators import operators_by_family, page

PAGE = Path(__file__).parents[2] / "docs" / "operators.md"


def test_the_page_is_made_from_the_rules() -> None:
    assert PAGE.read_text() == page(), "akg-core docs operators > docs/operators.md"


def test_every_rule_is_on_it() -> None:
    listed = [operator for rules in operators_by_family().values() for operator in rules]
    assert sorted(listed) == sorted(operator.removeprefix("aten.") for operator in RULES)
