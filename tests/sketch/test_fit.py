from __future__ import annotations

import pytest

from akg_core.errors import SketchError
from akg_core.records import Argument, Graph, Interface, Parameter, Task
from akg_core.sketch.check.interface import require_fit
from akg_core.sketch.parse import parse

TASK = Task(
    name="scale",
    source="",
    interface=Interface(
        arguments=(
            Argument(name="x", kind="tensor", dtype="f32", shape=(4, "s0")),
            Argument(name="rounds", kind="constant", value=3),
            Argument(name="factor", kind="number", dtype="f64"),
        ),
        parameters=(Parameter(name="fc.weight", dtype="f32", shape=(7,)),),
    ),
    graph=Graph(values={}, nodes=(), outputs=("%y",)),
)


def sketch(
    inputs: str = 'x: In["f32", "M", "N"], f: In["f64"]', weight: str = '"fc.weight", "f32", "K"', result: str = "y"
):
    return parse(f"""
@kernel
def scale(x: In["f32", "M", "N"], f: In["f64"], y: Out["f32", "M", "N"]):
    for m in grid(M, 1):
        n = whole(N)
        store(y[m, n], load(x[m, n]) * f32(load(f)))

@program
def model({inputs}, w: Param[{weight}]):
    y = empty("f32", M, N)
    scale(x, f, y)
    return {result}
""")


def test_a_sketch_that_serves_the_task_passes():
    require_fit(sketch(), TASK)
    require_fit(sketch('x: In["f32", 4, "N"], f: In["f64"]'), TASK)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"inputs": 'x: In["f32", "M", "N"]'}, "takes 1 inputs, but forward of scale takes 2: x, factor"),
        ({"inputs": 'x: In["f16", "M", "N"], f: In["f64"]'}, "argument x as f16, but it is f32"),
        ({"inputs": 'x: In["f32", "N"], f: In["f64"]'}, "argument x as 1-dimensional"),
        ({"inputs": 'x: In["f32", 5, "N"], f: In["f64"]'}, "of size 5 in dimension 0, but it is 4"),
        ({"weight": '"fc.weigth", "f32", "K"'}, "'fc.weigth', which Model does not have.*Did you mean 'fc.weight'"),
        ({"weight": '"fc.weight", "f32", 8'}, "of size 8 in dimension 0, but it is 7"),
        ({"result": "y, x"}, "returns 2 tensors, but forward of scale returns 1"),
    ],
)
def test_a_sketch_that_does_not_is_refused_with_the_place(arguments, said):
    with pytest.raises(SketchError, match=said) as raised:
        require_fit(sketch(**arguments), TASK)
    assert raised.value.message[0].isdigit(), "the message begins with the line"
