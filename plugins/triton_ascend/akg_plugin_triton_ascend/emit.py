"""A sketch becomes Triton for Ascend NPUs: akg_triton writes it, in the dialect that these take."""

from __future__ import annotations

import akg_triton.emit
from akg_triton.dialect import Dialect

from akg_core.plugin import KernelSource, Schedule, Sketch, Target
from akg_plugin_triton_ascend.chips import CHIPS, DEFAULT, chip_of
from akg_plugin_triton_ascend.functions import FORMS, HELPERS

ROW = 64  # f32 values in the 256 bytes of one vector instruction
LACKS = ("f64",)  # no unit of these chips computes in it
PRECISIONS = {"ieee": "ieee", "split3": "ieee", "fast": "hf32"}  # cube cores multiply f32 as it is, or with fewer bits


def dialect(target: Target) -> Dialect:
    """How Triton is written for a target.

    A grid is persistent: a launch of more programs than cores runs them in rounds, each of which starts anew. Of what a
    product made and is stored row by row the compiler takes rows that no mask bounds for endless. Two masked stores to
    every other place it would make one, and fails where the mask bounds these places.
    """
    chip = chip_of(target) or CHIPS[DEFAULT]
    return Dialect(
        device="npu",
        shared_bytes=chip.l1,
        units=chip.vectors,
        row=ROW,
        lacks=LACKS,
        warps=False,
        persistent=True,
        pairs=False,
        byte_products=True,
        branches=False,
        lane_offsets=False,
        whole_masks=True,
        spills=False,
        unrolled=0,
        precisions=PRECISIONS,
        functions="triton.language.extra.ascend.libdevice",
        forms=FORMS,
        helpers=HELPERS,
        one="tl.num_programs(1)",
        barrier="",
    )


def emit(sketch: Sketch, schedule: Schedule, target: Target) -> KernelSource:
    """`kernel.py`, and `model_new.py` that launches its functions. Raises SketchError for a bad sketch."""
    return akg_triton.emit.emit(sketch, schedule, target, "triton_ascend", dialect(target))
