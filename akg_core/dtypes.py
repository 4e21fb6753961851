"""The dtypes of the language and how two of them combine, without importing torch.

Promotion is that of `torch.promote_types`; literals are weak: they take the dtype of the tile that they meet.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce


@dataclass(frozen=True, slots=True)
class Dtype:
    """A dtype: `kind` is "float", "int" or "bool", `size` its bytes; `lowest` and `highest` bound an int.

    `torch`: what it is called there.
    """

    name: str
    torch: str
    kind: str
    size: int
    lowest: int = 0
    highest: int = 1


def _integer(name: str, size: int, signed: bool = True) -> Dtype:
    bits = 8 * size
    return Dtype(
        name,
        f"{'u' * (not signed)}int{bits}",
        "int",
        size,
        -(1 << bits - 1) if signed else 0,
        (1 << (bits - 1 if signed else bits)) - 1,
    )


DTYPES: dict[str, Dtype] = {
    d.name: d
    for d in (
        Dtype("f64", "float64", "float", 8),
        Dtype("f32", "float32", "float", 4),
        Dtype("f16", "float16", "float", 2),
        Dtype("bf16", "bfloat16", "float", 2),
        _integer("i64", 8),
        _integer("i32", 4),
        _integer("i16", 2),
        _integer("i8", 1),
        _integer("u8", 1, signed=False),
        Dtype("bool", "bool", "bool", 1),
    )
}

_RANK = {"bool": 0, "int": 1, "float": 2}


def is_float(dtype: str) -> bool:
    return DTYPES[dtype].kind == "float"


def is_integer(dtype: str) -> bool:
    return DTYPES[dtype].kind == "int"


def promote(first: str, second: str) -> str:
    """The dtype that holds both, as `torch.promote_types` has it: f16 with bf16 is f32, u8 with i8 is i16."""
    if first == second:
        return first
    a, b = DTYPES[first], DTYPES[second]
    if a.kind != b.kind:
        return first if _RANK[a.kind] > _RANK[b.kind] else second
    if a.size == b.size:
        return "f32" if a.kind == "float" else "i16"
    return first if a.size > b.size else second


def combine(operands: list[tuple[str, bool]]) -> tuple[str, bool]:
    """The dtype of an elementwise result from its operands' (dtype, weak), and whether it is weak too.

    A weak operand (a literal, a float known at launch) counts only when its kind outranks every strong one's:
    an int literal leaves an f16 tile as it is, a float literal makes an int tile f32.
    """
    strong = [dtype for dtype, weak in operands if not weak]
    weak = [dtype for dtype, is_weak in operands if is_weak]
    if not strong:
        return reduce(promote, weak), True
    result = reduce(promote, strong)
    for dtype in weak:
        if _RANK[DTYPES[dtype].kind] > _RANK[DTYPES[result].kind]:
            result = dtype
    return result, False


BITS = {"f32": "i32", "f64": "i64"}  # the ints that hold the bits of floats
FLOATS = {whole: float_ for float_, whole in BITS.items()}


def as_float(dtype: str) -> str:
    """The dtype in which mathematics on `dtype` is done: ints and bool become f32."""
    return dtype if is_float(dtype) else "f32"


def as_sum(dtype: str) -> str:
    """The dtype of a sum or product over a tile of `dtype`: ints and bool become i64."""
    return dtype if is_float(dtype) else "i64"
