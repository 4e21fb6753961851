"""What kernels carry in f64 they carry in f32 on these chips; tensors keep their dtype."""

from __future__ import annotations

import math

import torch
from akg_plugin_triton_ascend.emit import emit
from akg_plugin_triton_ascend.refine import refine

from akg_core.plugin import Schedule, Target
from akg_core.plugin.sketch import parse, require
from akg_core.sketch.interpret import interpret
from akg_core.testing.emission.sketches import sketch_of

RUNNING = """
@kernel
def running(x: In["f32", 37, 1000], y: Out["f32", 37, 1000]):
    for m in grid(37, 1):
        before = full([m], 0, "f64")
        for n in tiles(1000, 256):
            within = scan_sum(load(x[m, n]), n)
            store(y[m, n], within + f32(before))
            before = before + f64(last(within, n))
"""

COMPARED = """
@kernel
def compared(x: In["f64", 8], t: In["f64", 8], y: Out["bool", 6, 8]):
    for m in grid(8, 8):
        store(y[0, m], bool(load(x[m])))
        store(y[1, m], load(x[m]) == -2)
        store(y[2, m], load(x[m]) != load(t[m]))
        store(y[3, m], load(x[m]) == 0.0)
        store(y[4, m], load(x[m]) > load(t[m]))
        store(y[5, m], -1.5 >= load(x[m]))
"""

HANDED_ON = """
@kernel
def sums(x: In["f32", 64, 1000], t: Out["f64", 64]):
    for m in grid(64, 1):
        n = whole(1000)
        store(t[m], reduce_sum(f64(load(x[m, n])), n))


@kernel
def spread(t: In["f64", 64], y: Out["f32", 64]):
    for m in grid(64, 64):
        store(y[m], f32(load(t[m])))


@program
def model(x: In["f32", 64, 1000]):
    t = empty("f64", 64)
    sums(x, t)
    y = empty("f32", 64)
    spread(t, y)
    t_view = reshape(t, 8, 8)
    return y
"""


def test_a_carried_sum_is_in_f32() -> None:
    (view,) = refine(sketch_of(RUNNING))
    assert "f64" not in view.text and 'full([m], 0, "f32")' in view.text
    assert "tl.float64" not in emit(view, Schedule(), Target(backend="ascend")).files["kernel.py"]


def test_beside_a_float_argument_too() -> None:
    scaled = RUNNING.replace("(x: In", '(s: In["f64"], x: In').replace("load(x[m, n])", "load(x[m, n]) * f32(load(s))")
    tensors = sketch_of(scaled)
    number, *others = tensors.interface.arguments
    arguments = (number.model_copy(update={"kind": "number"}), *others)
    sketch = tensors.model_copy(update={"interface": tensors.interface.model_copy(update={"arguments": arguments})})
    (view,) = refine(sketch)
    assert 'full([m], 0, "f32")' in view.text and 's: In["f64"]' in view.text
    (view,) = refine(tensors)  # a tensor of f64 without dimensions
    module = emit(view, Schedule(), Target(backend="ascend")).files["model_new.py"]
    assert "f32(load(s))" in view.text and "s.view(torch.int64), x, y" in module


def test_tensors_of_f64_stay_and_what_has_none_is_as_it_was() -> None:
    gives = sketch_of(RUNNING.replace('Out["f32"', 'Out["f64"'))
    plain = sketch_of(RUNNING.replace("f64", "f32"))
    assert refine(gives) == (gives,) and refine(plain) == (plain,)


def test_what_comes_in_as_f64_is_read_as_f32() -> None:
    (view,) = refine(sketch_of(RUNNING.replace('In["f32"', 'In["f64"')))
    assert 'x: In["f64", 37, 1000]' in view.text and 'full([m], 0, "f32")' in view.text
    assert "scan_sum(f32(load(x[m, n])), n)" in view.text
    files = emit(view, Schedule(), Target(backend="ascend")).files
    assert "narrowed(" in files["kernel.py"] and '"x": "i64"' in files["launches.json"]
    (handed,) = refine(sketch_of(HANDED_ON.replace('x: In["f32"', 'x: In["f64"')))
    assert 'x: In["f64", 64, 1000], t: Out["f32", 64]' in handed.text and 'empty("f32", 64)' in handed.text


def test_what_kernels_hand_to_each_other_is_in_f32_unless_it_is_given_back() -> None:
    (view,) = refine(sketch_of(HANDED_ON))
    assert "f64" not in view.text and 'empty("f32", 64)' in view.text
    kept = sketch_of(HANDED_ON.replace("return y", "return y, t_view"))
    assert refine(kept) == (kept,)


def test_f64_is_compared_by_its_bits() -> None:
    x = torch.tensor([0.0, -0.0, math.nan, -math.nan, math.inf, -math.inf, -2.0, 5e-324], dtype=torch.float64)
    t = torch.tensor([-0.0, 0.0, math.nan, -math.nan, math.inf, math.inf, -2.0, 0.0], dtype=torch.float64)
    (view,) = refine(sketch_of(COMPARED))
    (made,) = interpret(require(parse(view.text, view.name), view.name), [x, t]).outputs
    assert torch.equal(made, torch.stack([x.bool(), x == -2, x != t, x == 0.0, x > t, x <= -1.5]))
    files = emit(view, Schedule(), Target(backend="ascend")).files
    assert (
        "x.view(torch.int64), t.view(torch.int64), y" in files["model_new.py"]
        and '"x": "i64"' in files["launches.json"]
    )
