"""How Triton says each elementwise operation. What is no `tl.` function of it is one of the library."""

from __future__ import annotations

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
    "relu": "maximum({0}, 0.0)",
    "clamp": "minimum(maximum({0}, {1}), {2})",
    **{name: f"{name}({{0}})" for name in ("bits", "sigmoid", "gelu", "gelu_tanh", "silu", "softplus")},
    **{name: f"{name}({{0}}, {{1}})" for name in ("remainder", "maximum", "minimum")},
}
PLACES = {  # of programs and tiles
    "program": "tl.program_id(0)",
    "programs": "tl.num_programs(0)",
    "cdiv": "tl.cdiv({0}, {1})",
    "swizzled_row": "tl.swizzle2d({0}, {1}, {2}, {3}, {4})[0]",
    "swizzled_column": "tl.swizzle2d({0}, {1}, {2}, {3}, {4})[1]",
}
WHOLE = {  # of integers
    "from_bits": "from_bits({0})",
    "abs": "tl.abs({0})",
    **dict.fromkeys(("floor", "ceil", "round", "trunc"), "{0}"),
    **dict.fromkeys(("isnan", "isinf"), "{0} != {0}"),
    "isfinite": "{0} == {0}",
    "maximum": "tl.maximum({0}, {1})",
    "minimum": "tl.minimum({0}, {1})",
    "relu": "tl.maximum({0}, 0)",
    "clamp": "tl.minimum(tl.maximum({0}, {1}), {2})",
    "fmod": "{0} % {1}",
    "remainder": "floor_mod({0}, {1})",
}
