"""Elementary functions in which subnormal numbers count, each of which libdevice takes for 0 or for another.

Triton compiles libdevice so (`nvvm-reflect-ftz`). Here such numbers are scaled by a power of two first, which is exact,
or, where a function is as good as a line there, it is that line.
"""

from __future__ import annotations

from akg_triton.library import HELPERS as LIBRARY

_SLOPES = {
    "erf": 1.1283791670955126,
    **dict.fromkeys(["expm1", "log1p", "sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh"], 1.0),
}
"""Functions that are 0 at 0, and their slopes there."""


def _near_zero(name: str, slope: float) -> str:
    line = "x" if slope == 1.0 else f"x * {slope}"
    kept = f"tl.where(tl.abs(x) < 1.1754943508222875e-38, {line}, libdevice.{name}(x))"
    return f"\n@triton.jit\ndef {name}(x):\n    return {kept}\n"


_OWN = {name: _near_zero(name, slope) for name, slope in _SLOPES.items()} | {
    "rsqrt": """
@triton.jit
def rsqrt(x):
    small = tl.abs(x) < 1.1754943508222875e-38
    return libdevice.rsqrt(tl.where(small, x * 16777216.0, x)) * tl.where(small, 4096.0, 1.0)
""",
    "pow": '''
@triton.jit
def pow(a, b):
    """a ** b: of a small base (a * 2 ** 24) ** b * 2 ** (-24 * b), whose exponent is a whole number and a rest."""
    a = tl.cast(a, tl.float32)
    small = tl.abs(a) < 1.1754943508222875e-38
    made = libdevice.pow(tl.where(small, a * 16777216.0, a), b)
    near = tl.minimum(tl.maximum(tl.cast(b, tl.float32), -4.0), 4.0)  # beyond, it is 0 or infinite as it is
    whole = libdevice.rint(-24.0 * near)
    scale = tl.exp2(whole) * tl.exp2(tl.fma(near, -24.0, -whole))
    return tl.where(small, made * scale, made)
''',
    "atan2": '''
@triton.jit
def atan2(y, x):
    """The angle of the point (x, y)."""
    scale = tl.where(tl.maximum(tl.abs(y), tl.abs(x)) < 1099511627776.0, 9.223372036854775808e18, 1.0)
    return libdevice.atan2(y * scale, x * scale)
''',
    "fmod": '''
@triton.jit
def fmod(a, b):
    """The remainder with the sign of a: of both times 2 ** 24; of a large a and a small b first by b * 2 ** 24."""
    near = tl.abs(a) < 1.2676506002282294e30
    small = tl.abs(b) < 1.1754943508222875e-38
    scaled = b * 16777216.0
    rest = libdevice.fmod(tl.where(near, a * 16777216.0, a), tl.where(near | small, scaled, b))
    again = libdevice.fmod(tl.where(small, rest * 16777216.0, 0.0), tl.where(small, scaled, 1.0))
    return tl.where(near, rest * 5.9604644775390625e-08, tl.where(small, again * 5.9604644775390625e-08, rest))
''',
}
_OF_TWO = ("pow", "atan2", "fmod")
FORMS = {name: f"{name}({{0}}, {{1}})" if name in _OF_TWO else f"{name}({{0}})" for name in _OWN}
FORMS |= {"sqrt": "tl.sqrt_rn({0})", "/": "tl.div_rn({0}, {1})", "reciprocal": "tl.div_rn(1.0, {0})"}
"""As Triton spells them, quotients and roots are off by an ulp or two, which `floor` and the like make a whole one."""
HELPERS = _OWN | {
    name: text.replace("libdevice.fmod(", "fmod(") for name, text in LIBRARY.items() if "libdevice.fmod(" in text
}
