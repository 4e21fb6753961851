"""How a chip multiplies matrices: whether on its matrix units, and into which narrow tiles it splits factors of f32."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from akg_core.dtypes import is_float
from akg_core.lower.ir import Op
from akg_core.sketch.ast import Text

Precision = str
"""What the hint `precision` of a product of f32 may say: "ieee", "split3", "fast"."""


@dataclass(frozen=True, slots=True)
class DotStrategy:
    """`exact`: outside of the matrix units. `parts`: narrow tiles that a factor is split into, each with so many
    `bytes` an element; 0 where it is multiplied as it is."""

    exact: bool = False
    parts: int = 0
    bytes: int = 0


DotStrategies = Mapping[Precision, DotStrategy]
"""How products of f32 are made, for each precision."""


def precision_of(op: Op) -> Precision:
    """The precision of a product."""
    word = op.hints.get("precision")
    return word.value if isinstance(word, Text) else "ieee"


def strategy_of(op: Op, ways: DotStrategies) -> DotStrategy:
    """How a product of floats is made; its factors have one dtype."""
    dtype = op.operand.dtype
    return ways[precision_of(op)] if dtype == "f32" else DotStrategy(exact=dtype == "f64")


def is_matrix_product(op: Op) -> bool:
    """Whether an op multiplies floats."""
    return op.kind == "dot" and op.target is not None and is_float(op.target.dtype)
