"""How much a simulation of a sketch is: a count that grows with programs and turns, and with tiles that are large."""

from __future__ import annotations

from akg_core.lower.interpretation_steps import steps
from akg_core.sketch.check import require
from akg_core.sketch.parse import parse
from akg_core.sketch.schedule import default

ROWS = """
@kernel
def double(x: In["f32", ROWS, COLUMNS], y: Out["f32", ROWS, COLUMNS]):
    for m in grid(ROWS, 1):
        for n in tiles(COLUMNS, TILE):
            store(y[m, n], load(x[m, n]) * 2.0)


@program
def model(x: In["f32", ROWS, COLUMNS]):
    y = empty("f32", ROWS, COLUMNS)
    double(x, y)
    return y
"""


def counted(rows: int, columns: int, tile: int) -> float:
    text = ROWS.replace("ROWS", str(rows)).replace("COLUMNS", str(columns)).replace("TILE", str(tile))
    tree = require(parse(text, "rows"), "rows")
    return steps(tree, default(tree))


def test_steps_are_as_many_as_programs_and_turns():
    once = counted(1, 64, 64)
    assert 3 <= once < 20, "a load, a product, a store"
    assert 75 * once < counted(100, 64, 64) <= 100 * once
    assert 10 * once < counted(1, 1024, 64) <= 17 * once


def test_sizes_that_vary_count_as_much_as_they_are():
    text = ROWS.replace("ROWS, COLUMNS", '"M", "N"').replace("ROWS", "M").replace("COLUMNS", "N").replace("TILE", "64")
    tree = require(parse(text, "rows"), "rows")
    assert steps(tree, default(tree), {"M": 100, "N": 1024}) == counted(100, 1024, 64)
    assert steps(tree, default(tree), {"M": 10, "N": 64}) == counted(10, 64, 64)


def test_a_large_tile_takes_as_long_as_its_elements():
    assert counted(1, 1 << 10, 1 << 10) < 2 * counted(1, 1 << 6, 1 << 6)
    assert counted(1, 1 << 20, 1 << 20) > 10 * counted(1, 1 << 6, 1 << 6)


def test_programs_that_read_where_their_parts_are_have_an_axis_together():
    text = ROWS.replace(
        "tiles(COLUMNS, TILE)", "tiles(COLUMNS, TILE, start=load(at[begin(m)]), stop=load(at[begin(m) + 1]))"
    )
    text = text.replace("double(x:", 'double(at: In["i64", 65], x:').replace("model(x:", 'model(at: In["i64", 65], x:')
    text = text.replace("double(x,", "double(at, x,")
    for name, size in (("ROWS", 64), ("COLUMNS", 4096), ("TILE", 16)):
        text = text.replace(name, str(size))
    tree = require(parse(text, "parts"), "parts")
    assert steps(tree, default(tree)) < 2 * counted(64, 64, 16)


def test_a_loop_over_a_part_of_an_axis_has_as_many_turns_as_that():
    whole = ROWS.replace("grid(ROWS, 1)", "grid(ROWS, 4)")
    parts = whole.replace("tiles(COLUMNS, TILE)", "tiles(COLUMNS, TILE, start=begin(g), stop=end(g))")
    parts = parts.replace("        for n in", "        for g in grid(COLUMNS, 64):\n          for n in")

    def steps_of(text: str) -> float:
        for name, size in (("ROWS", 64), ("COLUMNS", 4096), ("TILE", 16)):
            text = text.replace(name, str(size))
        tree = require(parse(text, "parts"), "parts")
        return steps(tree, default(tree))

    assert steps_of(whole) < steps_of(parts) < 1.2 * steps_of(whole)
