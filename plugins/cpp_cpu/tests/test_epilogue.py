"""What follows the sums of a product block by block, and what does not: text and numbers."""

from __future__ import annotations

import pytest
import torch
from akg_plugin_cpp_cpu.emit import emit
from compiled import Batch

from akg_core.plugin import Schedule, Target
from akg_core.testing.emission.running import Case
from akg_core.testing.emission.sketches import sketch_of

TEXT = """
@kernel
def product(x: In["f32", "M", "K"], w: In["f32", {columns}, "K"], v: In["f32", {columns}, "K"], b: In["f32", {columns}],
            y: Out["f32", "M", {columns}], z: Out["f32", "M", {columns}]):
    for m in grid(M, {rows}):
        for n in grid({columns}, {tile}):
            {body}
@program
def model(x: In["f32", "M", "K"], w: In["f32", {columns}, "K"], v: In["f32", {columns}, "K"], b: In["f32", {columns}]):
    y = empty("f32", M, {columns})
    z = empty("f32", M, {columns})
    product(x, w, v, b, y, z)
    return y, z
"""
ONE = """acc = zeros([m, n])
for k in tiles(K, 64):
    acc = dot(load(x[m, k]), load(w[n, k]), over=k, into=acc)
"""
GATED = """acc = zeros([m, n])
gate = zeros([m, n])
for k in tiles(K, 64):
    acc = dot(load(x[m, k]), load(w[n, k]), over=k, into=acc)
    gate = dot(load(x[m, k]), load(v[n, k]), over=k, into=gate)
store(y[m, n], acc * sigmoid(gate) + load(b[n]))
store(z[m, n], gate)
"""
BIAS = "store(y[m, n], relu(acc + load(b[n])))\n"
FOLLOWING = {
    "one": ONE + BIAS + "store(z[m, n], acc)\n",
    "two": GATED,
}
BETWEEN = {
    "read again": ONE + BIAS + "store(z[m, n], acc - reduce_max(acc, n))\n",
    "of rows": ONE + "store(y[m, n], exp(acc - reduce_max(acc, n)))\nstore(z[m, n], acc)\n",
    "of other operands": """acc = zeros([m, n])
for k in tiles(K, 64):
    acc = dot(load(x[m, k]) * 2.0, load(w[n, k]), over=k, into=acc)
store(y[m, n], acc)
store(z[m, n], acc)
""",
}
OTHER = """other = zeros([{axes}])
for j in tiles(K, 64):
    other = other + {other}
acc = zeros([m, n])
for k in tiles(K, 64):
    acc = dot(load(x[m, k]), load(w[n, k]), over=k, into=acc)
store(y[m, n], acc * other)
store(z[m, n], acc + other)
"""
BESIDE = {
    "sums of rows": OTHER.format(axes="m", other="reduce_sum(load(x[m, j]), j)"),
    "sums of columns": OTHER.format(axes="n", other="reduce_sum(load(w[n, j]), j)"),
    "another product": OTHER.format(axes="m, n", other="dot(load(x[m, j]) * 2.0, load(v[n, j]), over=j)"),
    "what is kept": ONE + "t = acc + load(b[n])\nstore(y[m, n], t)\nstore(z[m, n], exp(t - reduce_max(t, n)))\n",
}
SIZES = [(1, 1), (5, 64), (96, 100), (97, 256), (200, 300), (193, 700)]


def text_of(body: str, columns: int = 160, tile: int = 128, rows: int = 96) -> str:
    return TEXT.format(body=body.strip().replace("\n", "\n            "), columns=columns, tile=tile, rows=rows)


def case(name: str, body: str, m: int, k: int, static: bool, rows: int = 96) -> Case:
    torch.manual_seed(m * k)
    inputs = [torch.randn(m, k), torch.randn(160, k), torch.randn(160, k), torch.randn(160)]
    label = f"{name}_{m}_{k}_{'known' if static else 'open'}".replace(" ", "_")
    return Case(label, text_of(body, rows=rows), inputs, static=static, tolerance=2e-4)


CASES = [
    case(name, body, m, k, static)
    for name, body in {**FOLLOWING, **BETWEEN}.items()
    for m, k in SIZES
    for static in (True, False)
] + [case(name, body, m, k, True, rows=256) for name, body in BESIDE.items() for m, k in ((300, 100), (130, 300))]


@pytest.fixture(scope="module")
def batch() -> Batch:
    return Batch(CASES, files=4)


@pytest.mark.parametrize("name", [case.name for case in CASES])
def test_numbers(batch: Batch, name: str) -> None:
    batch.check(name)


def emitted(body: str, columns: int = 160, tile: int = 128, k: str = "300") -> str:
    text = text_of(body, columns, tile).replace('"K"', k).replace("(K,", f"({k},".replace('"', ""))
    source = emit(sketch_of(text), Schedule(), Target(backend="cpu"))
    return source.files["kernel.cpp"]


@pytest.mark.parametrize("body", FOLLOWING.values(), ids=FOLLOWING)
def test_elements_follow_their_block(body: str) -> None:
    """One call takes the whole contraction, nothing puts zeros where it sums, and it is handed what follows."""
    text = emitted(body)
    assert text.count("contract(") == 1 and "300, false, [&](" in text
    assert "k_begin" not in text and "Vec<f32>(0.0f)" not in text
    assert "acc_block" in text and "load(acc +" not in text


@pytest.mark.parametrize("name", BETWEEN)
def test_what_needs_more_than_its_element_waits(name: str) -> None:
    text = emitted(BETWEEN[name])
    assert "contract(" in text and "acc_block" not in text
    assert (", k_begin > 0);" in text and "Vec<f32>(0.0f)" not in text) or "300, false);" in text


def test_sums_that_stay_near_wait() -> None:
    """96 x 64 sums are 24 KB."""
    text = emitted(FOLLOWING["one"], columns=64, tile=64)
    assert "300, false);" in text and "acc_block" not in text


def test_what_may_have_no_part_begins_with_zeros() -> None:
    text = emitted(FOLLOWING["one"], k='"K"')
    assert "acc_block" not in text and "Vec<f32>(0.0f)" in text


def test_what_is_overwritten_is_read_where_it_is_used() -> None:
    """Instead of being kept over the product, together with zeros for the sums."""
    body = "{ONE}store(y[m, n], load(y[m, n]) * 0.5 + acc)\nstore(z[m, n], acc)\n"
    text = (
        text_of(body.replace("{ONE}", ONE))
        .replace("y: Out", "y: InOut")
        .replace('empty("f32", M', 'full("f32", 2.0, M')
    )
    known = text.replace('"K"', "300").replace("(K,", "(300,").replace('"300"', "300")
    printed = emit(sketch_of(known), Schedule(), Target(backend="cpu")).files["kernel.cpp"]
    assert printed.count("arena.take") == 1 and "300, false, [&](" in printed
    shapes = (97, 300), (160, 300), (160, 300), (160,)
    case = Case("overwritten", text, [torch.randn(*shape) for shape in shapes], tolerance=1e-4)
    Batch([case], files=1).check("overwritten")
