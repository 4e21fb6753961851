// Every function of the math headers over arrays.
#include "akg/akg.hpp"
namespace akg {

#define UNARY(name, T) \
    extern "C" void name##_##T(const T* x, T* y, i64 n) { \
        for (i64 i = 0; i < n; i += LANES) store(y + i, name(load(x + i, n - i)), n - i); \
    }
#define BINARY(name, T) \
    extern "C" void name##_##T(const T* a, const T* b, T* y, i64 n) { \
        for (i64 i = 0; i < n; i += LANES) store(y + i, name(load(a + i, n - i), load(b + i, n - i)), n - i); \
    }
#define REALS(kind, name) kind(name, f32) kind(name, f64)
#define INTEGERS(name) BINARY(name, i64) BINARY(name, i32)

REALS(UNARY, exp) REALS(UNARY, exp2) REALS(UNARY, expm1) REALS(UNARY, log) REALS(UNARY, log2) REALS(UNARY, log10) REALS(UNARY, log1p)
REALS(UNARY, sqrt) REALS(UNARY, rsqrt) REALS(UNARY, sin) REALS(UNARY, cos) REALS(UNARY, tan) REALS(UNARY, asin) REALS(UNARY, acos)
REALS(UNARY, atan) REALS(UNARY, sinh) REALS(UNARY, cosh) REALS(UNARY, tanh) REALS(UNARY, asinh) REALS(UNARY, acosh) REALS(UNARY, atanh)
REALS(UNARY, sigmoid) REALS(UNARY, erf) REALS(UNARY, erfc) REALS(UNARY, erfinv) REALS(UNARY, cbrt) REALS(UNARY, gelu)
REALS(UNARY, gelu_tanh) REALS(UNARY, silu) REALS(UNARY, softplus) REALS(UNARY, floor) REALS(UNARY, ceil) REALS(UNARY, round) REALS(UNARY, trunc)
REALS(BINARY, atan2) REALS(BINARY, pow) REALS(BINARY, fmod) REALS(BINARY, floor_mod) REALS(BINARY, floor_div)
REALS(BINARY, maximum) REALS(BINARY, minimum)
INTEGERS(pow) INTEGERS(fmod) INTEGERS(floor_mod) INTEGERS(floor_div)

#define BY_EIGHT(name, T) \
    AKG_INLINE auto name##_by_eight(Vec<T> x) { return name(x, T(8)); } \
    UNARY(name##_by_eight, T)
BY_EIGHT(floor_div, i64) BY_EIGHT(floor_div, i32) BY_EIGHT(floor_mod, i64) BY_EIGHT(floor_mod, i32)

extern "C" f32 one_exp(f32 x) { return exp(x); }

}  // namespace akg
