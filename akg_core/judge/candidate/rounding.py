"""How this thread rounds floating-point numbers: what a kernel must leave as it was.

Worker side. A mode that is left behind (numbers below the normal ones taken for zero, another direction of rounding)
changes the results of everything that the user's process computes afterwards.
"""

from __future__ import annotations

import ctypes
import platform
import struct

_BYTES = 64  # more than any C library's fenv_t
_FIELDS = {"x86_64": ("<H26xI", (0x0F3F, 0xFFC0)), "aarch64": ("<I", (0xFFFFFFFF,))}
"""By machine, where the control words lie in a fenv_t, and their bits that are modes and no signs of what happened."""
_known = _FIELDS.get(platform.machine())
_libm = ctypes.CDLL("libm.so.6") if _known and platform.libc_ver()[0] == "glibc" else None
_get, _set = (getattr(_libm, name, None) for name in ("fegetenv", "fesetenv"))


class Modes:
    """The modes of the calling thread as they are when this is made."""

    def __init__(self) -> None:
        self._environment = ctypes.create_string_buffer(_BYTES)
        if _get:
            _get(self._environment)

    def restore(self) -> bool:
        """Put them back, and say whether they had changed."""
        now = Modes()
        has_changed = now._words() != self._words()
        if has_changed and _set:
            _set(self._environment)
        return has_changed

    def _words(self) -> tuple[int, ...]:
        if not _get or not _known:
            return ()
        layout, masks = _known
        words = struct.unpack_from(layout, self._environment.raw)
        return tuple(word & mask for word, mask in zip(words, masks, strict=True))
