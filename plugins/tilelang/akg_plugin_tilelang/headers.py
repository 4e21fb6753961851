"""What every kernel of TileLang's begins with, or all that multiply by wgmma, for NVRTC to read once.

Imports no TileLang.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

from akg_cuda.nvrtc import Headers

_COMMON = ("reduce.h", "scan.h", "ldsm.h", "threadblock_swizzle.h", "debug.h", "cuda_bf16_fallbacks.cuh")
_OF_MATRIX_UNITS = ("instruction/wgmma.h", "intrin.h", "barrier.h", "copy_sm90.h")
_OPTIONS = ("-std=c++20", "-default-device")


def headers() -> Headers:
    """Those of the TileLang that is here."""
    spec = importlib.util.find_spec("tilelang")
    own = Path((spec and spec.origin) or "").parent
    folders = (own / "src", own / "3rdparty/cutlass/include")
    return Headers(_included("nvrtc_std.h", *_COMMON), _included(*_OF_MATRIX_UNITS), folders, _OPTIONS)


def _included(*names: str) -> str:
    return "".join(f"#include <tl_templates/cuda/{name}>\n" for name in names)
