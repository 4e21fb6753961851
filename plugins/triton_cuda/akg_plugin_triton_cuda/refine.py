"""These GPUs' view of a sketch: products of f32 as tensor cores make them."""

from __future__ import annotations

import akg_triton.refine

from akg_core.plugin import Sketch

FORMAT = "tf32"  # what tensor cores round the operands of a "fast" product to


def refine(sketch: Sketch) -> tuple[Sketch, ...]:
    """The sketch with compensated products first, then with plain ones, then with rounded ones; as it is when it has no
    open product.
    """
    return akg_triton.refine.refine(sketch, FORMAT)
