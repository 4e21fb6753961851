"""Names that generated variables must not take: Python's keywords, what kernel.py uses, and what CUDA would misread.

TileLang gives variables in CUDA the names that they have in the kernel, those of C++'s keywords that C lacks included.
"""

from __future__ import annotations

import builtins
import keyword

from akg_plugin_tilelang.emit.functions import FORMS, SUPPORT

_CPP = """
alignas alignof and_eq asm auto bitand bitor bool catch char8_t char16_t char32_t class compl concept consteval
constexpr constinit const const_cast co_await co_return co_yield decltype delete dynamic_cast explicit export false
friend inline mutable namespace new noexcept not_eq nullptr operator or_eq private protected public
reinterpret_cast requires signed sizeof static static_assert static_cast switch template this thread_local throw true
typeid typename using virtual volatile wchar_t xor xor_eq
"""
_CUDA = """
tl cute cutlass uchar uint ushort ulong half half_t bfloat16_t float16_t int8_t uint8_t int16_t uint16_t int32_t
uint32_t int64_t uint64_t mbarrier buf_dyn_shmem threadIdx blockIdx blockDim gridDim warpSize main index y0 y1 yn j0 j1
jn gamma pow expm1 erfc atan2 fmod fabs fmax fmin fma rint
"""

RESERVED = frozenset([*keyword.kwlist, *dir(builtins), *f"{_CPP} {_CUDA}".split(), *FORMS, *SUPPORT])
RESERVED |= {"T", "tilelang", "pid", "pid_y", "pid_z", "EXP2_BESIDE_ONE"}
