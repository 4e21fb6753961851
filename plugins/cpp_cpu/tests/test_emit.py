"""What the emitter writes computes what the interpreter computes: small cases, the twelve sketches, random ones."""

from __future__ import annotations

import pytest
from compiled import Batch

from akg_core.testing.emission import cases

SMALL = cases.small()
RANDOM = cases.random(60)


@pytest.fixture(scope="module")
def small() -> Batch:
    return Batch(SMALL, files=6)


@pytest.fixture(scope="module")
def random() -> Batch:
    return Batch(RANDOM, files=4)


@pytest.mark.parametrize("name", [case.name for case in SMALL])
def test_small(small: Batch, name: str) -> None:
    small.check(name)


@pytest.mark.parametrize("name", [case.name for case in RANDOM])
def test_random(random: Batch, name: str) -> None:
    random.check(name)
