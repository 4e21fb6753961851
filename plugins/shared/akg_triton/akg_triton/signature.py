"""Types of the language as Triton spells them: in a kernel's source, and in the signature that it is compiled for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_WORDS = {  # of the language, in a kernel's source, of a pointer in a signature
    "f64": ("float64", "fp64"),
    "f32": ("float32", "fp32"),
    "f16": ("float16", "fp16"),
    "bf16": ("bfloat16", "bf16"),
    **{f"i{bits}": (f"int{bits}", f"i{bits}") for bits in (64, 32, 16, 8)},
    "u8": ("uint8", "u8"),
    "bool": ("int1", "u1"),
}
TRITON = {dtype: f"tl.{word}" for dtype, (word, _) in _WORDS.items()}
POINTERS = {dtype: f"*{word}" for dtype, (_, word) in _WORDS.items()}
_ALIGNED = ["tt.divisibility", 16]


def signature(launch: Mapping[str, Any]) -> tuple[dict[str, str], dict[tuple[int], list[Any]]]:
    """Of a launch in launches.json, the type of each parameter, and what holds of parameters by their positions.

    Tensors begin at multiples of 16 bytes; sizes are whole numbers, blocks are constants.
    """
    kinds = [dtype.partition("[") for dtype in launch["tensors"].values()]
    types = [f"tensordesc<{POINTERS[dtype][1:]}[{block}>" if block else POINTERS[dtype] for dtype, _, block in kinds]
    found = dict(zip(launch["tensors"], types, strict=True))
    found |= dict.fromkeys(launch["sizes"], "i32")
    found |= dict.fromkeys(launch["constants"], "constexpr")
    return found, {(index,): [_ALIGNED] for index, type in enumerate(types) if type[0] == "*"}
