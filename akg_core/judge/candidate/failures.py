"""What a kernel's exception says, in a sentence, and whether its device is lost since. Worker side."""

from __future__ import annotations

from akg_core.device import Device
from akg_core.errors import KernelFailed

_READ, _SAID = 10_000, 300  # characters of an error


def said(error: BaseException) -> str:
    """An exception of foreign code as a sentence."""
    if isinstance(error, KernelFailed):
        return error.message
    try:
        text = " ".join(str(error)[:_READ].split())[:_SAID]
    except Exception:  # which an error of foreign code may raise when it is asked
        text = ""
    return f"{type(error).__name__}: {text or 'no message'}"


def lost(device: Device) -> str:
    """Why this process can use its device no more, as after reading an address that is nobody's; "" when it can."""
    try:
        device.synchronize()
    except Exception as error:
        return next(iter(str(error).strip().splitlines()), type(error).__name__).rstrip(".")
    return ""
