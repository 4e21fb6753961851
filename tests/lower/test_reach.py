"""How far along an axis anything is used."""

from __future__ import annotations

import pytest

from akg_core.lower.build import body_of
from akg_core.lower.reach import reach, reach_of
from akg_core.lower.specialise import instances
from akg_core.records import Schedule
from akg_core.sketch.check import require
from akg_core.sketch.parse import parse
from akg_core.sketch.schedule import bind


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("store(few[m, n], ordered)", 8),
        ("store(few[m, n], ordered)\n        store(more[m, n], ordered + 1)", 20),
        ("store(few[m, n + 1], ordered)", None),  # which begins elsewhere
        ("store(few[m, n // 4], ordered)", None),
        ("store(few[m, 0], reduce_max(ordered, n))", None),
        ("store(few[m, n], ordered)\n        store(more[m, 0], reduce_max(ordered, n))", None),
        ("if begin(m) > 2:\n            store(few[m, n], ordered)", None),
    ],
)
def test_of_a_sorted_row_only_the_first_may_be_stored(lines: str, found: int | None) -> None:
    text = f"""
@kernel
def first(x: In["i64", 6, 40], few: InOut["i64", 6, 8], more: InOut["i64", 6, 20]):
    for m in grid(6, 1):
        n = whole(40)
        ordered = sort(load(x[m, n]), n)
        {lines}


@program
def model(x: In["i64", 6, 40]):
    few = zeros("i64", 6, 8)
    more = zeros("i64", 6, 20)
    first(x, few, more)
    return few, more
"""
    _, instance = instances(bind(require(parse(text)), Schedule()))[0]
    body = body_of(instance)
    (sort,) = (op for op in body.ops() if op.kind == "sort")
    (axis,) = sort.over
    assert reach_of(body, sort.result, axis) == found
    stores = [op for op in body.ops() if op.kind == "store"]
    if found:
        assert reach(body, stores, axis) == found
        assert reach(body, [sort, *stores], axis) is None
