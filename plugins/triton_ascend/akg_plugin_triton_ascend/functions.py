"""Elementary functions as the Triton of these chips has them, and those that it has not, of those that it has.

Its libdevice refuses some functions and gets others by differences that cancel (`expm1` as exp(x) - 1), so that only
those are called of it that the chip's own library computes.
"""

from __future__ import annotations

import re

from akg_triton.emit.functions import LIBDEVICE
from akg_triton.library import HELPERS as LIBRARY

_OF_TRITON = ("exp", "exp2", "log", "log2", "sin", "cos", "rsqrt", "erf")
_OF_LIBRARY = ("log1p", "tan", "atan", "tanh", "pow")
_OWN = {
    "rint": '''
@triton.jit
def rint(x):
    """The nearest whole number, the even one of two."""
    low = tl.floor(x)
    over = x - low
    odd = low - 2.0 * tl.floor(low * 0.5)
    return tl.where((over > 0.5) | ((over == 0.5) & (odd == 1.0)), low + 1.0, low)
''',
    "trunc": """
@triton.jit
def trunc(x):
    return tl.where(x < 0.0, tl.ceil(x), tl.floor(x))
""",
    "fmod": '''
@triton.jit
def fmod(a, b):
    """The remainder with the sign of a."""
    return a - trunc(a / b) * b
''',
    "expm1": '''
@triton.jit
def expm1(x):
    """exp(x) - 1, corrected where that cancels (Kahan)."""
    u = tl.exp(x)
    less = u - 1.0
    near = (u != 1.0) & (tl.abs(x) < 1.0)
    return tl.where(u == 1.0, x, tl.where(near, less * x / tl.log(tl.where(near, u, 2.0)), less))
''',
    "log10": """
@triton.jit
def log10(x):
    return tl.log(x) * 0.4342944819032518
""",
    "asin": """
@triton.jit
def asin(x):
    return libdevice.atan(x / tl.sqrt((1.0 - x) * (1.0 + x)))
""",
    "acos": """
@triton.jit
def acos(x):
    return 1.5707963267948966 - asin(x)
""",
    "sinh": """
@triton.jit
def sinh(x):
    less = expm1(tl.abs(x))
    made = 0.5 * (less + less / (less + 1.0))
    return tl.where(x < 0.0, -made, made)
""",
    "cosh": """
@triton.jit
def cosh(x):
    e = tl.exp(tl.abs(x))
    return 0.5 * (e + 1.0 / e)
""",
    "asinh": """
@triton.jit
def asinh(x):
    a = tl.abs(x)
    made = libdevice.log1p(a + a * a / (1.0 + tl.sqrt(a * a + 1.0)))
    return tl.where(x < 0.0, -made, made)
""",
    "acosh": """
@triton.jit
def acosh(x):
    return tl.log(x + tl.sqrt((x - 1.0) * (x + 1.0)))
""",
    "atanh": """
@triton.jit
def atanh(x):
    return 0.5 * libdevice.log1p(2.0 * x / (1.0 - x))
""",
    "atan2": '''
@triton.jit
def atan2(y, x):
    """The angle of the point (x, y)."""
    a = libdevice.atan(y / x)
    turned = tl.where(y < 0.0, a - 3.141592653589793, a + 3.141592653589793)
    upright = tl.where(y < 0.0, -1.5707963267948966, 1.5707963267948966)
    return tl.where(x > 0.0, a, tl.where(x < 0.0, turned, tl.where(y == 0.0, 0.0, upright)))
''',
    "erfc": "",  # 1 - erf(x) has no digits where erfc is small
}
_PLACES = {"atan2": "{0}, {1}", "fmod": "{0}, {1}", "pow": "{0}, {1}"}


def _text(name: str) -> str:
    """How a function of that name in other libraries is called."""
    module = "tl." if name in _OF_TRITON else "libdevice." if name in _OF_LIBRARY else ""
    return f"{module}{name}"


def _said(helper: str) -> str:
    """A helper with the functions that it calls called so."""
    return re.sub(r"libdevice\.(\w+)", lambda match: _text(match[1]), helper)


FORMS = {op: f"{_text(name)}({_PLACES.get(name, '{0}')})" for op, name in LIBDEVICE.items()}
_SIGNED = LIBRARY["uniform"].replace("(word >> 8)", "(word >> 8).to(tl.int32)")  # no unit converts u32 to f32
HELPERS = {name: _said(text) for name, text in LIBRARY.items() if "libdevice." in text}
_BY_TRITON = {  # its own network, whose lanes no threads share
    "in_order": "\n@triton.jit\ndef in_order(t, bits, dims, free):\n    return tl.sort(t)\n",
    "merged": "\n@triton.jit\ndef merged(t, bits, dims):\n    return tl.sort(t)\n",
}
HELPERS |= {**_OWN, **_BY_TRITON, "grid_barrier": "", "uniform": _SIGNED}
