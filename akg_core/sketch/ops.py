"""The table of the language's operations: what each takes, what it gives, which hints it knows.

The checker, the interpreter, the emitters and docs/sketch.md all go by it.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

LOAD_HINTS = ("via", "into_memory", "vector", "stream", "layout", "order")
TILE_HINTS = ("layout", "order", "into_memory")
LOOP_HINTS: dict[str, tuple[str, ...]] = {
    "grid": (
        "swizzle",
        "warps",
        "order",
        "persistent",
        "cooperative",
        "vector",
        "specialize",
        "split",
        "stages",
        "descending",
    ),
    "tiles": ("stages", "unroll", "promote", "split", "vector", "order", "specialize"),
    "range": ("stages", "unroll"),
    "whole": ("layout", "order", "vector"),
}
# What a hint's value is: a "count" (a positive whole number or a Tune), a "flag", a "word", or "axes".
HINTS: dict[str, tuple[str, str]] = {
    "stages": ("count", "loads of how many turns are under way at once"),
    "unroll": ("count", "how many turns are written out in a row"),
    "promote": ("count", "after how many turns a narrow accumulation is added to the wide one; 1: each turn"),
    "split": ("count", "into how many parts a loop or grid is cut"),
    "swizzle": ("count", "programs go in blocks of so many, so that neighbours share the cache"),
    "warps": ("count", "warps (or threads) for one program"),
    "vector": ("count", "elements a memory instruction moves"),
    "persistent": ("flag", "one program a unit takes tile after tile"),
    "descending": ("flag", "programs of the last tiles start first: they have the most to do"),
    "cooperative": ("flag", "all programs of the axis run at the same time; all_reduce_… and barrier need it"),
    "specialize": ("flag", "some warps only load, others only compute"),
    "stream": ("flag", "data that is not used again soon: pass the cache by"),
    "via": ("word", 'how data comes: "async" or "bulk"'),
    "into_memory": ("word", 'where it is kept: "fast" or "fastest"'),
    "layout": ("word", "a layout that the plugin knows"),
    "order": ("axes", "the axes from outermost to innermost; the last runs along the lanes"),
}
PRECISIONS = ("ieee", "split3", "fast")
ROUNDINGS = ("tf32", "bf16", "f16")


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of the language.

    `kind` groups operations that share rules: "elementwise", "reduce", "argreduce", "scan", "sort", "pick",
    "contract", "create", "load", "store", "atomic", "axis", "split", "cast", "round", "split_float", "random",
    "all_reduce", "barrier".
    `dtype` says how the result's dtype follows: "float" (ints become f32), "same" (the first argument's),
    "promote" (of all arguments), "select" (of all but the first), "sum" (ints and bool become i64), "bool", "i64",
    "f32", "bits" (an int as wide as the float), "given" (by an argument), "tensor" (the tensor's), "contract" (see
    docs), "none" (no result).
    `keywords` change the meaning, `hints` do not. `parameters` may be given by position or by name.
    """

    name: str
    signature: str
    kind: str
    dtype: str
    summary: str
    parameters: tuple[str, ...]
    required: int
    keywords: tuple[str, ...]
    hints: tuple[str, ...] = ()

    @property
    def arity(self) -> tuple[int, int]:
        """The fewest and the most positional arguments."""
        return self.required, len(self.parameters)


OPERATIONS: dict[str, Operation] = {}


def _add(kind: str, dtype: str, signature: str, summary: str, hints: tuple[str, ...] = ()) -> None:
    header = ast.parse(f"def {signature}: ...").body[0]
    assert isinstance(header, ast.FunctionDef)
    parameters = tuple(a.arg for a in header.args.args)
    OPERATIONS[header.name] = Operation(
        header.name,
        signature.replace("*, ", ""),
        kind,
        dtype,
        summary,
        parameters,
        len(parameters) - len(header.args.defaults),
        tuple(a.arg for a in header.args.kwonlyargs),
        hints,
    )


_add(
    "load", "tensor", "load(element, *, other=0)", "the values at these places; `other` outside the tensor", LOAD_HINTS
)
_add(
    "store",
    "none",
    "store(element, value)",
    "writes them, converted to the tensor's dtype; nothing outside",
    LOAD_HINTS,
)
for _name, _verb in (
    ("add", "adds the value to"),
    ("max", "takes the maximum into"),
    ("min", "takes the minimum into"),
):
    _add(
        "atomic",
        "none",
        f"atomic_{_name}(element, value)",
        f"{_verb} each place, all lanes that meet counted",
        LOAD_HINTS,
    )

_add("create", "given", 'full(axes, value, dtype="f32")', "a tile of one value", TILE_HINTS)
_add("create", "given", 'zeros(axes, dtype="f32")', "a tile of zeros", TILE_HINTS)
_add("cast", "given", "cast(tile, dtype)", "another dtype; also written `f32(tile)`; rounds to nearest even")
_add("axis", "i64", "begin(axis)", "first position of the axis' tile at hand, a scalar")
_add("axis", "i64", "end(axis)", "one past the last position of the axis' tile at hand, a scalar")
_add("axis", "i64", "size(axis)", "positions in the axis' tile at hand: `end(axis) - begin(axis)`")
_add(
    "split",
    "i64",
    "split(index, sizes)",
    "mixed-radix digits of an index, most significant first; the first is unbounded",
)

for _name, _summary in {
    "exp": "e to the power x",
    "exp2": "2 to the power x",
    "expm1": "exp(x) - 1, exact near 0",
    "log": "natural logarithm",
    "log2": "logarithm to base 2",
    "log10": "logarithm to base 10",
    "log1p": "log(1 + x), exact near 0",
    "sqrt": "square root",
    "rsqrt": "1 / sqrt(x)",
    "sin": "sine, in radians",
    "cos": "cosine, in radians",
    "tan": "tangent, in radians",
    "asin": "inverse sine",
    "acos": "inverse cosine",
    "atan": "inverse tangent",
    "sinh": "hyperbolic sine",
    "cosh": "hyperbolic cosine",
    "tanh": "hyperbolic tangent",
    "asinh": "inverse hyperbolic sine",
    "acosh": "inverse hyperbolic cosine",
    "atanh": "inverse hyperbolic tangent",
    "sigmoid": "1 / (1 + exp(-x))",
    "erf": "error function",
    "erfc": "1 - erf(x), exact for large x",
    "reciprocal": "1 / x",
    "gelu": "x * (1 + erf(x / sqrt(2))) / 2",
    "gelu_tanh": "the tanh form of gelu",
    "silu": "x * sigmoid(x)",
    "softplus": "log1p(exp(-abs(x))) + maximum(x, 0)",
}.items():
    _add("elementwise", "float", f"{_name}(x)", _summary)
_add("elementwise", "float", "atan2(y, x)", "angle of the point (x, y)")

for _name, _summary in {
    "abs": "absolute value",
    "sign": "-1, 0 or 1",
    "floor": "largest whole number not above",
    "ceil": "smallest whole number not below",
    "round": "nearest whole number, halves to even",
    "trunc": "whole part, towards zero",
    "relu": "maximum(x, 0); NaN stays NaN",
}.items():
    _add("elementwise", "same", f"{_name}(x)", _summary)

_add("elementwise", "promote", "maximum(a, b)", "the larger; NaN if either is NaN")
_add("elementwise", "promote", "minimum(a, b)", "the smaller; NaN if either is NaN")
_add("elementwise", "promote", "clamp(x, low, high)", "minimum(maximum(x, low), high)")
_add("elementwise", "promote", "fmod(a, b)", "remainder with the sign of a")
_add("elementwise", "promote", "remainder(a, b)", "remainder with the sign of b; also written `a % b`")
_add("elementwise", "select", "where(condition, a, b)", "a where the condition holds, else b")
_add("elementwise", "bool", "isnan(x)", "whether x is NaN")
_add("elementwise", "bool", "isinf(x)", "whether x is infinite")
_add("elementwise", "bool", "isfinite(x)", "whether x is neither infinite nor NaN")
_add("elementwise", "bits", "bits(x)", "the bits of an f32 as an i32, of an f64 as an i64")

_add("reduce", "sum", "reduce_sum(tile, axes)", "sum over an axis, or a group of axes; f16 and bf16 add up in f32")
_add("reduce", "sum", "reduce_prod(tile, axes)", "product over an axis or a group")
_add("reduce", "same", "reduce_max(tile, axes)", "largest; NaN if any is NaN")
_add("reduce", "same", "reduce_min(tile, axes)", "smallest; NaN if any is NaN")
_add("reduce", "bool", "reduce_any(tile, axes)", "whether any is true (not zero)")
_add("reduce", "bool", "reduce_all(tile, axes)", "whether all are true (not zero)")
_add(
    "argreduce",
    "i64",
    "argmax(tile, axis)",
    "position on the axis of the largest; the first of equals; NaN counts as largest",
)
_add(
    "argreduce",
    "i64",
    "argmin(tile, axis)",
    "position on the axis of the smallest; the first of equals; NaN counts as smallest",
)
_add("scan", "sum", "scan_sum(tile, axis, *, reverse=False)", "running sum along the axis, each position included")
_add("scan", "sum", "scan_prod(tile, axis, *, reverse=False)", "running product")
_add("scan", "same", "scan_max(tile, axis, *, reverse=False)", "running maximum")
_add("scan", "same", "scan_min(tile, axis, *, reverse=False)", "running minimum")
_add(
    "sort",
    "same",
    "sort(tile, axis, *, bitonic=False)",
    "whole numbers along the axis, the least first; `bitonic`: they rise, then fall",
)
_add("pick", "same", "first(tile, axis)", "the value at the first position of the axis' tile")
_add("pick", "same", "last(tile, axis)", "the value at the last position of the axis' tile")
_add(
    "contract",
    "contract",
    'dot(a, b, *, over, into=None, precision="ieee")',
    "sum of products over an axis or a group of axes",
    ("promote",),
)

_add(
    "split_float",
    "given",
    "split_float(tile, dtype)",
    "two narrow tiles whose sum is close to the wide one: `high, low = …`",
)
_add("round", "same", "round_to(tile, format)", 'rounded to "tf32", "bf16" or "f16", dtype kept')
_add("random", "f32", "rand(seed, index)", "uniform in [0, 1): Philox4x32-10 with key `seed` and counter `index`")
for _name in ("sum", "max", "min"):
    _add(
        "all_reduce",
        "same",
        f"all_reduce_{_name}(tile, axis)",
        f"{_name} over all programs of a grid axis that run together",
    )
_add(
    "barrier",
    "none",
    "barrier(axis)",
    "waits for all programs of a grid axis that run together: what each stored before, all can load after",
)

# Other spellings that the parser turns into the one form of the tree.
SPELLINGS: dict[str, str] = {
    "pow": "a ** b",
    "index": "the axis' name",
    "logical_not": "not x",
}
EFFECTS = frozenset(name for name, operation in OPERATIONS.items() if operation.dtype == "none")
