"""How TileLang says each elementwise operation, and the functions that a kernel file defines when it needs them."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cache

_SAME = """
    exp exp2 log log2 log10 log1p sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf abs floor
    ceil round trunc isnan
"""
FORMS = {name: f"T.{name}({{0}})" for name in _SAME.split()} | {
    "expm1": 'T.call_pure_extern({0}.dtype, "expm1{suffix}", {0})',
    "erfc": 'T.call_pure_extern({0}.dtype, "erfc{suffix}", {0})',
    "atan2": "T.atan2({0}, {1})",
    "fmod": "T.fmod({0}, {1})",
    "reciprocal": "1.0 / ({0})",
    "sign": "sign({0}, {zero})",
    "isinf": "T.abs({0}) == float('inf')",
    "isfinite": "T.abs({0}) < float('inf')",
    "bits": "T.reinterpret({0}, '{bits}')",
    "sigmoid": "sigmoid({0})",
    "silu": "({0}) * sigmoid({0})",
    "gelu": "gelu({0})",
    "gelu_tanh": "gelu_tanh({0})",
    "softplus": "softplus({0})",
    "remainder": "remainder({0}, {1})",
    "maximum": "maximum({0}, {1})",
    "minimum": "minimum({0}, {1})",
    "relu": "maximum({0}, {zero})",
    "clamp": "minimum(maximum({0}, {1}), {2})",
}
BESIDE_ONE = {"exp": "exp2_beside_one(({0}) * 1.4426950408889634)", "exp2": "exp2_beside_one({0})"}
"""Of f32, where an error counts beside 1."""
WHOLE = {  # of integers
    "from_bits": "T.reinterpret({0}, '{floats}')",
    "abs": "T.max({0}, -({0}))",
    "floor": "{0}",
    "ceil": "{0}",
    "round": "{0}",
    "trunc": "{0}",
    "isnan": "T.bool(False)",
    "isinf": "T.bool(False)",
    "isfinite": "T.bool(True)",
    "sign": "sign({0}, {zero})",
    "maximum": "T.max({0}, {1})",
    "minimum": "T.min({0}, {1})",
    "relu": "T.max({0}, {zero})",
    "clamp": "T.min(T.max({0}, {1}), {2})",
    "fmod": "T.truncmod({0}, {1})",
    "remainder": "T.floormod({0}, {1})",
}

SUPPORT = {
    "maximum": '''
@T.macro
def maximum(a, b):
    """The larger; NaN if either is NaN."""
    return T.if_then_else(T.Or(a > b, T.isnan(a)), a, b)
''',
    "minimum": '''
@T.macro
def minimum(a, b):
    """The smaller; NaN if either is NaN."""
    return T.if_then_else(T.Or(a < b, T.isnan(a)), a, b)
''',
    "sign": """
@T.macro
def sign(x, zero):
    return T.cast(x > zero, x.dtype) - T.cast(x < zero, x.dtype)
""",
    "sigmoid": """
@T.macro
def sigmoid(x):
    return 1.0 / (1.0 + T.exp(-x))
""",
    "gelu": """
@T.macro
def gelu(x):
    return 0.5 * x * (1.0 + T.erf(x * 0.7071067811865476))
""",
    "gelu_tanh": """
@T.macro
def gelu_tanh(x):
    return 0.5 * x * (1.0 + T.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))
""",
    "softplus": """
@T.macro
def softplus(x):
    return T.log1p(T.exp(-T.abs(x))) + maximum(x, x * 0.0)
""",
    "remainder": '''
@T.macro
def remainder(a, b):
    """The remainder with the sign of b."""
    r = T.fmod(a, b)
    return T.if_then_else(T.And(r != 0.0, (r < 0.0) != (b < 0.0)), r + b, r)
''',
    "floor_quotient": '''
@T.macro
def floor_quotient(a, b):
    """a / b rounded down, exact where the quotient is."""
    r = T.fmod(a, b)
    q = (a - r) / b
    q = T.if_then_else(T.And(r != 0.0, (r < 0.0) != (b < 0.0)), q - 1.0, q)
    whole = T.floor(q)
    return T.if_then_else(b == 0.0, a / b, T.if_then_else(q - whole > 0.5, whole + 1.0, whole))
''',
    "int_power": '''
@T.macro
def int_power(a, b):
    """a to the power b, wrapping; b is not negative."""
    power = T.cast(1, a.dtype)
    for _ in [0] * 6:
        power = T.if_then_else((b & 1) != 0, power * a, power)
        a = a * a
        b = b >> 1
    return power
''',
    "ordered": '''
@T.macro
def ordered(x, nan):
    """The bits of a float as a whole number, which compares as the float does; `nan`: what a NaN becomes."""
    whole, last = ("int64", 63) if x.dtype == "float64" else ("int32", 31)
    bits = T.reinterpret(x, whole)
    return T.if_then_else(T.isnan(x), T.cast(nan, whole), bits ^ ((bits >> last) & ((1 << last) - 1)))
''',
    "restored": '''
@T.macro
def restored(bits):
    """The float that `ordered` made a whole number of."""
    real, last = ("float64", 63) if bits.dtype == "int64" else ("float32", 31)
    return T.reinterpret(bits ^ ((bits >> last) & ((1 << last) - 1)), real)
''',
    "exp2_beside_one": '''
EXP2_BESIDE_ONE = """
__device__ __forceinline__ float exp2_beside_one(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
"""


@T.macro
def exp2_beside_one(x):
    """2 to the power x, 0 where that is less than all normal numbers."""
    return T.call_pure_extern("float32", "exp2_beside_one", x)
''',
    "uniform": '''
@T.macro
def uniform(seed, index):
    """f32 in [0, 1) from Philox4x32-10 with key `seed` and counter `index`: the 24 high bits of the first word."""
    low, half = T.uint64(0xFFFFFFFF), T.uint64(32)
    key0 = T.cast(seed, "uint64") & low
    key1 = T.cast(seed, "uint64") >> half
    word0 = T.cast(index, "uint64") & low
    word1 = T.cast(index, "uint64") >> half
    word2 = T.uint64(0)
    word3 = T.uint64(0)
    for _ in [0] * 10:
        first = word0 * T.uint64(0xD2511F53)
        second = word2 * T.uint64(0xCD9E8D57)
        word0 = (second >> half) ^ word1 ^ key0
        word1 = second & low
        word2 = (first >> half) ^ word3 ^ key1
        word3 = first & low
        key0 = (key0 + T.uint64(0x9E3779B9)) & low
        key1 = (key1 + T.uint64(0xBB67AE85)) & low
    return T.cast(word0 >> T.uint64(8), "float32") * T.float32(5.9604644775390625e-08)
''',
    "grid_barrier": '''
@T.macro
def grid_barrier(arrived, kind, group, members):
    """Wait until all members of a group of programs have come here; what each wrote before, all can read after."""
    T.sync_threads()
    if T.get_thread_binding() == 0:
        T.call_extern("handle", "__threadfence")  # TileLang's atomic_add of whole numbers knows no memory order
        T.atomic_add(arrived[kind, group], 1)
        while T.atomic_load(arrived[kind, group], memory_order="acquire") < members:
            T.evaluate(0)
    T.sync_threads()
''',
    "round_tf32": '''
@T.macro
def round_tf32(x):
    """x to the ten bits of tf32's fraction, to nearest, ties away from zero."""
    bits = (T.reinterpret(x, "int32") + 0x1000) & -0x2000
    return T.Select(T.abs(x) < float("inf"), T.reinterpret(bits, "float32"), x)
''',
}


def support(needed: Iterable[str]) -> str:
    """The texts of functions above by name, in the order of the table, with those that they call."""
    known, waiting = set[str](), set(needed)
    while waiting:
        name = waiting.pop()
        known.add(name)
        waiting |= called(SUPPORT[name]) - known
    return "\n".join(text for name, text in SUPPORT.items() if name in known)


@cache
def called(text: str) -> frozenset[str]:
    """The functions above that Python text names."""
    return frozenset(node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)) & SUPPORT.keys()
