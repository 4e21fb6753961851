"""Names that generated variables must not take: Python's keywords, Triton's modules, and the emitter's own."""

from __future__ import annotations

import builtins
import keyword

from akg_triton.library import HELPERS

RESERVED = frozenset([*keyword.kwlist, *dir(builtins), "tl", "triton", "libdevice", *HELPERS])
