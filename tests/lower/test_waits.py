"""Where the threads of a program wait between stores and updates of a tensor."""

from __future__ import annotations

import pytest

from akg_core.lower.specialise import instances
from akg_core.lower.tile.pipeline import tile_ir
from akg_core.lower.tile.waits import waits
from akg_core.records import Schedule
from akg_core.sketch.check import require
from akg_core.sketch.parse import parse
from akg_core.sketch.schedule import bind

STORE, ADD, MAX = "store(y[m, n], 0.0)", "atomic_add(y[m, load(i[m, n])], 1.0)", "atomic_max(y[m, load(i[m, n])], 1.0)"
FIRST = 6  # the line of the first of `lines`


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ([STORE], []),
        ([ADD, ADD], []),
        ([STORE, ADD], [1]),
        ([STORE, ADD, ADD, STORE], [1, 3]),
        ([ADD, MAX], [1]),
        ([STORE, "for k in range(3):", "    " + ADD], [1]),  # once, not in each turn
        (["for k in range(3):", "    " + STORE, "    " + ADD], [1, 2]),  # the next turn stores after this one's updates
        (["for k in range(3):", "    " + STORE, ADD, ADD], [2]),
        ([STORE, "if N > 3:", "    " + ADD, ADD], [1]),
        ([STORE, "if N > 3:", "    " + STORE, "    " + ADD, "else:", "    " + ADD, ADD], [3, 5, 6]),
        ([STORE, ADD, "store(z[m, n], 1.0)", "atomic_add(z[m, 0], 1.0)"], [1, 3]),
        ([STORE, "atomic_add(z[m, 0], 1.0)"], []),
        ([STORE, "store(s[m, n], load(s[m, 0]))", "atomic_add(s[m, 0], 1.0)"], []),  # waits for what it reads, anyway
    ],
)
def test_waits(lines: list[str], found: list[int]) -> None:
    text = f"""
@kernel
def f(i: In["i64", 8, 8], s: InOut["f32", 8, 8], z: InOut["f32", 8, 8], y: InOut["f32", "M", "N"]):
    for m in grid(M, 1):
        n = whole(N)
        {(chr(10) + " " * 8).join(lines)}


@program
def p(i: In["i64", 8, 8], x: In["f32", "M", "N"]):
    y = zeros("f32", M, N)
    z = zeros("f32", 8, 8)
    s = zeros("f32", 8, 8)
    f(i, s, z, y)
    return y, z, s
"""
    _, instance = instances(bind(require(parse(text)), Schedule()))[0]
    body, _ = tile_ir(instance, frozenset(), 1 << 20)
    (region,) = body.regions
    assert sorted(op.place.line - FIRST for op in waits(region)) == found
