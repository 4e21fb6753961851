"""The text that the emitter writes for these chips, held against golden files."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from akg_plugin_triton_ascend.emit import dialect, emit
from akg_triton.emit.functions import LIBDEVICE

from akg_core.plugin import Schedule, Sketch, Target, Unsupported
from akg_core.testing.emission.sized import SIZES, sized
from akg_core.testing.emission.sketches import sketch_of

ASCEND = Target(backend="ascend")
GOLDEN = Path(__file__).parent / "golden"
MAP = """
@kernel
def one(x: In["f32", 300], y: Out["f32", 300]):
    for n in grid(300, 128):
        t = load(x[n])
        store(y[n], {made})
"""
TRIANGLE = """
@kernel
def triangle(a: In["f32", 208, 208], b: In["f32", 208, 208], y: Out["f32", 208, 208]):
    for m in grid(208, 64):
        for n in grid(208, 128):
            acc = zeros([m, n])
            if begin(m) < 100:
                for k in tiles(208, 64):
                    acc = dot(load(a[m, k]), load(b[k, n]), over=k, into=acc)
            store(y[m, n], acc)
"""
POOL = """
@kernel
def pool(x: In["f32", 40, 64], y: Out["f32", 40, 32]):
    for m in grid(40, 1):
        for r in grid(32, 32):
            peak = full([m, r], -inf, "f32")
            for l in tiles(3, 4):
                peak = maximum(peak, reduce_max(load(x[m, r * 2 + l * DILATION - 1], other=-inf), l))
            store(y[m, r], peak)
"""
PLACED = """
@kernel
def placed(x: In["f32", 2, 9, 64], y: Out["f32", 2, 4, 8]):
    for m in grid(2, 1):
        k, n = whole(4), whole(8)
        t = load(x[{places}])
        store(y[m, k, n], t)
"""
PRODUCT = """
@kernel
def product(a: In["f32", 200, 64], b: In["f32", 64, 128], bias: In["f32", 200], y: Out["f32", 4, 128, 50]):
    for n in grid(200, 128):
        for m in grid(128, 64):
            k = whole(64)
            acc = dot(load(a[n, k]), load(b[k, m]), over=k)
            store(y[n // 50, m, n % 50], acc + load(bias[n]))
"""
MOVED = """
@kernel
def moved(x: In["f32", 100], y: Out["f32", 110]):
    for i in grid(110, 128):
        store(y[i], load(x[i - 5]))
"""
LOOKED_UP = """
@kernel
def looked_up(i: In["i64", 300], x: In["f32", 256], y: Out["f32", 300]):
    for n in grid(300, 1):
        store(y[n], load(x[load(i[n]) & 255]))
"""
SCALED = """
@kernel
def scaled(s: In["f64"], x: In["f32", 300], y: Out["f32", 300]):
    for n in grid(300, 128):
        store(y[n], load(x[n]) * f32(load(s)))
"""


def kernel(sketch: Sketch) -> str:
    return emit(sketch, Schedule(), ASCEND).files["kernel.py"]


@pytest.mark.parametrize("name", ["softmax", "linear_gelu", "argmax", "max_pool2d"])
def test_golden(name: str, golden: Callable[[Path, str], None]) -> None:
    golden(GOLDEN / f"{name}.txt", kernel(sized(name)))


@pytest.mark.parametrize("name", sorted(SIZES))
def test_programs_are_as_many_as_cores_and_nothing_is_said_of_warps(name: str) -> None:
    files = emit(sized(name), Schedule(), ASCEND).files
    module, text = files["model_new.py"], files["kernel.py"]
    assert "num_warps" not in module and "eviction_policy" not in text and "debug_barrier" not in text
    assert "tl.reduce((" not in text, "the compiler reduces one tile at a time"
    assert "min(" not in module or ", 40)" in module


@pytest.mark.parametrize("op", sorted({*LIBDEVICE} - {"atan2", "fmod", "pow", "erfc"}))
def test_functions_are_those_that_the_chip_has(op: str) -> None:
    text = kernel(sketch_of(MAP.format(made=f"{op}(t)")))
    called = set(re.findall(r"libdevice\.(\w+)", text))
    assert called <= {"log1p", "tan", "atan", "tanh", "pow"}
    assert not called or "from triton.language.extra.ascend import libdevice" in text


def test_what_has_no_form_is_refused() -> None:
    with pytest.raises(Unsupported, match="`erfc` has no form"):
        kernel(sketch_of(MAP.format(made="erfc(t)")))


def test_f64_is_refused() -> None:
    with pytest.raises(Unsupported, match="cannot compute in f64"):
        kernel(sketch_of(MAP.format(made="t").replace("f32", "f64")))


def test_a_product_in_a_branch_is_in_a_loop_of_one_turn_or_none() -> None:
    text = kernel(sketch_of(TRIANGLE))
    assert "for taken in tl.range(0, tl.where(m_begin < 100, 1, 0)):" in text and "if " not in text


def test_what_a_product_made_is_stored_with_every_axis_bounded() -> None:
    (stored,) = re.findall(r"tl.store\(.*", kernel(sketch_of(PRODUCT)))
    assert "mask=n_in[:, None] & (m < 128)[None, :]" in stored
    (stored,) = re.findall(r"tl.store\(.*", kernel(sketch_of(PRODUCT.replace("200", "256").replace("50", "64"))))
    assert "mask" not in stored
    (stored,) = re.findall(r"tl.store\(.*", kernel(sketch_of(MAP.format(made="t"))))
    assert "mask=n_in" in stored


def test_bits_of_an_index_are_taken_before_it_is_added() -> None:
    assert re.search(r"tl.load\(x \+ \(\w+ & 255\),", kernel(sketch_of(LOOKED_UP)))


def test_a_float_argument_is_f32() -> None:
    sketch = sketch_of(SCALED)
    number, *tensors = sketch.interface.arguments
    arguments = (number.model_copy(update={"kind": "number"}), *tensors)
    known = sketch.model_copy(update={"interface": sketch.interface.model_copy(update={"arguments": arguments})})
    files = emit(known, Schedule(), ASCEND).files
    assert "s = torch.full((), s, dtype=torch.float32, device=_device)" in files["model_new.py"]
    assert '"s": "f32"' in files["launches.json"] and "float64" not in files["kernel.py"]
    assert "narrowed(" in kernel(sketch)  # of a tensor of f64 without dimensions


@pytest.mark.parametrize(
    ("places", "begins"),
    [
        ("m, 3, n * 2", " + m * 576 + 192 * tl.num_programs(1) + n * 2"),
        ("1, 3, n * 2", " + n * 2 + 768 * tl.num_programs(1)"),
        ("m, 3, n * 2 + 3", " + m * 576 + 194 * tl.num_programs(1) + 1 + n * 2"),
        ("m, k * 2 + 1, n * 2", " + m * 576 + 64 * tl.num_programs(1) + (k * 2 * 64)[:, None] + (n * 2)[None, :]"),
        ("m, 0, n * 2 + 1", " + m * 576 + n * 2 + 1"),
        ("m, 3, n * 3", " + m * 576 + 3 * 64 + n * 3"),
        ("m, 3, n", " + m * 576 + 3 * 64 + n"),
    ],
)
def test_lanes_that_are_two_places_apart_begin_at_no_number_but_one(places: str, begins: str) -> None:
    """The second of each pair is that after the first: 1 may be added."""
    (loaded,) = re.findall(r"tl.load\(x(.*)\) *#", kernel(sketch_of(PLACED.format(places=places))))
    assert loaded == begins


@pytest.mark.parametrize("dilation", [1, 3])
def test_lanes_that_are_two_places_apart_may_begin_before_their_tensor(dilation: int) -> None:
    text = kernel(sketch_of(POOL.replace("DILATION", str(dilation))))
    assert "x + (m * 64 - 2 * tl.num_programs(1) + 1) + " in text and "- 1 >= 0" in text


def test_no_address_begins_at_a_number_before_its_tensor() -> None:
    assert "tl.load(x + (x_at0 + (tl.num_programs(1) - 1))," in kernel(sketch_of(MOVED))
    tiled = kernel(sketch_of(MOVED.replace("128)", "64)")))
    assert "tl.load(x + x_at0," in tiled  # a program's number is in it


def test_loops_are_not_written_out() -> None:
    assert "static_range" not in kernel(sized("max_pool2d"))


def test_every_memory_is_the_chip_s() -> None:
    assert dialect(ASCEND).shared_bytes == 512 * 1024 and dialect(ASCEND).lacks == ("f64",)


VARYING = """
@kernel
def rows(x: In["f32", "M", "N"], y: Out["f32", "M", "N"]):
    for m in grid(M, 4):
        n = whole(N)
        store(y[m, n], load(x[m, n]) / reduce_max(load(x[m, n]), n))
"""


def test_rows_of_any_length_are_compiled_for_those_of_the_example() -> None:
    sketch = sketch_of(VARYING).model_copy(update={"symbols": {"M": 64, "N": 200}})
    assert '"N_LANES": 256' in emit(sketch, Schedule(), ASCEND).files["launches.json"]


def test_rows_of_any_length_are_compiled_for_those_of_all_cases() -> None:
    cases = ({"M": 8, "N": 130}, {"M": 8, "N": 1000}, {"M": 4, "N": 1024})
    sketch = sketch_of(VARYING).model_copy(update={"symbols": {"M": 64, "N": 200}, "cases": cases})
    described = emit(sketch, Schedule(), ASCEND).files["launches.json"]
    assert re.findall(r'"N_LANES": (\d+)', described) == ["256", "1024"]
