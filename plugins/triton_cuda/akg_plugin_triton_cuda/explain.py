"""From messages to what must change: those of the CUDA toolchain and of GPUs, beside Triton's own."""

from __future__ import annotations

import akg_triton.explain

from akg_core.plugin import Advice

_COMPILER = {
    r"ptxas (?:error|fatal)": "ptxas refused the kernel: most often for too many registers or too much shared memory.",
}
_RUNTIME = {
    r"illegal memory access": "A load or a store is outside of its tensor: mask every index that is not proved inside.",
    r"misaligned address": "A vector access is not aligned: do not promise tl.multiple_of what does not hold.",
    r"illegal instruction": "A bulk (TMA) access needs an innermost coordinate that is a multiple of 16 bytes.",
    r"Pointer argument .* cannot be accessed|cpu tensor": (
        "A tensor is on the CPU: move model and inputs to the GPU, or set TRITON_INTERPRET=1 to simulate."
    ),
    r"0 active drivers": "No GPU is visible: set TRITON_INTERPRET=1 before the first import to simulate.",
}


def explain(log: str) -> tuple[Advice, ...]:
    """Advice for each message of the compiler in `log`, else for what the runtime said, at the places named."""
    return akg_triton.explain.explain(log, _COMPILER, _RUNTIME)
