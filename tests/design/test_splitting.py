"""When several programs share the results of a reduction, and how much they hand to each other."""

from __future__ import annotations

import math

import pytest

from akg_core.sketch.ast import Number
from akg_core.sketch.parse import parse
from tests.design.judging import HELD, SMALL, designed, forward, judge, reference


def test_a_chunk_that_is_all_is_no_chunk() -> None:
    source = reference(forward("x.mean((2, 3)) + x[0, :, 0, 0]"), "[torch.randn(4, 32, 30, 40)]")
    outcome = judge(source, traits=SMALL.model_copy(update={"units": 2}))
    assert set(outcome.kernels) == {1}


@pytest.mark.parametrize(
    ("line", "shape", "kernels"),
    [
        ("F.group_norm(x, 8, weight=x[0], bias=x[1])", "(48, 32)", 1),  # rows, whose last dim has one position
        ("x.softmax(1)", "(2, 24, 200)", 1),
        ("x.amin(1)", "(2, 100, 150)", 1),
        ("x.amin(1)", "(1, 1000, 150)", 2),
    ],
)
def test_short_columns_are_not_split(line: str, shape: str, kernels: int) -> None:
    outcome = judge(reference(forward(line), f"[torch.randn{shape}]"), traits=HELD)
    assert outcome.kernels[0] == kernels


@pytest.mark.parametrize(("line", "states"), [("x.sum(0)", 1), ("x.var(0)", 3)])
def test_programs_hand_over_little_of_what_they_read(line: str, states: int) -> None:
    shape = (1200, 128)
    text = designed(reference(forward(line), f"[torch.randn{shape}]"), HELD)
    (parts,) = (k for k in parse(text).kernels if k.name.endswith("_parts"))
    written = [[d.value for d in t.dims if isinstance(d, Number)] for t in parts.tensors if t.role == "Out"]
    assert len(written) == states
    assert sum(map(math.prod, written)) * 30 <= states * math.prod(shape)
