"""The cases that every emitter is held against."""

from __future__ import annotations

from functools import cache

from tests.emission import (
    cases_along,
    cases_bools,
    cases_hints,
    cases_maps,
    cases_products,
    cases_rest,
    cases_taps,
    cases_windows,
)
from tests.emission.random_sketch import sketch
from tests.emission.running import Case, retimed


@cache
def small() -> list[Case]:
    """Small cases by family and the twelve sketches, each with its sizes known and left to the launch."""
    families = (
        cases_maps,
        cases_bools,
        cases_along,
        cases_rest,
        cases_windows,
        cases_hints,
        cases_taps,
        cases_products,
    )
    known = [*(case for family in families for case in family.cases()), *cases_rest.twelve()]
    return [*known, *map(retimed, known)]


def random(count: int) -> list[Case]:
    """Sketches drawn at random, the same each time."""
    return [sketch(seed) for seed in range(count)]
