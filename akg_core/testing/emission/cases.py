"""The cases that every emitter is held against: by family, all small ones, and random ones."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from akg_core.testing.emission.random_sketch import sketch
from akg_core.testing.emission.running import Case, retimed

FAMILIES = tuple(sorted(path.stem for path in Path(__file__).parent.glob("families/[a-z]*.py")))
"""The names of the families, each a module of `families` that says what is in it."""


def family(name: str) -> Iterator[Case]:
    """The cases of one family with their sizes known, the most typical first, each made when it is asked for."""
    yield from importlib.import_module(f"{__package__}.families.{name}").cases()


@cache
def small() -> list[Case]:
    """The cases of all families, each with its sizes known and left to the launch."""
    known = [case for name in FAMILIES for case in family(name)]
    return [*known, *map(retimed, known)]


def random(count: int) -> list[Case]:
    """Sketches drawn at random, the same each time."""
    return [sketch(seed) for seed in range(count)]
