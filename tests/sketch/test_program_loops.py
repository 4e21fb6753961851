"""Loops of programs: what they may hold, and what the checker and the interpreter make of them."""

from __future__ import annotations

import pytest
import torch

from akg_core.errors import SketchError
from akg_core.lower.resources.work import work
from akg_core.lower.specialise import instances
from akg_core.records import Schedule
from akg_core.sketch.check import check, require
from akg_core.sketch.interpret import interpret
from akg_core.sketch.parse import parse
from akg_core.sketch.show import show

TEXT = """
@kernel
def step(before: In["f32", "M", "N"], after: Out["f32", "M", "N"], T: Const = 0):
    for m in grid(M, 1):
        n = whole(N)
        store(after[m, n], load(before[m, n]) * 2 + T)


@program
def main(x: In["f32", 3, 8]):
    y = zeros("f32", 15, 8)
{body}
    return y
"""
DOUBLING = """
    for t in range(4):
        before = narrow(y, 0, t * 3, 3)
        after = narrow(y, 0, (t + 1) * 3, 3)
        step(before, after, T=t)
"""


def sketch(body: str) -> str:
    return TEXT.format(body=body.strip("\n"))


def test_each_turn_goes_on_from_the_one_before() -> None:
    tree = parse(sketch(DOUBLING))
    assert parse(show(tree)) == tree
    assert check(tree).findings == ()
    (y,) = interpret(tree, [torch.zeros(3, 8)]).outputs
    assert [float(y[3 * t, 0]) for t in range(5)] == [0, 0, 1, 4, 11]


@pytest.mark.parametrize(
    ("dtype", "lines", "code"),
    [
        ("f64", "return z", "SK807"),
        ("i64", "step(z, y)\n    return y", "SK808"),
        ("i64", "z = expand(y, n, 8)\n    return z", "SK807"),
        ("i64", "v = reshape(z, 2, n, 8)\n    return v", ""),
    ],
)
def test_a_view_whose_length_a_tensor_says_is_returned_alone(dtype: str, lines: str, code: str) -> None:
    text = TEXT.partition("@program")[0] + (
        f'@program\ndef main(x: In["f32", 3, 8], n: In["{dtype}"]):\n    y = empty("f32", 3, 8)\n    step(x, y)\n'
        f"    z = narrow(y, 0, 0, 2 * n)\n    {lines}\n"
    )
    tree = parse(text)
    assert code in {f.code for f in check(tree).findings} | ({""} if not check(tree).findings else set())
    if not code:
        assert interpret(tree, [torch.ones(3, 8), torch.tensor(1)]).outputs[0].shape == (2, 1, 8)


def test_loops_nest_and_step() -> None:
    nested = """
    for a in range(2):
        for b in range(a, 4, 2):
            before = narrow(y, 0, b * 3, 3)
            after = narrow(y, 0, b * 3 + 3, 3)
            step(before, after, T=10 * a + b)
    """
    tree = parse(sketch(nested))
    assert check(tree).findings == ()
    (y,) = interpret(tree, [torch.zeros(3, 8)]).outputs
    assert [float(y[3 * t, 0]) for t in range(5)] == [0, 0, 11, 2, 17]


def test_a_launch_in_a_loop_counts_once_a_turn() -> None:
    tree = require(parse(sketch(DOUBLING)))
    ((call, _),) = instances(tree)
    assert call.turns == 4
    assert [each.turns for each in work(tree, Schedule())] == [4]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("    for t in range(4):\n        z = empty('f32', 8)", "SK109"),
        ("    for t in range(4):\n        step(x, y, once=True)", "SK109"),
        ("    for t in range(4):\n        return y", "SK109"),
        ("    for t in grid(4):\n        step(x, y)", "SK106"),
        ("    for t in range(4, stages=2):\n        step(x, y)", "SK106"),
    ],
)
def test_what_no_loop_of_a_program_holds(body: str, code: str) -> None:
    with pytest.raises(SketchError) as caught:
        parse(sketch(body))
    assert caught.value.findings[0].code == code


@pytest.mark.parametrize(
    ("start", "code"),
    [("t * 3 + 2", "SK802"), ("t * 3", "SK802"), ("s", "SK806")],
)
def test_rows_that_are_read_and_written_lie_apart(start: str, code: str) -> None:
    body = DOUBLING.replace("(t + 1) * 3", start)
    assert code in [found.code for found in check(parse(sketch(body))).findings]


RESHAPED = """
    flat = reshape(y, 30, 4)
    wide = {view}
    for t in range(4):
        before = narrow(flat, 0, t * 6, 6)
        rest = narrow(wide, 0, t + 1, 4 - t)
        after = narrow(rest, 0, {first}, 1)
        after_rows = reshape(after, 6, 4)
        step(before, after_rows, T=t)
"""


@pytest.mark.parametrize(
    ("view", "first", "codes"),
    [
        ("reshape(y, 5, 3, 8)", "0", []),
        ("reshape(y, 5, 3, 8)", "t - 1", ["SK802"]),
        ("permute(y, 1, 0)", "0", ["SK802"]),
    ],
)
def test_rows_of_views_of_one_tensor_may_lie_apart(view: str, first: str, codes: list[str]) -> None:
    text = RESHAPED.format(view=view, first=first)
    found = [each.code for each in check(parse(sketch(text))).findings if each.code == "SK802"]
    assert found == codes
    if not codes:
        x = torch.randn(3, 8)
        assert interpret(parse(sketch(text)), [x], {}).outputs[0].shape == (15, 8)


def test_views_and_counters_end_with_their_loop() -> None:
    after = DOUBLING + "    z = narrow(before, 0, t, 1)\n"
    codes = [found.code for found in check(parse(sketch(after))).findings]
    assert "SK201" in codes


def test_names_of_loops_are_new() -> None:
    codes = [found.code for found in check(parse(sketch(DOUBLING.replace("for t", "for y")))).findings]
    assert "SK203" in codes
