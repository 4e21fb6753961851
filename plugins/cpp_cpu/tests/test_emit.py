"""What the emitter writes computes what the interpreter computes: small cases, the twelve sketches, random ones."""

from __future__ import annotations

from collections.abc import Iterator

import cases_along
import cases_maps
import cases_rest
import cases_windows
import pytest
from compiled import Batch, retimed
from random_sketch import sketch

STATIC = [*cases_maps.cases(), *cases_along.cases(), *cases_rest.cases(), *cases_rest.twelve(), *cases_windows.cases()]
SMALL = [*STATIC, *map(retimed, STATIC)]
RANDOM = [sketch(seed) for seed in range(60)]


@pytest.fixture(scope="module")
def small() -> Iterator[Batch]:
    yield Batch(SMALL, files=6)


@pytest.fixture(scope="module")
def random() -> Iterator[Batch]:
    yield Batch(RANDOM, files=4)


@pytest.mark.parametrize("name", [case.name for case in SMALL])
def test_small(small: Batch, name: str) -> None:
    small.check(name)


@pytest.mark.parametrize("name", [case.name for case in RANDOM])
def test_random(random: Batch, name: str) -> None:
    random.check(name)
