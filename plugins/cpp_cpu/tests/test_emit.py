"""What the emitter writes computes what the interpreter computes."""

from __future__ import annotations

import pytest
from compiled import Batch, retimed
from emit_cases import cases

CASES = cases()
BOTH = [*CASES, *(retimed(case) for case in CASES)]


@pytest.fixture(scope="module")
def batch() -> Batch:
    return Batch(BOTH, files=4)


@pytest.mark.parametrize("name", [case.name for case in BOTH])
def test_case(batch: Batch, name: str) -> None:
    batch.check(name)
