"""The table of the language's operations: what each takes, what it gives, which hints it knows.

The checker, the interpreter, the emitters and docs/sketch.md all go by it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

LOAD_HINTS = ("via", "into_memory", "vector", "stream", "layout", "order")
TILE_HINTS = ("layout", "order", "into_memory")
_GRID_HINTS = "swizzle warps order persistent cooperative vector specialize split stages descending"
LOOP_HINTS: dict[str, tuple[str, ...]] = {
    "grid": tuple(_GRID_HINTS.split()),
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
    "nan_elsewhere": ("flag", "where one is NaN, what is stored is NaN whatever this gives"),
    "beside_one": ("flag", "an error counts beside 1, not beside the result: others that weigh as it does weigh 1"),
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
    "f32", "bits" (an int as wide as the float), "from_bits" (a float as wide as the int), "given" (by an argument),
    "tensor" (the tensor's), "contract" (see docs), "none" (no result).
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


# The operations of a kind that give a dtype, each with what it stands for.
_TABLE = r"""
load tensor
    load(element, *, other=0)  the values at these places; `other` outside the tensor
store none
    store(element, value)  writes them, converted to the tensor's dtype; nothing outside
atomic none
    atomic_add(element, value)  adds the value to each place, all lanes that meet counted
    atomic_max(element, value)  takes the maximum into each place, all lanes that meet counted
    atomic_min(element, value)  takes the minimum into each place, all lanes that meet counted
create given
    full(axes, value, dtype="f32")  a tile of one value
    zeros(axes, dtype="f32")        a tile of zeros
cast given
    cast(tile, dtype)  another dtype; also written `f32(tile)`; rounds to nearest even
axis i64
    begin(axis)  first position of the axis' tile at hand, a scalar
    end(axis)    one past the last position of the axis' tile at hand, a scalar
    size(axis)   positions in the axis' tile at hand: `end(axis) - begin(axis)`
split i64
    split(index, sizes)  mixed-radix digits of an index, most significant first; the first is unbounded
elementwise float
    exp(x)         e to the power x
    exp2(x)        2 to the power x
    expm1(x)       exp(x) - 1, exact near 0
    log(x)         natural logarithm
    log2(x)        logarithm to base 2
    log10(x)       logarithm to base 10
    log1p(x)       log(1 + x), exact near 0
    sqrt(x)        square root
    rsqrt(x)       1 / sqrt(x)
    sin(x)         sine, in radians
    cos(x)         cosine, in radians
    tan(x)         tangent, in radians
    asin(x)        inverse sine
    acos(x)        inverse cosine
    atan(x)        inverse tangent
    sinh(x)        hyperbolic sine
    cosh(x)        hyperbolic cosine
    tanh(x)        hyperbolic tangent
    asinh(x)       inverse hyperbolic sine
    acosh(x)       inverse hyperbolic cosine
    atanh(x)       inverse hyperbolic tangent
    sigmoid(x)     1 / (1 + exp(-x))
    erf(x)         error function
    erfc(x)        1 - erf(x), exact for large x
    reciprocal(x)  1 / x
    gelu(x)        x * (1 + erf(x / sqrt(2))) / 2
    gelu_tanh(x)   the tanh form of gelu
    silu(x)        x * sigmoid(x)
    softplus(x)    log1p(exp(-abs(x))) + maximum(x, 0)
    atan2(y, x)    angle of the point (x, y)
elementwise same
    abs(x)    absolute value
    sign(x)   -1, 0 or 1
    floor(x)  largest whole number not above
    ceil(x)   smallest whole number not below
    round(x)  nearest whole number, halves to even
    trunc(x)  whole part, towards zero
    relu(x)   maximum(x, 0); NaN stays NaN
elementwise promote
    maximum(a, b)        the larger; NaN if either is NaN
    minimum(a, b)        the smaller; NaN if either is NaN
    clamp(x, low, high)  minimum(maximum(x, low), high)
    fmod(a, b)           remainder with the sign of a
    remainder(a, b)      remainder with the sign of b; also written `a % b`
elementwise select
    where(condition, a, b)  a where the condition holds, else b
elementwise bool
    isnan(x)     whether x is NaN
    isinf(x)     whether x is infinite
    isfinite(x)  whether x is neither infinite nor NaN
elementwise bits
    bits(x)  the bits of an f32 as an i32, of an f64 as an i64
elementwise from_bits
    from_bits(x)  the f32 whose bits an i32 has, or the f64 of an i64
reduce sum
    reduce_sum(tile, axes)   sum over an axis, or a group of axes; f16 and bf16 add up in f32
    reduce_prod(tile, axes)  product over an axis or a group
reduce same
    reduce_max(tile, axes)  largest; NaN if any is NaN
    reduce_min(tile, axes)  smallest; NaN if any is NaN
reduce bool
    reduce_any(tile, axes)  whether any is true (not zero)
    reduce_all(tile, axes)  whether all are true (not zero)
argreduce i64
    argmax(tile, axis)  position on the axis of the largest; the first of equals; NaN counts as largest
    argmin(tile, axis)  position on the axis of the smallest; the first of equals; NaN counts as smallest
scan sum
    scan_sum(tile, axis, *, reverse=False)   running sum along the axis, each position included
    scan_prod(tile, axis, *, reverse=False)  running product
scan same
    scan_max(tile, axis, *, reverse=False)  running maximum
    scan_min(tile, axis, *, reverse=False)  running minimum
sort same
    sort(tile, axis, *, bitonic=False)  whole numbers along the axis, the least first; `bitonic`: they rise, then fall
pick same
    first(tile, axis)  the value at the first position of the axis' tile
    last(tile, axis)   the value at the last position of the axis' tile
contract contract
    dot(a, b, *, over, into=None, precision="ieee")  sum of products over an axis or a group of axes
split_float given
    split_float(tile, dtype)  two narrow tiles whose sum is close to the wide one: `high, low = …`
round same
    round_to(tile, format)  rounded to "tf32", "bf16" or "f16", dtype kept
random f32
    rand(seed, index)  uniform in [0, 1): Philox4x32-10 with key `seed` and counter `index`
all_reduce same
    all_reduce_sum(tile, axis)  sum over all programs of a grid axis that run together
    all_reduce_max(tile, axis)  max over all programs of a grid axis that run together
    all_reduce_min(tile, axis)  min over all programs of a grid axis that run together
barrier none
    barrier(axis)  waits for all programs of a grid axis that run together: what each stored before, all can load after
"""
_HINTS = {"create": TILE_HINTS, "contract": ("promote",), "reduce": ("nan_elsewhere",), "elementwise": ("beside_one",)}
_HINTS |= dict.fromkeys(("load", "store", "atomic"), LOAD_HINTS)


def _operations() -> Iterator[Operation]:
    kind = dtype = ""
    for line in _TABLE.strip().splitlines():
        if line[0] != " ":
            kind, dtype = line.split()
            continue
        signature, summary = re.split(r"\s{2,}", line.strip(), maxsplit=1)
        header = ast.parse(f"def {signature}: ...").body[0]
        assert isinstance(header, ast.FunctionDef)
        parameters, keywords = (tuple(a.arg for a in args) for args in (header.args.args, header.args.kwonlyargs))
        required, plain = len(parameters) - len(header.args.defaults), signature.replace("*, ", "")
        hints = _HINTS.get(kind, ())
        yield Operation(header.name, plain, kind, dtype, summary, parameters, required, keywords, hints)


OPERATIONS: dict[str, Operation] = {operation.name: operation for operation in _operations()}

# Other spellings that the parser turns into the one form of the tree.
SPELLINGS: dict[str, str] = {
    "pow": "a ** b",
    "index": "the axis' name",
    "logical_not": "not x",
}
EFFECTS = frozenset(name for name, operation in OPERATIONS.items() if operation.dtype == "none")
