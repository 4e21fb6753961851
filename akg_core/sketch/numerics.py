"""What numbers mean where an operation leaves a choice: dtypes that sums are held in, and what changes nothing.

One place for the interpreter, the designer and every lowering, so that they agree by construction. Imports no torch.
"""

from __future__ import annotations

import math

from akg_core.dtypes import DTYPES, as_sum, is_float, promote

_NARROW = ("f16", "bf16")


def function_of(operation: str) -> str:
    """The function that a reduction, scan, all-reduction or argreduction combines by: "sum", "prod", "max", "min", …"""
    return operation.rpartition("_")[2].removeprefix("arg")


def reduction_dtype(operation: str, dtype: str) -> str:
    """The dtype in which values of `dtype` are combined by a reduction (`reduce_sum`, …) or an all-reduction.

    f16 and bf16 add up in f32, integers and bool in i64; extremes stay what they are.
    """
    function = function_of(operation)
    if function in ("any", "all"):
        return "bool"
    if function in ("sum", "prod"):
        return "f32" if dtype in _NARROW else as_sum(dtype)
    return dtype


def scan_dtype(operation: str, dtype: str) -> str:
    """The dtype in which a scan of `dtype` runs.

    Running sums and products of f32 are held in f64, as PyTorch's are on the host: each position keeps the error of all
    before it. A chip that is slow in f64 may hold them in `reduction_dtype`.
    """
    held = reduction_dtype(operation, dtype)
    return "f64" if held == "f32" and dtype == "f32" and function_of(operation) in ("sum", "prod") else held


def dot_dtype(first: str, second: str) -> str:
    """The dtype in which products of two dtypes are summed: f32 at least for floats, i64 for whole numbers."""
    meeting = promote(first, second)
    if not is_float(meeting):
        return "i64"
    return "f64" if meeting == "f64" else "f32"


def identity(operation: str, dtype: str) -> float | int | bool:
    """What changes nothing when it is combined with a value of `dtype`; 0 for whatever adds up."""
    function = function_of(operation)
    if function in ("any", "all"):
        return function == "all"
    if function in ("max", "min"):
        return lowest(dtype) if function == "max" else highest(dtype)
    return 1 if function == "prod" else 0


def lowest(dtype: str) -> float | int | bool:
    """The least value of a dtype: -inf of floats."""
    return -math.inf if is_float(dtype) else False if dtype == "bool" else DTYPES[dtype].lowest


def highest(dtype: str) -> float | int | bool:
    """The greatest value of a dtype: inf of floats."""
    return math.inf if is_float(dtype) else True if dtype == "bool" else DTYPES[dtype].highest
