"""Which tensors a region only joins updates to."""

from __future__ import annotations

import pytest

from akg_core.lower.build import body_of
from akg_core.lower.loops.updates import updates
from akg_core.lower.specialise import instances
from akg_core.records import Schedule
from akg_core.sketch.check import require
from akg_core.sketch.parse import parse
from akg_core.sketch.schedule import bind


@pytest.mark.parametrize(
    "lines, found",
    [
        ("atomic_add(y[load(i[n])], 1.0)", {"y": "atomic_add"}),
        ("for k in range(3):\n            atomic_max(y[load(i[n]) + k], 1.0)", {"y": "atomic_max"}),
        ("atomic_add(y[load(i[n])], 1.0)\n        atomic_max(y[0], 1.0)", {}),
        ("store(y[n], 0.0)\n        atomic_add(y[0], 1.0)", {}),
        ("atomic_add(y[load(i[n])], load(y[0]))", {}),
        ("store(y[n], 1.0)", {}),
    ],
)
def test_updates(lines: str, found: dict[str, str]) -> None:
    text = f"""
@kernel
def f(i: In["i64", 8], y: InOut["f32", 8]):
    for n in grid(8, 1):
        {lines}


@program
def p(i: In["i64", 8]):
    y = zeros("f32", 8)
    f(i, y)
    return y
"""
    _, instance = instances(bind(require(parse(text)), Schedule()))[0]
    (region,) = body_of(instance).regions
    assert updates(region.ops) == found
