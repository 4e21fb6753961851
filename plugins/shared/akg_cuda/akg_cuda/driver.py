"""CUDA's driver, for what torch does not offer."""

from __future__ import annotations

import ctypes
import functools
from typing import Any


@functools.cache
def cuda() -> Any:
    """The driver's library. Raises OSError where there is none."""
    return ctypes.CDLL("libcuda.so.1")


def check(result: int) -> None:
    """Raise ValueError with what the driver says of a call that failed."""
    if result:
        text = ctypes.c_char_p()
        cuda().cuGetErrorString(result, ctypes.byref(text))
        raise ValueError(f"CUDA: {text.value.decode() if text.value else result}")
