"""The schedule space of a sketch, and schedules bound to it."""

from __future__ import annotations

import pytest

from akg_core.errors import SketchError
from akg_core.records import Choice, Schedule
from akg_core.sketch import ast
from akg_core.sketch.parse import parse
from akg_core.sketch.program import program_of
from akg_core.sketch.schedule import bind, default, space
from akg_core.sketch.show import show

TEXT = """
@kernel
def one(x: In["f32", "M"], y: Out["f32", "M"], BM: Tune[8, 16] = 16, P: Tune["ieee", "fast"]="fast"):
    for m in grid(M, BM, warps=Tune[2, 4]):
        t = load(x[m])
        d = dot(t, t, over=m, precision=P)
        store(y[m], t * d)

@kernel
def two(x: In["f32", "M"], y: Out["f32", "M"], BM: Tune[1, 2] = 1):
    for m in grid(M, BM):
        store(y[m], load(x[m]))

@program
def main(x: In["f32", "M"]):
    y = empty("f32", M)
    one(x, y)
    z = empty("f32", M)
    two(y, z)
    return z
"""
TREE = parse(TEXT)


def test_space_and_default() -> None:
    assert space(TREE) == (
        Choice(key="one.BM", choices=(8, 16), default=16),
        Choice(key="one.P", choices=("ieee", "fast"), default="fast"),
        Choice(key="one.m.warps", choices=(2, 4), default=2),
        Choice(key="two.BM", choices=(1, 2), default=1),
    )
    assert default(TREE).values == {"one.BM": 16, "one.P": "fast", "one.m.warps": 2, "two.BM": 1}


def test_bind_puts_values_in_place() -> None:
    bound = bind(TREE, Schedule(values={"one.BM": 8, "one.m.warps": 4, "two.BM": 2}))
    assert space(bound) == () and "Tune" not in show(bound)
    text = show(bound)
    assert "grid(M, 8, warps=4)" in text and 'precision="fast"' in text and "grid(M, 2)" in text
    assert bound.kernels[0].body[0].place == TREE.kernels[0].body[0].place


def test_bind_without_a_schedule_takes_defaults() -> None:
    assert bind(TREE) == bind(TREE, default(TREE))


@pytest.mark.parametrize(
    "values, words",
    [({"one.BN": 8}, "'one.BM'"), ({"one.BM": 9}, "Choices: 8, 16"), ({"one.P": 1}, "Choices: 'ieee', 'fast'")],
)
def test_bind_refuses(values: dict, words: str) -> None:
    with pytest.raises(SketchError) as caught:
        bind(TREE, Schedule(values=values))
    assert words in str(caught.value)


def test_implied_program() -> None:
    text = '@kernel\ndef k(x: In["f32", "M"], y: Out["f32", "M"], s: Scratch["f32", "M"], i: In["i64"]):\n    pass\n'
    program = program_of(parse(text))
    assert [t.name for t in program.tensors] == ["x", "i"]
    assert [type(node) for node in program.body] == [ast.Allocate, ast.Allocate, ast.Launch, ast.Return]
    assert program.body[-1] == ast.Return(("y",))
    assert program.body[-2] == ast.Launch("k", ("x", "y", "s", "i"))


@pytest.mark.parametrize("parameters", ['x: InOut["f32", "M"]', 'y: Out["f32", 3], S: Const'])
def test_no_implied_program(parameters: str) -> None:
    with pytest.raises(SketchError, match="SK801"):
        program_of(parse(f"@kernel\ndef k({parameters}):\n    pass\n"))
