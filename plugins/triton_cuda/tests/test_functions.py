"""Functions are right of subnormal numbers, by a libdevice that takes all of those for 0."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from akg_plugin_triton_cuda.functions import HELPERS

SMALLEST = np.finfo(np.float32).smallest_normal
A = (0.0, -0.0, 1e-39, -1e-39, 3e-40, 1e-42, 1.4e-45, 1.1e-38, 1.2e-38, 1e-30, -1e-30, 0.5, -2.0, 3.0, 1e30, 3e38, 1.0)
B = (0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 3.0, 0.1, -0.3, 1.1, -0.9, 1e-3, 1e10, -1e10, 1e-39, 2e-40, 3e-42, 1e38, 5.0)
ODD = (np.inf, -np.inf, np.nan)
OF_ONE: dict[str, Callable[..., Any]] = {
    "rsqrt": lambda x: 1.0 / np.sqrt(x),
    "erf": np.vectorize(math.erf, otypes=[np.float64]),
    **{name: getattr(np, name) for name in ("expm1", "log1p", "sin", "tan", "sinh", "tanh")},
    **{f"a{name}": getattr(np, f"arc{name}") for name in ("sin", "tan", "sinh", "tanh")},
}
DUE: dict[str, Callable[..., Any]] = OF_ONE | {"pow": np.power, "atan2": np.arctan2, "fmod": np.fmod}


def flushing(function: Callable[..., Any]) -> Callable[..., Any]:
    """Of f32 values, with subnormal numbers made zero, before and after."""

    def flushed(x: Any) -> Any:
        x = np.asarray(x, np.float32)
        return np.where(np.abs(x) < SMALLEST, np.copysign(np.float32(0), x), x)

    def call(*given: Any) -> Any:
        return flushed(function(*(flushed(x).astype(np.float64) for x in given)).astype(np.float32))

    return call


def kernel_functions() -> dict[str, Callable[..., Any]]:
    """The plugin's functions on arrays of f32."""
    tl = SimpleNamespace(
        float32=np.float32,
        abs=np.abs,
        where=np.where,
        cast=lambda x, dtype: np.asarray(x, dtype),
        minimum=np.minimum,
        maximum=np.maximum,
        exp2=np.exp2,
        fma=lambda a, b, c: (np.asarray(a, np.float64) * b + c).astype(np.float32),
    )
    library = SimpleNamespace(
        pow=flushing(np.power),
        fmod=flushing(np.fmod),
        atan2=flushing(np.arctan2),
        rint=np.rint,
    )
    library.__dict__.update({name: flushing(due) for name, due in OF_ONE.items()})
    names = {"tl": tl, "libdevice": library, "triton": SimpleNamespace(jit=lambda f: f)}
    exec("\n".join(HELPERS[name] for name in DUE), names)
    return {name: names[name] for name in DUE}


@pytest.mark.parametrize("name", DUE)
@np.errstate(all="ignore")
def test_subnormal_numbers_are_told_apart(name: str) -> None:
    others = [b for b in B if name != "pow" or b == 0.0 or abs(b) >= SMALLEST]  # exponents count in libdevice's too
    a, b = (x.ravel() for x in np.meshgrid(np.float32((*A, *ODD)), np.float32((*others, *ODD))))
    function = kernel_functions()[name]
    given = (a,) if name in OF_ONE else (a, b)
    found = np.asarray(function(*given), np.float64)
    wanted = DUE[name](*(x.astype(np.float64) for x in given)).astype(np.float32)
    least = 1e-45 if name in OF_ONE else SMALLEST  # what is subnormal itself may be 0 where two numbers lead there
    near = np.abs(found - wanted) <= 1e-6 * np.abs(wanted) + least
    wrong = ~(near | (found == wanted) | (np.isnan(found) & np.isnan(wanted)))
    assert not wrong.any(), [*zip(a[wrong], b[wrong], found[wrong], wanted[wrong], strict=True)][:5]


@np.errstate(all="ignore")
def test_a_remainder_is_exact() -> None:
    large, small = np.float32((1e-39, 5e-44, 1e-30, 7.0, 3e38)), np.float32((1e-44, 3e-40, 1e-38))
    a, b = (x.ravel() for x in np.meshgrid(large, small))
    assert (kernel_functions()["fmod"](a, b) == np.fmod(a, b)).all()
