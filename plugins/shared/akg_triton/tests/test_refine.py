"""Products of f32 that leave their precision open get tensor cores; everything else stays as it is."""

from __future__ import annotations

import pytest
import torch
from akg_triton.refine import refine

from akg_core.plugin import Interface, Sketch
from akg_core.plugin.sketch import default, parse, space
from akg_core.sketch.interpret import interpret

PRODUCT = """
@kernel
def mm(a: In["f32", "M", "K"], b: In["f32", "K", "N"], y: Out["f32", "M", "N"]):
    for m in grid(M, 64):
        for n in grid(N, 64):
            acc = zeros([m, n])
            for k in tiles(K, 32):
                acc = dot(load(a[m, k]), load(b[k, n]), over=k, into=acc)
            store(y[m, n], acc)
"""
VECTOR = """
@kernel
def mv(a: In["f32", "M", "K"], v: In["f32", "K"], y: Out["f32", "M"]):
    for m in grid(M, 64):
        k = whole(K)
        store(y[m], dot(load(a[m, k]), load(v[k]), over=k))
"""


def refined(text: str) -> tuple[str, ...]:
    return tuple(s.text for s in refine(Sketch(name="test", text=text, interface=Interface(arguments=())), "tf32"))


def test_compensated_products_come_first_then_plain_ones_then_rounded_ones() -> None:
    compensated, plain, rounded = map(parse, refined(PRODUCT))
    (choice,) = space(compensated)
    assert choice.key == "mm.acc.precision" and choice.choices == ("split3", "ieee")
    assert default(compensated).values == {"mm.acc.precision": "split3"} and not space(rounded)
    a, b = torch.randn(40, 30), torch.randn(30, 20)
    torch.testing.assert_close(interpret(compensated, [a, b]).outputs[0], a @ b)
    error = (interpret(rounded, [a, b]).outputs[0] - a @ b).abs().max()
    assert 1e-5 < error < 5e-2, "rounded to ten bits"
    assert not space(plain) and 'precision="ieee"' in refined(PRODUCT)[1]
    torch.testing.assert_close(interpret(plain, [a, b]).outputs[0], a @ b)
    sketches = refine(Sketch(name="test", text=PRODUCT, interface=Interface(arguments=())), "tf32")
    assert [each.rounds for each in sketches] == ["", "", "tf32"], "what judging one tells of others"


@pytest.mark.parametrize(
    "text",
    [PRODUCT.replace("into=acc)", 'into=acc, precision="ieee")'), VECTOR, PRODUCT.replace('In["f32"', 'In["bf16"')],
    ids=["chosen", "without columns", "narrow"],
)
def test_other_sketches_stay(text: str) -> None:
    assert refined(text) == (text,)
