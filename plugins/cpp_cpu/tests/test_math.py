"""The math headers against float64 and 80-bit references, over all magnitudes, at every vector width."""

from __future__ import annotations

import ctypes
import math
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from .conftest import ISAS, Native

DRIVER = (Path(__file__).parent / "drivers" / "math.cpp").read_text()
UNARY = tuple(re.findall(r"REALS\(UNARY, (\w+)\)", DRIVER))
BINARY = tuple(re.findall(r"REALS\(BINARY, (\w+)\)", DRIVER))

# Units in the last place that each may be off; in f32 what is not here is within 1.
ULPS = {"exp": 1.1, "exp2": 1.1, "log": 1.1, "log2": 2, "log10": 2, "expm1": 2, "log1p": 2, "softplus": 2, "rsqrt": 1.5}
ULPS |= {"sin": 1.6, "cos": 1.6, "tanh": 2.5, "sigmoid": 2.5, "silu": 3, "erf": 1.5, "gelu": 4, "gelu_tanh": 6}
ULPS64 = dict.fromkeys(UNARY, 2.0)
ULPS64 |= dict.fromkeys(["expm1", "log1p", "softplus", "sigmoid", "tan", "asin", "acos"], 3.0)
ULPS64 |= dict.fromkeys(["sinh", "cosh", "tanh", "asinh", "atanh"], 3.0)
ULPS64 |= dict.fromkeys(["acosh", "erfc", "cbrt", "silu"], 4.0) | dict.fromkeys(["gelu", "gelu_tanh", "erfinv"], 6.0)

INF, NAN = math.inf, math.nan
EDGES = np.array([0.0, 1, 0.5, 2, 3, 1.5, 7.25, 1e8, 1e-30, 1e30, INF, NAN])
EDGES = np.concatenate([EDGES, -EDGES])


def call(library: ctypes.CDLL, name: str, *inputs: np.ndarray) -> np.ndarray:
    suffix = {"float32": "f32", "float64": "f64", "int64": "i64", "int32": "i32"}[inputs[0].dtype.name]
    arrays = [np.ascontiguousarray(array) for array in inputs]
    out = np.full_like(arrays[0], 77)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*arrays, out)]
    getattr(library, f"{name}_{suffix}")(*pointers, ctypes.c_int64(len(out)))
    return out


def sweep32() -> np.ndarray:
    """Every 8209th f32, all exponents and signs, then dense ops where functions turn, then the special values."""
    every = np.arange(0, 2**32, 8209, dtype=np.uint64).astype(np.uint32).view(np.float32)
    dense = [np.linspace(-b, b, 30001, dtype=np.float32) for b in (1e-3, 0.1, 1, 3, 10, 20, 110)]
    special = [0.0, -0.0, 1, -1, 2, -2, 0.5, -0.5, INF, -INF, NAN, 1e-45, -1e-45, 88.72283, 88.72284, 89, 3.4e38]
    return np.concatenate([every, *dense, np.array(special, np.float32)])


def wide(name: str, x: np.ndarray) -> np.ndarray:
    """The function by torch in float64."""
    t = torch.from_numpy(x.astype(np.float64))
    tanh_form = 2 * math.sqrt(2 / math.pi) * (t + 0.044715 * t**3)
    special = {
        "cbrt": lambda v: torch.from_numpy(np.cbrt(v.numpy())),
        "gelu": lambda v: torch.where(v == -INF, 0.0, 0.5 * v * torch.special.erfc(-v * math.sqrt(0.5))),
        "gelu_tanh": lambda v: torch.where(v == -INF, 0.0, v * torch.sigmoid(tanh_form)),
        "silu": lambda v: v * torch.sigmoid(v),
        "softplus": lambda v: torch.log1p(torch.exp(-v.abs())) + v.clamp(min=0),
    }
    return (special.get(name) or getattr(torch, name))(t).numpy()


def extended(name: str, x: np.ndarray) -> np.ndarray | None:
    """The function by numpy in 80 bits, or None."""
    v = x.astype(np.longdouble)
    e = np.exp(-np.abs(v))
    sigmoid = np.where(v >= 0, 1 / (1 + e), e / (1 + e))
    cases = {"sigmoid": sigmoid, "silu": v * sigmoid, "softplus": np.log1p(e) + np.maximum(v, 0)}
    if name in cases or name == "rsqrt":
        return cases.get(name, 1 / np.sqrt(v))
    function = getattr(np, f"arc{name[1:]}" if name[0] == "a" else name, None)
    return None if function is None else function(v)


def smallest(name: str, x: np.ndarray) -> np.ndarray:
    """The least unit by which to count errors: for x times a vanishing factor, a quarter unit of x beside 1."""
    denormal = float(np.finfo(x.dtype).smallest_subnormal)
    scale = np.abs(x).astype(np.float64) * np.finfo(x.dtype).eps / 4
    vanishing = name in ("gelu", "gelu_tanh", "silu")
    return np.where(np.isfinite(scale) & vanishing, np.maximum(scale, denormal), denormal)


def require(name: str, limit: float, got: np.ndarray, want: np.ndarray, *x: np.ndarray) -> None:
    """Fail with the worst argument when a result is more than `limit` units in the last place from `want`."""
    with np.errstate(all="ignore"):
        size = np.minimum(np.abs(want).astype(np.float64), np.finfo(got.dtype).max)
        unit = 2.0 ** (np.floor(np.log2(size)) - np.finfo(got.dtype).nmant)
        distance = np.abs(got.astype(want.dtype) - want) / np.maximum(unit, smallest(name, x[0]))
        same = (np.isnan(got) & np.isnan(want)) | (got == want.astype(got.dtype))
        off = np.where(same, 0.0, np.where(np.isnan(distance), INF, distance)).astype(np.float64)
    worst = int(np.argmax(off))
    arguments = ", ".join(repr(array[worst]) for array in x)
    assert off[worst] <= limit, f"{name}({arguments}) = {got[worst]!r}, not {want[worst]!r}: {off[worst]:.2f} ulp"


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("isa", ISAS)
def test_f32(native: Native, name: str, isa: str) -> None:
    x = sweep32()[:: 1 if isa == "native" else 7]  # the same polynomials at every width: a thinner sweep is enough
    require(name, ULPS.get(name, 1.0), call(native(DRIVER, isa), name, x), wide(name, x), x)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("isa", ISAS)
def test_f64(native: Native, name: str, isa: str) -> None:
    rng = np.random.default_rng(5)
    special = [0.0, -0.0, 1, -1, INF, -INF, NAN, 5e-324, 1e300, 709.7, -709.7, -740, 710.4, math.pi, math.pi / 2, 1e22]
    if name == "silu":
        special.remove(-740)  # a denormal factor times x
    x = np.concatenate([*(rng.uniform(-b, b, 20000) for b in (1e-8, 0.1, 1, 4, 30, 700, 1e5)), special])
    want = extended(name, x)
    want = wide(name, x).astype(np.longdouble) if want is None else want
    if name == "silu":
        x, want = x[~(x < -700)], want[~(x < -700)]
    require(name, ULPS64[name], call(native(DRIVER, isa), name, x), want, x)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("isa", ISAS)
def test_binary(native: Native, name: str, dtype: str, isa: str) -> None:
    rng = np.random.default_rng(3)
    spread = rng.normal(size=(2, 5000)) * 10.0 ** rng.integers(-20, 20, (2, 5000))
    a, b = (
        np.concatenate([edge.ravel(), rng.uniform(-9, 9, 5000), any_size]).astype(dtype)
        for edge, any_size in zip(np.meshgrid(EDGES, EDGES), spread, strict=True)
    )
    by_rounding = {"floor_mod": torch.remainder, "floor_div": torch.floor_divide}  # so in their own precision
    precision = dtype if name in by_rounding else np.float64
    x, y = torch.from_numpy(a.astype(precision)), torch.from_numpy(b.astype(precision))
    want = (by_rounding.get(name) or getattr(torch, name))(x, y).double().numpy()
    got = call(native(DRIVER, isa), name, a, b)
    if name == "floor_mod":  # torch overflows where the quotient does; ours is exact
        got = np.where(np.isnan(want) & np.isfinite(a) & np.isfinite(b), want.astype(dtype), got)
    require(name, 2 if dtype == "float64" else 1, got, want, a, b)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_integers(native: Native, dtype: str, isa: str) -> None:
    rng = np.random.default_rng(4)
    top = np.iinfo(dtype).max
    a = np.concatenate([rng.integers(-100, 100, 3000), rng.integers(-top, top, 3000)]).astype(dtype)
    b = np.concatenate([rng.integers(-9, 10, 5000), rng.integers(-top, top, 1000)]).astype(dtype)
    b[b == 0] = 7
    library = native(DRIVER, isa)
    assert (call(library, "floor_div", a, b) == a // b).all()
    assert (call(library, "floor_mod", a, b) == a % b).all()
    assert (call(library, "fmod", a, b) == np.fmod(a, b)).all()
    assert (call(library, "floor_div_by_eight", a) == a // 8).all()
    assert (call(library, "floor_mod_by_eight", a) == a % 8).all()
    least, minus_one = np.full(64, np.iinfo(dtype).min, dtype), np.full(64, -1, dtype)
    assert (call(library, "floor_div", least, minus_one) == least).all(), "a processor's own division traps"
    assert not call(library, "floor_mod", least, minus_one).any() and not call(library, "fmod", least, minus_one).any()
    small = np.abs(b[:3000]) % 6
    assert (call(library, "pow", a[:3000], small) == a[:3000] ** small).all()


@pytest.mark.parametrize("isa", ISAS)
def test_scalars_and_vectors_agree(native: Native, isa: str) -> None:
    library = native(DRIVER, isa)
    library.one_exp.restype, library.one_exp.argtypes = ctypes.c_float, [ctypes.c_float]
    x = np.linspace(-20, 20, 101, dtype=np.float32)
    assert [library.one_exp(v) for v in x] == call(library, "exp", x).tolist()
