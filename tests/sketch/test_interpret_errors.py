"""What does not fit is a SketchError that names the place in the sketch."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from akg_core.errors import SketchError
from akg_core.sketch.interpret import interpret
from akg_core.sketch.parse import parse


def run(text: str, *inputs: Tensor) -> tuple[Tensor, ...]:
    return interpret(parse(text), inputs).outputs


PROGRAM = """@kernel
def twice(x: In["f32", "A"], y: Out["f32", "A"], S: Const = 2):
    for a in grid(A, 2):
        store(y[a], load(x[a]) * S)

@program
def model(x: In["f32", "M", "2*M"], w: Param["fc.weight", "f32", "M"]):
    flat = reshape(x, "M*2*M")
    h = empty("f32", "M*2*M")
    twice(flat, h, S=0.5)
    v = empty("f32", M)
    twice(w, v, once=True)
    half = reshape(h, M, 2, M)
    return half, v
"""


def kernel(body: str) -> str:
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    return f"""@kernel
def k(x: In["f32", "M", "N"], y: Out["f32", "M"]):
    for m in grid(M, 2):
        n = whole(N)
        t = load(x[m, n])
{lines}
"""


@pytest.mark.parametrize(
    "body, message",
    [
        ("store(y[m], t)", "6:9: SK304 The value has the axis n"),
        ("store(y[m], reduce_sum(reduce_sum(t, n), n))", "6:21: SK302 There is no axis n"),
        ("store(y[m], late)", "6:21: SK205 `late` has no value here"),
        ("store(y[m, n], t)", "6:9: SK305 2 indices for a tensor of 1"),
        ("store(y[t], t)", "6:9: SK403 An index is an integer, not f32"),
        ("store(x[m, n], t)", "6:9: SK604 `x` is In"),
        ("store(y[m], reduce_sum(t, q))", "6:21: SK302 There is no axis q"),
        ("if t > 0:\n    store(y[m], 1)", "6:12: SK306 `if` asks a scalar"),
        ("for k in tiles(N, 0):\n    store(y[m], 1)", "6:27: SK506 A step of 0"),
        ("s = zeros([m])\nfor k in tiles(N, 2):\n    s = load(x[m, k])", "7:9: SK501 `s` is a f32 tile with axes m"),
        ("s = zeros([m])\nfor k in tiles(N, 2):\n    s = f64(s)", "7:9: SK502 `s` is f32"),
        ("store(y[m], t & 1)", "6:21: SK402"),
        ("store(y[m // (N - 5)], 0)", "6:17: SK402 An integer is divided by zero"),
        ("a, b = t + 1", "6:9: SK110 1 results for 2 names"),
        ("store(y[m], split(m, (2, 3)))", "6:21: SK110 This operation has several results"),
    ],
)
def test_what_does_not_fit_is_named_with_its_place(body: str, message: str) -> None:
    with pytest.raises(SketchError, match=message) as caught:
        run(kernel(body), torch.zeros(3, 5))
    assert caught.value.findings[0].line >= 6


def test_a_name_of_a_loop_ends_with_it() -> None:
    body = "for k in tiles(N, 2):\n    s = load(x[m, k])\nstore(y[m], s)"
    with pytest.raises(SketchError, match="8:21: SK205 `s`"):
        run(kernel(body), torch.zeros(3, 5))


def test_shapes_and_dtypes_are_checked() -> None:
    tree = parse(PROGRAM)
    w = torch.zeros(4)
    for inputs, parameters, message in [
        ([torch.zeros(4, 7)], {"fc.weight": w}, "Dimension 1 of `x` should be 8 and is 7"),
        ([torch.zeros(4, 8)], {"fc.weight": torch.zeros(5)}, "Dimension 0 of `w` should be 4 and is 5"),
        ([torch.zeros(4, 8).double()], {"fc.weight": w}, "`x` is f32 in the sketch and f64 here"),
        ([torch.zeros(4)], {"fc.weight": w}, "`x` has 2 dimensions in the sketch and 1 here"),
        ([], {"fc.weight": w}, "0 inputs are given; the program takes x"),
        ([torch.zeros(4, 8)], {"fc.weigth": w}, "No parameter 'fc.weight' is given. Did you mean 'fc.weigth'"),
    ]:
        with pytest.raises(SketchError, match=message):
            interpret(tree, inputs, parameters)


def test_a_launch_that_does_not_fit() -> None:
    for old, new, message in [
        ("twice(flat, h, S=0.5)", "twice(flat, S=0.5)", "SK802 `twice` takes 2 tensors, 1 are given"),
        ("twice(flat, h, S=0.5)", "twice(flat, h, T=0.5)", "SK802 `twice` has no Const `T`"),
        ("twice(flat, h, S=0.5)", "twice(flat, v, S=0.5)", "SK201 There is no tensor `v`"),
        ("twice(w, v, once=True)", "twice(w, h)", "SK807 Dimension 0 of `y` should be 4 and is 32"),
        ("twice(w, v, once=True)", "twice(h, x)", "SK807 `y` has 1 dimensions in the sketch and 2 here|SK805"),
        ('reshape(x, "M*2*M")', "narrow(x, 1, 0, 1)", "SK808 `flat` is a view that is not contiguous"),
        ("reshape(h, M, 2, M)", "reshape(h, M, 3, M)", "SK807 reshape of shape"),
    ]:
        text = PROGRAM.replace(old, new)
        assert text != PROGRAM
        with pytest.raises(SketchError, match=message):
            interpret(parse(text), [torch.zeros(4, 8)], {"fc.weight": torch.zeros(4)})
