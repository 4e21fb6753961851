"""What every kernel of TileLang's begins with, for NVRTC to read once. Imports no TileLang."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from akg_cuda.nvrtc import Headers

_COMMON = ("reduce.h", "scan.h", "ldsm.h", "threadblock_swizzle.h", "debug.h", "cuda_bf16_fallbacks.cuh")
_PRELUDE = "".join(f"#include <tl_templates/cuda/{name}>\n" for name in ("nvrtc_std.h", *_COMMON))
_OPTIONS = ("-std=c++20", "-default-device")


def headers() -> Headers:
    """Those of the TileLang that is here."""
    spec = importlib.util.find_spec("tilelang")
    own = Path((spec and spec.origin) or "").parent
    return Headers(_PRELUDE, (own / "src", own / "3rdparty/cutlass/include"), _OPTIONS)
