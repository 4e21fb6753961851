"""Names that generated variables must not take: C++ keywords, what the headers define, and the emitter's own."""

from __future__ import annotations

from akg_core.plugin.sketch import OPERATIONS

_KEYWORDS = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept const consteval
constexpr constinit const_cast continue co_await co_return co_yield decltype default delete do double dynamic_cast
else enum explicit export extern false float for friend goto if inline int long mutable namespace new noexcept not
not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires return short signed
sizeof static static_assert static_cast struct switch template this thread_local throw true try typedef typeid
typename union unsigned using virtual void volatile wchar_t while xor xor_eq
"""
_HEADERS = """
f64 f32 f16 bf16 i64 i32 i16 i8 u8 u16 u32 u64 tf32 Vec Mask LANES LOWEST HIGHEST ACC HALF REAL SCALAR Gemm Arena Team
Best ScalarBest Constant AllLanes FirstLanes Across AcrossSum AcrossProd AcrossMax AcrossMin AcrossAny AcrossAll
load_strided gather scatter store_strided stream prefetch scatter_add scatter_max scatter_min first_lanes iota lane
with_lane select count shift_up shift_down reverse transpose fma copysign floor_div floor_mod convert widen narrow
scan argmax_step argmin_step pow cbrt erfinv parallel_for parallel_for_dynamic threads together_for scratch fresh
finish_streams keep inside window square cube lanes lanes_backwards lanes_by_segment load_inside load_square load_run
load_between pick_lanes stream_if fill GRAIN thread_seconds touched resident Updates Meet Add Max Min
contract detail akg std main errno stdin stdout stderr abort free malloc index y0 y1 yn j0 j1 jn gamma
"""
_OWN = "tensors sizes program member team arena frame part u at best here"

RESERVED = frozenset(f"{_KEYWORDS} {_HEADERS} {_OWN}".split()) | frozenset(OPERATIONS)
