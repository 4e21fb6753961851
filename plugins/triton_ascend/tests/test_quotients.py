"""Quotients rounded down go out in f64, as the bits that whole numbers make of them."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from akg_plugin_triton_ascend.emit import emit
from akg_plugin_triton_ascend.refine import refine
from torch import Tensor

from akg_core.plugin import Schedule, Target
from akg_core.plugin.sketch import parse, require
from akg_core.sketch.interpret import interpret
from akg_core.testing.emission.sketches import sketch_of

TEXT = """
@kernel
def divided(x: In["{x}", "N"], t: In["{t}", "N"], y: Out["f64", "N"]):
    for n in grid(N, 64):
        store(y[n], {value})


@program
def model(x: In["{x}", "N"], t: In["{t}", "N"]):
    y = empty("f64", N)
    divided(x, t, y)
    return y
"""
ODD = (0.0, math.inf, math.nan, 5e-324, 1.5e-310, 1e308, 0.1, 1.0, 3.0, 7.5, 2.0**52 - 1, 2.0**53 + 2, 1e17)
DTYPES = {
    "f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "i64": torch.int64,
    "i32": torch.int32, "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8, "bool": torch.bool,
}  # fmt: skip


def read(name: str, dtype: str) -> str:
    return f"load({name}[n])" if dtype == "f64" else f"f64(load({name}[n]))"


def quotients(x: Tensor, t: Tensor, x_dtype: str, t_dtype: str) -> Tensor:
    """What the chip's view of a sketch gives."""
    value = f"{read('x', x_dtype)} // {read('t', t_dtype)}"
    (view,) = refine(sketch_of(TEXT.format(x=x_dtype, t=t_dtype, value=value)))
    assert 'Out["i64"' in view.text and "floats(y)" in view.text
    (made,) = interpret(require(parse(view.text, view.name), view.name), [x, t]).outputs
    return made


def numbers(dtype: str, count: int) -> Tensor:
    if DTYPES[dtype].is_floating_point:
        spread = torch.randn(count, dtype=torch.float64) * torch.exp2(torch.randint(-12, 12, (count,)).double())
        return spread.to(DTYPES[dtype])
    if dtype == "bool":
        return torch.rand(count) > 0.5
    kind = torch.iinfo(DTYPES[dtype])
    return torch.randint(kind.min, kind.max, (count,), dtype=DTYPES[dtype])


def same(made: Tensor, due: Tensor) -> Tensor:
    return ((made == due) & (made.signbit() == due.signbit())) | (made.isnan() & due.isnan())


@pytest.mark.parametrize(
    ("x", "t"),
    [("f64", "f64"), ("i64", "f64"), ("f32", "f64"), ("f64", "f16"), ("bf16", "f64"), ("f64", "i8"), ("bool", "f64")],
)
def test_quotients_are_those_of_pytorch(x: str, t: str) -> None:
    torch.manual_seed(0)
    one, other = numbers(x, 600), numbers(t, 600)
    due = torch.floor_divide(one.double(), other.double())
    exact = due.abs() < 2**51  # beyond, eager PyTorch rounds what it takes the remainder off
    made = quotients(one, other, x, t)
    assert bool(same(made, due)[exact | ~due.isfinite()].all()) and int(exact.sum()) > 10
    assert torch.allclose(made[~exact], due[~exact], rtol=1e-15, equal_nan=True)


def test_of_odd_numbers_too() -> None:
    signed = [sign * each for each in ODD for sign in (1.0, -1.0)]
    pairs = torch.tensor([*itertools.product(signed, signed)], dtype=torch.float64)
    one, other = pairs[:, 0].contiguous(), pairs[:, 1].contiguous()
    due = torch.floor_divide(one, other)
    made = quotients(one, other, "f64", "f64")
    exact = (due.abs() < 2**51) | ~due.isfinite()
    assert bool(same(made, due)[exact].all())
    assert torch.allclose(made[~exact], due[~exact], rtol=1e-15)


@pytest.mark.parametrize("dtype", ["i64", "i32", "u8", "f32", "f16", "bf16"])
def test_what_is_narrower_is_widened_exactly(dtype: str) -> None:
    x = numbers(dtype, 500)
    x[:2] = torch.tensor([0, 1]).to(x.dtype)
    if DTYPES[dtype].is_floating_point:
        x[:8] = torch.tensor([0.0, -0.0, math.inf, -math.inf, math.nan, 6e-8, -1e-40, 1e-45]).to(x.dtype)
    (view,) = refine(sketch_of(TEXT.format(x=dtype, t=dtype, value="f64(load(x[n]))")))
    (made,) = interpret(require(parse(view.text, view.name), view.name), [x, x]).outputs
    assert bool(same(made, x.double()).all())


def test_a_chip_without_f64_is_handed_bits() -> None:
    text = TEXT.format(x="f64", t="f64", value="load(x[n]) // load(t[n])")
    for old, new in (('"N"', "100"), ("grid(N", "grid(100"), (", N)", ", 100)")):
        text = text.replace(old, new)
    (view,) = refine(sketch_of(text))
    files = emit(view, Schedule(), Target(backend="ascend")).files
    assert "float64" not in files["kernel.py"]
    assert ".view(torch.float64)" in files["model_new.py"] and "x.view(torch.int64)" in files["model_new.py"]


@pytest.mark.parametrize("value", ["load(x[n]) + load(t[n])", "sqrt(load(x[n])) // load(t[n])"])
def test_other_answers_in_f64_stay_what_they_are(value: str) -> None:
    sketch = sketch_of(TEXT.format(x="f64", t="f64", value=value))
    assert refine(sketch) == (sketch,)
