"""Types of the language as Triton spells them: in a kernel's source, and in the signature that it is compiled for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TRITON = {
    "f64": "tl.float64",
    "f32": "tl.float32",
    "f16": "tl.float16",
    "bf16": "tl.bfloat16",
    "i64": "tl.int64",
    "i32": "tl.int32",
    "i16": "tl.int16",
    "i8": "tl.int8",
    "u8": "tl.uint8",
    "bool": "tl.int1",
}
POINTERS = {
    "f64": "*fp64",
    "f32": "*fp32",
    "f16": "*fp16",
    "bf16": "*bf16",
    "i64": "*i64",
    "i32": "*i32",
    "i16": "*i16",
    "i8": "*i8",
    "u8": "*u8",
    "bool": "*u1",
}
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
