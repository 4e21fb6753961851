"""Each operation of the language against torch, and the exact rules where torch and the language could part."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch._subclasses import FakeTensorMode

from akg_core import philox
from akg_core.dtypes import BITS
from akg_core.errors import SketchError
from akg_core.sketch.interpret import interpret
from akg_core.sketch.interpret.ops import ELEMENTWISE, TRANSCENDENTAL
from akg_core.sketch.interpret.tiles import NAMES
from akg_core.sketch.parse import parse

# PyTorch takes a vector's last elements by another path than those before them, and which paths there are depends on
# the processor: what tiles compute may be a few units in the last place from what the whole vector does.
ULPS = 4
SPECIAL = [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -1.0, 3.0, -7.25, 1e-30, 1e30, math.inf, -math.inf, math.nan]


def row(expression: str, x: Tensor, out: str = "f32", *others: Tensor, step: int = 5) -> Tensor:
    """A kernel over tiles of one axis n that stores `expression` of t (and u, v), the values of x (and others)."""
    names = "tuv"[: 1 + len(others)]
    tensors = [x, *others]
    loads = "\n".join(f"        {name} = load(in_{name}[n])" for name in names)
    declared = ", ".join(f'in_{n}: In["{NAMES[v.dtype]}", "N"]' for n, v in zip(names, tensors, strict=True))
    text = f"""@kernel
def one({declared}, y: Out["{out}", "N"]):
    for n in grid(N, {step}):
{loads}
        store(y[n], {expression})
"""
    return interpret(parse(text), tensors).outputs[0]


def whole(body: str, x: Tensor, out: str = "f32", dims: str = '"M"', **parameters: int) -> Tensor:
    """A kernel of one program over x with dimensions M and N, both whole axes m and n; t is all of x."""
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    text = f"""@kernel
def one(x: In["{NAMES[x.dtype]}", "M", "N"], y: Out["{out}"{", " + dims if dims else ""}]):
    m = whole(M)
    n = whole(N)
    t = load(x[m, n])
{lines}
"""
    return interpret(parse(text), [x]).outputs[0]


# --- elementwise ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, dtype",
    [
        (name, dtype)
        for dtype in (torch.float32, torch.float64, torch.float16)
        for name in sorted(ELEMENTWISE)
        if name != "from_bits" and (name != "bits" or NAMES[dtype] in BITS)
    ],
)
def test_elementwise_is_that_of_torch(name: str, dtype: torch.dtype) -> None:
    x = torch.tensor(SPECIAL, dtype=dtype)
    others = {"atan2": 1, "maximum": 1, "minimum": 1, "fmod": 1, "remainder": 1, "clamp": 2}.get(name, 0)
    tensors = [x, x.flip(0), x.roll(3)][: 1 + others]
    reference = ELEMENTWISE[name](*tensors)
    ours = row(f"{name}({', '.join('tuv'[: len(tensors)])})", x, NAMES[reference.dtype], *tensors[1:])
    rounding = ULPS * torch.finfo(dtype).eps if name in TRANSCENDENTAL else 0
    near_zero = rounding if name.startswith("gelu") else 0  # where x < 0, 1 + tanh(…) and 1 + erf(…) cancel
    torch.testing.assert_close(ours, reference, rtol=rounding, atol=near_zero, equal_nan=True)


def test_softplus_does_not_overflow() -> None:
    x = torch.tensor([1000.0, -1000.0, 0.0])
    torch.testing.assert_close(row("softplus(t)", x), torch.tensor([1000.0, 0.0, math.log(2)]))


def test_maximum_of_nan_is_nan() -> None:
    x, u = torch.tensor([math.nan, 1.0]), torch.tensor([1.0, math.nan])
    for operation in ("maximum(t, u)", "minimum(t, u)", "clamp(t, u, u)"):
        assert row(operation, x, "f32", u).isnan().all()
    assert row("relu(t)", x)[0].isnan()


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32])
def test_integer_division_floors(dtype: torch.dtype) -> None:
    a = torch.tensor([7, -7, 7, -7, 6], dtype=dtype)
    b = torch.tensor([2, 2, -2, -2, 3], dtype=dtype)
    name = NAMES[dtype]
    assert row("t // u", a, name, b).tolist() == [3, -4, -4, 3, 2]
    assert row("t % u", a, name, b).tolist() == [1, 1, -1, -1, 0]
    assert row("fmod(t, u)", a, name, b).tolist() == [1, -1, 1, -1, 0]
    assert row("t / u", a, "f32", b).tolist() == [3.5, -3.5, -3.5, 3.5, 2.0]


def test_round_is_half_to_even() -> None:
    assert row("round(t)", torch.tensor([0.5, 1.5, 2.5, -0.5, -1.5])).tolist() == [0, 2, 2, 0, -2]


def test_sorted_along_one_axis() -> None:
    x = torch.tensor([[3, -1, 2], [-5, 7, 0]])
    assert whole("store(y[m, n], sort(t, n))", x, "i64", '"M", "N"').equal(x.sort(1).values)
    assert whole("store(y[m, n], sort(t, m))", x, "i64", '"M", "N"').equal(x.sort(0).values)


def test_merged_is_what_rises_and_then_falls() -> None:
    merge = "store(y[m, n], sort(t, n, bitonic=True))"
    most = torch.iinfo(torch.int64).max
    x = torch.tensor([[-5, 1, 7, 3], [2, 2, 2, 2], [9, 4, 1, -most], [-most, 0, most, most]])
    assert whole(merge, x, "i64", '"M", "N"').equal(x.sort(1).values)
    with pytest.raises(SketchError, match="SK706 sort over n is told of elements that rise, then fall"):
        whole(merge, torch.tensor([[3, 1, 2]]), "i64", '"M", "N"')


def test_bits_and_logic() -> None:
    x = torch.tensor([0, 1, 6, -1])
    assert row("(t & 3) | (t ^ 1) << 1", x, "i64").tolist() == [(a & 3) | (a ^ 1) << 1 for a in (0, 1, 6, -1)]
    assert row("t > 0 and not t == 6", x, "bool").tolist() == [False, True, False, False]
    assert row("~(t > 0) | (t == 6)", x, "bool").tolist() == [True, False, True, True]
    assert row("~t", x, "i64").tolist() == [-1, -2, -7, 0]


# --- dtypes ---------------------------------------------------------------------------------------------------


def stored(expression: str, x: Tensor, *others: Tensor) -> Tensor:
    """`expression` read back in f64, so that its own rounding shows."""
    return row(expression, x, "f64", *others)


def test_literals_take_the_dtype_that_they_meet() -> None:
    x = torch.tensor([1.0, 3.0], dtype=torch.float16)
    assert stored("t * 0.1", x).equal((x * torch.tensor(0.1, dtype=torch.float16)).double())
    assert stored("t + 1", x).equal((x + 1).double())
    y = torch.tensor([1.0, 3.0], dtype=torch.float64)
    assert stored("t * 0.1", y).equal(y * 0.1)  # not 0.1 rounded to f32
    assert stored("t * (1 / 3)", y).equal(y * (1 / 3))  # nor what is computed from literals
    i = torch.tensor([1, 3], dtype=torch.int32)
    assert stored("t * 0.1", i).equal((i.float() * 0.1).double())


def test_f16_rounds_after_every_operation() -> None:
    x = torch.tensor([2048.0], dtype=torch.float16)
    assert stored("t + 1 - t", x).item() == 0.0
    assert stored("f32(t) + 1 - f32(t)", x).item() == 1.0


def test_a_launch_time_float_is_exact_until_it_meets_a_tile() -> None:
    y = torch.rand(6, dtype=torch.float64)
    assert stored("t * (1.0 / sqrt(N))", y).equal(y * (1.0 / math.sqrt(6)))


def test_promotion() -> None:
    half, brain = torch.tensor([1.001], dtype=torch.float16), torch.tensor([3.0], dtype=torch.bfloat16)
    assert stored("t * u", half, brain).item() == (half.float() * 3.0).double().item()
    assert stored("exp(t)", torch.tensor([2])).item() == torch.tensor(2.0).exp().double().item()
    assert row("abs(t)", torch.tensor([-3], dtype=torch.int8), "i8").item() == 3


def test_casts() -> None:
    x = torch.tensor([1.9, -1.9, 0.0, 2.5])
    assert row("i32(t)", x, "i32").tolist() == [1, -1, 0, 2]
    assert row('cast(t, "bool")', x, "bool").tolist() == [True, True, False, True]
    assert row("t", x, "i64").tolist() == [1, -1, 0, 2]  # a store converts as well
    assert row("t", torch.tensor([1 + 2**-11, 1 + 3 * 2**-11]), "f16").tolist() == [1.0, 1 + 2**-9]


def test_where_takes_the_dtype_of_its_values() -> None:
    x = torch.tensor([1, 0, 2], dtype=torch.int32)
    assert row("where(t > 0, t, 0)", x, "i32").tolist() == [1, 0, 2]
    assert row("where(t > 0, t, 0.5)", x, "f32").tolist() == [1.0, 0.5, 2.0]


# --- reductions and scans --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32])
def test_reductions(dtype: torch.dtype) -> None:
    x = (torch.randn(5, 7) * 3).to(dtype)
    for name, reference in {
        "sum": x.sum(1),
        "prod": x.prod(1),
        "max": x.amax(1),
        "min": x.amin(1),
        "any": x.bool().any(1),
        "all": x.bool().all(1),
    }.items():
        ours = whole(f"store(y[m], reduce_{name}(t, n))", x, NAMES[reference.dtype])
        torch.testing.assert_close(ours, reference)
        both = whole(f"store(y, reduce_{name}(t, (m, n)))", x, NAMES[reference.dtype], dims="")
        torch.testing.assert_close(both, getattr(reference, {"max": "amax", "min": "amin"}.get(name, name))())


def test_reductions_propagate_nan() -> None:
    x = torch.tensor([[1.0, math.nan, 2.0]])
    for name in ("sum", "max", "min", "prod"):
        assert whole(f"store(y[m], reduce_{name}(t, n))", x).isnan().all()


def test_f16_sums_accumulate_in_f32() -> None:
    x = torch.ones(1, 4096, dtype=torch.float16)
    assert whole("store(y[m], reduce_sum(t, n))", x, "f16").item() == 4096.0
    assert whole("s = scan_sum(t, n)\nstore(y[m], last(s, n))", x, "f16").item() == 4096.0


def test_counting_truths() -> None:
    x = torch.tensor([[1.0, -1.0, 2.0]])
    assert whole("store(y[m], reduce_sum(t > 0, n))", x, "i64").item() == 2


@pytest.mark.parametrize(
    "values, largest, smallest",
    [([3.0, 5.0, 5.0, 3.0], 1, 0), ([1.0, math.nan, math.nan, 9.0], 1, 1), ([-math.inf, -math.inf], 0, 0)],
)
def test_argmax_takes_the_first_and_nan(values: list[float], largest: int, smallest: int) -> None:
    x = torch.tensor([values])
    assert whole("store(y[m], argmax(t, n))", x, "i64").item() == largest
    assert whole("store(y[m], argmin(t, n))", x, "i64").item() == smallest


def test_argmax_is_a_position_on_the_axis() -> None:
    text = """@kernel
def one(x: In["f32", "N"], y: Out["i64", "T"]):
    i = full([], 0, "i64")
    for n in tiles(N, 4):
        store(y[i], argmax(load(x[n]), n))
        i = i + 1

@program
def model(x: In["f32", "N"]):
    y = empty("i64", "(N + 3)//4")
    one(x, y)
    return y
"""
    assert interpret(parse(text), [torch.arange(10.0)]).outputs[0].tolist() == [3, 7, 9]


@pytest.mark.parametrize("reverse", [False, True])
def test_scans(reverse: bool) -> None:
    x = torch.randn(4, 9)
    turned = x.flip(1) if reverse else x
    for name, scan in {
        "sum": turned.cumsum(1),
        "prod": turned.cumprod(1),
        "max": turned.cummax(1).values,
        "min": turned.cummin(1).values,
    }.items():
        ours = whole(f"store(y[m, n], scan_{name}(t, n, reverse={reverse}))", x, dims='"M", "N"')
        torch.testing.assert_close(ours, scan.flip(1) if reverse else scan)


def test_first_and_last() -> None:
    x = torch.randn(4, 9)
    assert whole("store(y[m], first(t, n))", x).equal(x[:, 0])
    assert whole("store(y[m], last(t, n) - first(t, n))", x).equal(x[:, -1] - x[:, 0])


# --- dot -------------------------------------------------------------------------------------------------------


def test_dot_keeps_shared_axes_as_batch() -> None:
    x = torch.randn(6, 5)
    body = "store(y[m], dot(t, t * 2.0, over=n))"
    torch.testing.assert_close(whole(body, x), (x * x * 2).sum(1))


def test_dot_over_a_group_of_axes() -> None:
    x = torch.randn(6, 5)
    torch.testing.assert_close(whole("store(y, dot(t, t, over=(m, n)))", x, dims=""), (x * x).sum())


@pytest.mark.parametrize("precision", ["ieee", "split3", "fast"])
def test_dot_of_f16_accumulates_in_f32(precision: str) -> None:
    x = torch.full((1, 4096), 1.001, dtype=torch.float16)
    ours = whole(f'store(y[m], dot(t, t, over=n, precision="{precision}"))', x)
    torch.testing.assert_close(ours, x.double().square().sum(1).float())


def test_dot_of_ints_and_into() -> None:
    x = torch.arange(6, dtype=torch.int32).reshape(2, 3)
    assert whole("store(y[m], dot(t, t, over=n))", x, "i64").tolist() == [5, 50]
    body = 'store(y[m], dot(t, t, over=n, into=full([m], 100, "i32")))'
    assert whole(body, x, "i32").tolist() == [105, 150]


# --- numbers -----------------------------------------------------------------------------------------------------


def test_split_is_mixed_radix() -> None:
    x = torch.arange(2 * 3 * 5 + 4)
    body = "a, b, c = split(n, (2, 3, 5))\n    store(y[n], a * 100 + b * 10 + c)"
    text = f"""@kernel
def one(x: In["i64", "N"], y: Out["i64", "N"]):
    n = whole(N)
    {body}
"""
    ours = interpret(parse(text), [x]).outputs[0]
    assert ours.tolist() == [i // 15 * 100 + i // 5 % 3 * 10 + i % 5 for i in range(34)]


@pytest.mark.parametrize("dtype, worst", [("f16", 2.0**-21), ("bf16", 2.0**-16)])
def test_split_float_keeps_what_one_narrow_number_loses(dtype: str, worst: float) -> None:
    x = torch.rand(1, 1000) + 1.0
    body = f'high, low = split_float(t, "{dtype}")\nstore(y[m, n], f32(high) + f32(low))'
    ours = whole(body, x, dims='"M", "N"')
    assert 0 < (ours - x).abs().max() <= worst


def test_round_to() -> None:
    x = torch.tensor([1 + 2**-11, 1 + 2**-11 - 2**-23, 1 + 3 * 2**-11, -(1 + 2**-11), math.inf, math.nan, 0.0])
    ours = row('round_to(t, "tf32")', x)
    expected = torch.tensor([1 + 2**-10, 1.0, 1 + 2**-9, -(1 + 2**-10), math.inf, math.nan, 0.0])
    torch.testing.assert_close(ours, expected, rtol=0, atol=0, equal_nan=True)
    assert row('round_to(t, "bf16")', x).nan_to_num().equal(x.bfloat16().float().nan_to_num())


@pytest.mark.parametrize(
    "counter, key, expected",
    [
        ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            [0xA4093822, 0x299F31D0],
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
    ],
)
def test_philox_known_answers(counter: list[int], key: list[int], expected: list[int]) -> None:
    """The known answers of Random123 1.14, file kat_vectors."""
    c0, c1, c2, c3 = (torch.tensor(word) for word in counter)
    k0, k1 = (torch.tensor(word) for word in key)
    assert [int(word) for word in philox.philox4x32((c0, c1, c2, c3), (k0, k1))] == expected


def test_philox_draws_where_its_index_lies() -> None:
    with FakeTensorMode():
        seed, index = (torch.ones(shape, dtype=torch.int64, device="cuda") for shape in ((), (3, 4)))
        drawn = philox.uniform(seed, index)
    assert (drawn.device.type, drawn.dtype, drawn.shape) == ("cuda", torch.float32, (3, 4))


def test_rand() -> None:
    x = torch.arange(20000)
    ours = row("rand(0, t)", x, step=6000)
    assert ours[0].item() == (0x6627E8D5 >> 8) * 2.0**-24
    assert ours.min() >= 0 and ours.max() < 1
    assert abs(ours.mean() - 0.5) < 0.01 and abs(ours.var() - 1 / 12) < 0.01
    assert not ours.equal(row("rand(1, t)", x, step=6000))
    assert row("rand(t, 7)", torch.tensor([-1, 2**40])).unique().numel() == 2
