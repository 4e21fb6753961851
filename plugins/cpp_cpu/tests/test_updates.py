"""How programs join updates to a tensor, by how they may meet."""

from __future__ import annotations

import pytest
from akg_plugin_cpp_cpu.emit import emit

from akg_core.plugin import Schedule, Sketch, Target
from akg_core.records import Interface

KERNEL = """
@kernel
def joined(at: In["i64", 64], x: In["f32", 64, 400], y: InOut["f32", 8, 400]):
    {rows}
        {columns}
        atomic_add(y[{place}, n], load(x[m, n]))
"""
PROGRAM = """
@program
def model(at: In["i64", 64], x: In["f32", 64, 400]):
    y = zeros("f32", 8, 400)
    joined(at, x, y)
    return y
"""


@pytest.mark.parametrize(
    ("rows", "columns", "place", "meet"),
    [
        ("for m in grid(64, 4):", "n = whole(400)", "load(at[m])", "IN_ROWS"),
        ("for m in grid(64, 4):", "n = whole(400)", "load(at[m]) + n % 2", "ANYWHERE"),
        ("for n in grid(400, 16):", "m = whole(64)", "load(at[m])", "NOWHERE"),
        ("if True:", "m = whole(64)\n        n = whole(400)", "load(at[m])", "NOWHERE"),
    ],
    ids=["rows", "lane by lane", "columns of their own", "one program"],
)
def test_programs_meet_where_they_may(rows: str, columns: str, place: str, meet: str) -> None:
    kernel = KERNEL.format(rows=rows, columns=columns, place=place)
    if rows == "if True:":
        kernel = kernel.replace("    if True:\n", "").replace("        ", "    ")
    sketch = Sketch(name="joined", text=kernel + PROGRAM, interface=Interface(arguments=()))
    text = emit(sketch, Schedule(), Target(backend="cpu")).files["kernel.cpp"]
    assert f"Updates<f32, Add, Meet::{meet}> y_updates(y" in text and "scatter_add" not in text
