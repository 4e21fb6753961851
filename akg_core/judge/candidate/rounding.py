"""How threads round floating-point numbers: what a kernel must leave as it was.

Worker side. A mode that is left behind (numbers below the normal ones taken for zero, another direction of rounding)
changes the results of everything that the user's process computes afterwards, in the calling thread or in those of
OpenMP, which the library computes with, too.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import struct

from akg_core.worker.threads import gomp

CHANGES_ROUNDING = "changes how numbers are rounded"
"""The rule that a kernel breaks which does so."""
_BYTES = 64  # more than any C library's fenv_t
_FIELDS = {"x86_64": ("<H6xH18xI", (0x0F3F, 0xFFFF, 0xFFC0)), "aarch64": ("<I", (0xFFFFFFFF,))}
"""By machine, where the control words lie in a fenv_t, and their bits that are modes and no signs of what happened; on
x86 what is in use of the x87 stack, too, which is to be empty: what is pushed to a full one is no number."""
_known = _FIELDS.get(platform.machine())
_libm = ctypes.CDLL("libm.so.6") if _known and platform.libc_ver()[0] == "glibc" else None
_get, _set = (getattr(_libm, name, None) for name in ("fegetenv", "fesetenv"))
_PLACE = struct.Struct("<IHxx")  # of one thread's MXCSR and x87 control word
_MOST = 511  # threads that are asked
_ASKING = (
    b"\xb8\x01\x00\x00\x00"  # mov eax, 1
    b"\xf0\x0f\xc1\x07"  # lock xadd [rdi], eax: how many threads were here before
    b"\x3d\xfe\x01\x00\x00\x77\x09"  # cmp eax, 510; ja end
    b"\x0f\xae\x5c\xc7\x08"  # stmxcsr [rdi+8*rax+8]
    b"\xd9\x7c\xc7\x0c"  # fnstcw [rdi+8*rax+12]
    b"\xc3"  # end: ret
)
"""A function that each thread of a team calls: it notes how this thread rounds at the next place of a table."""


class Modes:
    """The modes of the calling thread as they are when this is made; OpenMP's other `threads` are to have the same."""

    def __init__(self, threads: int = 1) -> None:
        self._environment = ctypes.create_string_buffer(_BYTES)
        self._threads = min(threads, _MOST)
        if _get:
            _get(self._environment)

    def restore(self) -> bool:
        """Put them back, and say whether they had changed."""
        has_changed = Modes()._words() != self._words()
        if has_changed and _set:
            _set(self._environment)
        if gomp and self._threads > 1 and any(words != self._words()[::2] for words in self._of_team()):
            gomp.GOMP_parallel(_set, self._environment, self._threads, 0)
            return True
        return has_changed

    def _words(self) -> tuple[int, ...]:
        if not _get or not _known:
            return ()
        layout, masks = _known
        words = struct.unpack_from(layout, self._environment.raw)
        return tuple(word & mask for word, mask in zip(words, masks, strict=True))

    def _of_team(self) -> set[tuple[int, ...]]:
        """The modes that OpenMP's threads have, where there is a way to ask them."""
        if not gomp or not _asking or not _known or not _set:
            return set()
        table = ctypes.create_string_buffer(_PLACE.size * (_MOST + 1))
        gomp.GOMP_parallel(_asking, table, self._threads, 0)
        count = min(int.from_bytes(table.raw[:4], "little"), _MOST)
        masks = _known[1]
        places = _PLACE.iter_unpack(table.raw[_PLACE.size : _PLACE.size * (count + 1)])
        return {(control & masks[0], state & masks[-1]) for state, control in places}


def _assembled() -> ctypes.c_void_p | None:
    """Where the function lies that is assembled above: made as the module is imported, when memory may be executed."""
    if platform.machine() != "x86_64" or not gomp:
        return None
    page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    page.write(_ASKING)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    protect = ctypes.CDLL(None).mprotect
    if protect(ctypes.c_void_p(address), ctypes.c_size_t(mmap.PAGESIZE), mmap.PROT_READ | mmap.PROT_EXEC):
        return None
    _kept.append(page)
    return ctypes.c_void_p(address)


_kept: list[mmap.mmap] = []
_asking = _assembled()
