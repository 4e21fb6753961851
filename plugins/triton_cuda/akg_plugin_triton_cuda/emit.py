"""A sketch becomes Triton for NVIDIA GPUs: akg_triton writes it, in the dialect that these take."""

from __future__ import annotations

import akg_triton.emit
from akg_cuda.chips import BACKEND, CHIPS, DEFAULT_CAPABILITY, capability_of
from akg_cuda.together import TOGETHER
from akg_triton.dialect import Dialect

from akg_core.plugin import KernelSource, Schedule, Sketch, Target
from akg_plugin_triton_cuda.functions import FORMS, HELPERS
from akg_plugin_triton_cuda.launch import LAUNCHER

BULK_CAPABILITY = 90  # from which on there is a unit that copies blocks of memory
PRECISIONS = {"ieee": "ieee", "split3": "bf16x6", "fast": "tf32"}


def dialect(target: Target) -> Dialect:
    """How Triton is written for a target."""
    chip = CHIPS.get(capability_of(target), CHIPS[DEFAULT_CAPABILITY])
    return Dialect(
        device=BACKEND,
        shared_bytes=chip.shared_bytes,
        units=chip.units,
        bulk="triton.tools.tensor_descriptor" if capability_of(target) >= BULK_CAPABILITY else "",
        precisions=PRECISIONS,
        forms=FORMS,
        helpers=HELPERS,
        load_once='eviction_policy="evict_first"',
        store_past='cache_modifier=".cs"',
        launcher=LAUNCHER,
        cooperative=TOGETHER,
    )


def emit(sketch: Sketch, schedule: Schedule, target: Target) -> KernelSource:
    """`kernel.py`, and `model_new.py` that launches its functions. Raises SketchError for a bad sketch."""
    return akg_triton.emit.emit(sketch, schedule, target, "triton_cuda", dialect(target))
