"""How Triton says each elementwise operation, and the small functions that a kernel file defines when it needs them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from akg_core.plugin import Unsupported

# In libdevice for f32 and f64, exact to an ulp or two; Triton's own exp, log, sin … trade digits for speed.
_SAME = """
    exp exp2 expm1 log log2 log10 log1p rsqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc atan2
    fmod trunc pow
"""
LIBDEVICE = {name: name for name in _SAME.split()} | {"round": "rint"}

# {0}, {1}, … are operands, written so that they can stand in any expression.
TEXTS = {
    "abs": "tl.abs({0})",
    "floor": "tl.floor({0})",
    "ceil": "tl.ceil({0})",
    "sqrt": "tl.sqrt({0})",
    "reciprocal": "1.0 / {0}",
    "isnan": "{0} != {0}",
    "isinf": 'tl.abs({0}) == float("inf")',
    "isfinite": 'tl.abs({0}) < float("inf")',
    "sigmoid": "sigmoid({0})",
    "gelu": "gelu({0})",
    "gelu_tanh": "gelu_tanh({0})",
    "silu": "silu({0})",
    "softplus": "softplus({0})",
    "remainder": "remainder({0}, {1})",
    "maximum": "maximum({0}, {1})",
    "minimum": "minimum({0}, {1})",
    "relu": "maximum({0}, 0.0)",
    "clamp": "minimum(maximum({0}, {1}), {2})",
}
WHOLE = {  # of integers
    "abs": "tl.abs({0})",
    "floor": "{0}",
    "ceil": "{0}",
    "round": "{0}",
    "trunc": "{0}",
    "isnan": "{0} != {0}",
    "isinf": "{0} != {0}",
    "isfinite": "{0} == {0}",
    "maximum": "tl.maximum({0}, {1})",
    "minimum": "tl.minimum({0}, {1})",
    "relu": "tl.maximum({0}, 0)",
    "clamp": "tl.minimum(tl.maximum({0}, {1}), {2})",
    "fmod": "{0} % {1}",
    "remainder": "floor_mod({0}, {1})",
}

SUPPORT = {
    "maximum": '''
@triton.jit
def maximum(a, b):
    """The larger; NaN if either is NaN."""
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)
''',
    "minimum": '''
@triton.jit
def minimum(a, b):
    """The smaller; NaN if either is NaN."""
    return tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)
''',
    "larger": """
@triton.jit
def larger(a, b):
    return tl.maximum(a, b)
""",
    "smaller": """
@triton.jit
def smaller(a, b):
    return tl.minimum(a, b)
""",
    "multiply": """
@triton.jit
def multiply(a, b):
    return a * b
""",
    "argmax": '''
@triton.jit
def argmax(a, i, b, j):
    """The larger with its position: the first of equals; a NaN counts as largest."""
    first = (a > b) | ((a != a) & (b == b)) | (((a == b) | ((a != a) & (b != b))) & (i < j))
    return tl.where(first, a, b), tl.where(first, i, j)
''',
    "argmin": '''
@triton.jit
def argmin(a, i, b, j):
    """The smaller with its position: the first of equals; a NaN counts as smallest."""
    first = (a < b) | ((a != a) & (b == b)) | (((a == b) | ((a != a) & (b != b))) & (i < j))
    return tl.where(first, a, b), tl.where(first, i, j)
''',
    "sigmoid": """
@triton.jit
def sigmoid(x):
    return 1.0 / (1.0 + libdevice.exp(-x))
""",
    "silu": """
@triton.jit
def silu(x):
    return x / (1.0 + libdevice.exp(-x))
""",
    "gelu": """
@triton.jit
def gelu(x):
    return 0.5 * x * (1.0 + libdevice.erf(x * 0.7071067811865476))
""",
    "gelu_tanh": """
@triton.jit
def gelu_tanh(x):
    return 0.5 * x * (1.0 + libdevice.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))
""",
    "softplus": """
@triton.jit
def softplus(x):
    return libdevice.log1p(libdevice.exp(-tl.abs(x))) + maximum(x, 0.0)
""",
    "remainder": '''
@triton.jit
def remainder(a, b):
    """The remainder with the sign of b."""
    r = libdevice.fmod(a, b)
    return tl.where((r != 0.0) & ((r < 0.0) != (b < 0.0)), r + b, r)
''',
    "floor_quotient": '''
@triton.jit
def floor_quotient(a, b):
    """a / b rounded down, exact where the quotient is."""
    r = libdevice.fmod(a, b)
    q = (a - r) / b
    q = tl.where((r != 0.0) & ((r < 0.0) != (b < 0.0)), q - 1.0, q)
    whole = tl.floor(q)
    return tl.where(b == 0.0, a / b, tl.where(q - whole > 0.5, whole + 1.0, whole))
''',
    "floor_div": '''
@triton.jit
def floor_div(a, b):
    """Integer division that rounds down."""
    q, r = a // b, a % b
    return tl.where((r != 0) & ((r < 0) != (b < 0)), q - 1, q)
''',
    "floor_mod": '''
@triton.jit
def floor_mod(a, b):
    """The remainder with the sign of b."""
    r = a % b
    return tl.where((r != 0) & ((r < 0) != (b < 0)), r + b, r)
''',
    "int_power": '''
@triton.jit
def int_power(a, b):
    """a to the power b, wrapping; b is not negative."""
    power = a * 0 + b * 0 + 1
    for _ in tl.static_range(6):
        power = tl.where((b & 1) != 0, power * a, power)
        a = a * a
        b = b >> 1
    return power
''',
    "meet": '''
@triton.jit
def meet(arrived, members):
    """Wait until all members of a group of programs have come here; what each wrote before, all can read after."""
    tl.debug_barrier()
    tl.atomic_add(arrived, 1)
    while tl.atomic_add(arrived, 0) < members:
        pass
    tl.debug_barrier()
''',
    "uniform": '''
@triton.jit
def uniform(seed, index):
    """f32 in [0, 1) from Philox4x32-10 with key `seed` and counter `index`: the 24 high bits of the first word."""
    seed = tl.cast(seed, tl.int64)
    index = tl.cast(index, tl.int64)
    low = tl.cast(index & 0xFFFFFFFF, tl.uint32)
    high = tl.cast((index >> 32) & 0xFFFFFFFF, tl.uint32)
    word, _, _, _ = tl.philox(seed, low, high, low * 0, low * 0)
    return (word >> 8).to(tl.float32) * 5.9604644775390625e-08
''',
    "round_tf32": '''
@triton.jit
def round_tf32(x):
    """x to the ten bits of tf32's fraction, to nearest, ties away from zero."""
    bits = (x.to(tl.int32, bitcast=True) + 0x1000) & -0x2000
    return tl.where(tl.abs(x) < float("inf"), bits.to(tl.float32, bitcast=True), x)
''',
}


def support(text: str, others: Mapping[str, str]) -> str:
    """The functions above that `text` calls, in the order of the table, those that they call before them.

    `others`: texts in place of those above. Raises Unsupported where one that is needed has no text.
    """
    known = SUPPORT | dict(others)
    needed: set[str] = set()
    texts = [text]
    while texts:
        current = texts.pop()
        for name in SUPPORT:
            if name not in needed and re.search(rf"(?<![\w.\"]){name}(?=[(),])", current):
                needed.add(name)
                if not known[name]:
                    raise Unsupported(f"`{name}` has no form in the Triton of this chip.")
                texts.append(known[name])
    return "\n".join(known[name] for name in SUPPORT if name in needed)
