"""From messages to what must change: those of the compilers for Ascend NPUs, beside Triton's own."""

from __future__ import annotations

import akg_triton.explain

from akg_core.plugin import Advice

_COMPILER = {
    r"ub overflow": "The tiles of a program do not fit into the unified buffer: make the largest smaller.",
    r"(?:cbuf|l1) overflow": "The factors of a product do not fit into L1: make its tiles smaller.",
    r"(?:cc|l0c) overflow": "What a product makes does not fit into L0C: make its tiles smaller.",
    r"unregistered dialect": (
        "The compiler has no form of a statement: most often a tl.reduce or tl.associative_scan of several values."
    ),
    r"deinterleave offset|recountReinterpretCastOffset": (
        "Lanes that are two places apart may begin at 0 or 1 only: multiply another constant in the address by "
        "tl.num_programs(1), which is 1."
    ),
    r"bishengir-compile took more than": "Write out fewer turns (tl.static_range), or use smaller tiles.",
}
_RUNTIME = {
    r"torch_npu": "torch_npu is missing: install it with CANN, or let akg-core simulate.",
    r"aicore exception|vector core exception": "A load or a store is outside of its tensor: mask every index.",
}


def explain(log: str) -> tuple[Advice, ...]:
    """Advice for each message of the compiler in `log`, else for what the runtime said, at the places named."""
    return akg_triton.explain.explain(log, _COMPILER, _RUNTIME)
