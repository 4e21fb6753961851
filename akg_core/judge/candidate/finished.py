"""Whether an answer is all there when a kernel returns, or goes on being written by a thread of its own.

Worker side. What is on another device is there when that has done its work, which the harness waits for.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Sequence
from typing import Any

from akg_core.device import HOST
from akg_core.worker.answers import described

ANSWERS_LATE = "goes on writing its answer when it has returned"
"""The rule that a kernel breaks which does so."""
_MOST_BYTES = 64 << 20  # of an answer that is held twice


class AsReturned:
    """The bytes of an answer as they are when this is made, which is to be at once; `has_changed` looks again."""

    def __init__(self, answer: Any) -> None:
        self._held: list[tuple[int, bytes]] = []
        with contextlib.suppress(TypeError):  # what is no answer is told by who writes it
            tensors: Sequence[dict[str, Any]] = described(answer)["tensors"]
            if sum(tensor["nbytes"] for tensor in tensors) <= _MOST_BYTES:
                self._held = [
                    (tensor["address"], ctypes.string_at(tensor["address"], tensor["nbytes"]))
                    for tensor in tensors
                    if tensor["device"] == HOST.name and tensor["nbytes"]
                ]

    def has_changed(self) -> bool:
        return any(ctypes.string_at(address, len(known)) != known for address, known in self._held)
