"""Which tensors a region only joins updates to, and where no two programs update the same place."""

from __future__ import annotations

import pytest

from akg_core.lower.build import body_of
from akg_core.lower.loops.updates import owned, updates
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
    assert updates(region.ops, region.grid) == found


@pytest.mark.parametrize(
    ("grid", "place", "found"),
    [
        ("for m in grid(4, 1):\n        n = whole(8)\n", "m, load(i[m, n])", True),
        ("for m in grid(4, 2):\n        n = whole(8)\n", "m, load(i[m, n])", True),
        ("for m in grid(4, 1):\n        for n in grid(8, 4):\n            pass\n", "m, load(i[m, n])", False),
        ("for m in grid(4, 1):\n        n = whole(8)\n", "load(i[m, n]) // 8, load(i[m, n])", False),
        ("for m in grid(4, 4):\n        n = whole(8)\n", "load(i[m, n]) // 8, load(i[m, n])", True),
        ("for m in grid(4, 1):\n        n = whole(8)\n", "m, 0], 1.0)\n        atomic_add(y[0, m", False),
    ],
)
def test_programs_that_have_places_to_themselves(grid: str, place: str, found: bool) -> None:
    within = "            " if "pass" in grid else "        "
    text = f"""
@kernel
def f(i: In["i64", 4, 8], y: InOut["f32", 4, 8]):
    {grid.replace("            pass" + chr(10), "")}{within}atomic_add(y[{place}], 1.0)


@program
def p(i: In["i64", 4, 8]):
    y = zeros("f32", 4, 8)
    f(i, y)
    return y
"""
    _, instance = instances(bind(require(parse(text)), Schedule()))[0]
    (region,) = body_of(instance).regions
    assert owned(region.ops, "y", region.grid) == found
