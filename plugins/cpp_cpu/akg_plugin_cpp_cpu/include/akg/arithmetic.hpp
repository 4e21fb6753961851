// Elementwise arithmetic that is exact or correctly rounded; every function for vectors and scalars alike.
#ifndef AKG_ARITHMETIC_HPP
#define AKG_ARITHMETIC_HPP

#include "akg/convert.hpp"

namespace akg {

// A scalar takes lane 0 of the vector version, so both give the same bits.
#define AKG_SCALAR_UNARY(name) \
    template <class T, if_scalar<T> = 0> \
    AKG_INLINE auto name(T x) { return lane(name(Vec<T>(x)), 0); }
#define AKG_SCALAR_BINARY(name) \
    template <class T, if_scalar<T> = 0> \
    AKG_INLINE auto name(T a, std::type_identity_t<T> b) { return lane(name(Vec<T>(a), Vec<T>(b)), 0); } \
    template <class T> \
    AKG_INLINE auto name(Vec<T> a, std::type_identity_t<T> b) { return name(a, Vec<T>(b)); } \
    template <class T> \
    AKG_INLINE auto name(std::type_identity_t<T> a, Vec<T> b) { return name(Vec<T>(a), b); }

namespace detail {
// f(Vec<f32>) for halves.
template <class T, class F, class... V>
AKG_INLINE auto through_f32(F f, V... v) { return convert<T>(f(convert<f32>(v)...)); }
template <class T>
AKG_INLINE Vec<T> per_lane(Vec<T> a, T (*f)(T)) {
    for (int i = 0; i < LANES; ++i) a = with_lane(a, i, f(lane(a, i)));
    return a;
}
template <class T>
AKG_INLINE Vec<T> per_lane(Vec<T> a, Vec<T> b, T (*f)(T, T)) {
    for (int i = 0; i < LANES; ++i) a = with_lane(a, i, f(lane(a, i), lane(b, i)));
    return a;
}
template <class T>
using Signed = Vec<signed_of<sizeof(T)>>;
template <class T>
AKG_INLINE Signed<T> bits_of(Vec<T> v) { return bit_cast<Signed<T>>(v); }
template <class T>
inline constexpr auto SIGN_BIT = static_cast<signed_of<sizeof(T)>>(1ull << (8 * sizeof(T) - 1));
}  // namespace detail

template <class T>
AKG_INLINE Vec<T> fma(Vec<T> a, Vec<T> b, Vec<T> c) {
    if constexpr (HALF<T>) {
        return convert<T>(fma(convert<f32>(a), convert<f32>(b), convert<f32>(c)));
    } else {
        for (int i = 0; i < Vec<T>::PARTS; ++i) {
#if AKG_AVX512
            if constexpr (std::is_same_v<T, f32>) a.part[i] = (typename Vec<T>::Part)_mm512_fmadd_ps((__m512)a.part[i], (__m512)b.part[i], (__m512)c.part[i]);
            else if constexpr (std::is_same_v<T, f64>) a.part[i] = (typename Vec<T>::Part)_mm512_fmadd_pd((__m512d)a.part[i], (__m512d)b.part[i], (__m512d)c.part[i]);
            else
#elif AKG_AVX2
            if constexpr (std::is_same_v<T, f32>) a.part[i] = (typename Vec<T>::Part)_mm256_fmadd_ps((__m256)a.part[i], (__m256)b.part[i], (__m256)c.part[i]);
            else if constexpr (std::is_same_v<T, f64>) a.part[i] = (typename Vec<T>::Part)_mm256_fmadd_pd((__m256d)a.part[i], (__m256d)b.part[i], (__m256d)c.part[i]);
            else
#endif
                a.part[i] = a.part[i] * b.part[i] + c.part[i];
        }
        return a;
    }
}
template <class T, if_scalar<T> = 0>
AKG_INLINE T fma(T a, std::type_identity_t<T> b, std::type_identity_t<T> c) {
    if constexpr (std::is_same_v<T, f32>) return __builtin_fmaf(a, b, c);
    else if constexpr (std::is_same_v<T, f64>) return __builtin_fma(a, b, c);
    else return T(a * b + c);
}

template <class T>
AKG_INLINE Vec<T> abs(Vec<T> v) {
    if constexpr (REAL<T>) return bit_cast<Vec<T>>(detail::bits_of(v) & ~detail::Signed<T>(detail::SIGN_BIT<T>));
    else if constexpr (std::is_unsigned_v<T>) return v;
    else return select(v < Vec<T>(0), -v, v);
}
AKG_SCALAR_UNARY(abs)

template <class T>
AKG_INLINE Vec<T> copysign(Vec<T> magnitude, Vec<T> sign) {
    const detail::Signed<T> bit(detail::SIGN_BIT<T>);
    return bit_cast<Vec<T>>((detail::bits_of(magnitude) & ~bit) | (detail::bits_of(sign) & bit));
}
AKG_SCALAR_BINARY(copysign)

template <class T>
AKG_INLINE Mask isnan(Vec<T> v) {
    if constexpr (REAL<T>) return v != v;
    else return Mask(false);
}
template <class T>
AKG_INLINE Mask isinf(Vec<T> v) {
    if constexpr (REAL<T>) return abs(v) == Vec<T>(HIGHEST<T>);
    else return Mask(false);
}
template <class T>
AKG_INLINE Mask isfinite(Vec<T> v) {
    if constexpr (REAL<T>) return abs(v) < Vec<T>(HIGHEST<T>);
    else return Mask(true);
}
AKG_SCALAR_UNARY(isnan)
AKG_SCALAR_UNARY(isinf)
AKG_SCALAR_UNARY(isfinite)

// The bits of a float as an int of its width.
template <class T>
AKG_INLINE detail::Signed<T> bits(Vec<T> v) { return detail::bits_of(v); }
template <class T, if_scalar<T> = 0>
AKG_INLINE auto bits(T x) { return bit_cast<detail::signed_of<sizeof(T)>>(x); }

// The float whose bits an int of its width has.
AKG_INLINE Vec<f32> from_bits(Vec<i32> v) { return bit_cast<Vec<f32>>(v); }
AKG_INLINE Vec<f64> from_bits(Vec<i64> v) { return bit_cast<Vec<f64>>(v); }
AKG_INLINE f32 from_bits(i32 x) { return bit_cast<f32>(x); }
AKG_INLINE f64 from_bits(i64 x) { return bit_cast<f64>(x); }

// NaN when either is, as in torch. The NaN test is on b: in `peak = maximum(peak, t)` it stays off the critical path.
template <class T>
AKG_INLINE Vec<T> maximum(Vec<T> a, Vec<T> b) {
    if constexpr (HALF<T>) {
        return convert<T>(maximum(convert<f32>(a), convert<f32>(b)));
    } else if constexpr (!REAL<T>) {
        for (int i = 0; i < Vec<T>::PARTS; ++i) a.part[i] = a.part[i] > b.part[i] ? a.part[i] : b.part[i];
        return a;
    } else {
        for (int i = 0; i < Vec<T>::PARTS; ++i) {
            [[maybe_unused]] const auto x = a.part[i], y = b.part[i];
#if AKG_AVX512
            if constexpr (sizeof(T) == 4) {
                const __m512 v = (__m512)y;
                a.part[i] = (typename Vec<T>::Part)_mm512_mask_max_ps(v, _mm512_cmp_ps_mask(v, v, _CMP_ORD_Q), v, (__m512)x);
            } else {
                const __m512d v = (__m512d)y;
                a.part[i] = (typename Vec<T>::Part)_mm512_mask_max_pd(v, _mm512_cmp_pd_mask(v, v, _CMP_ORD_Q), v, (__m512d)x);
            }
#else
            a.part[i] = (y > x) | (y != y) ? y : x;
#endif
        }
        return a;
    }
}
AKG_INLINE Mask maximum(Mask a, Mask b) { return a | b; }
template <class T>
AKG_INLINE Vec<T> minimum(Vec<T> a, Vec<T> b) {
    if constexpr (HALF<T>) {
        return convert<T>(minimum(convert<f32>(a), convert<f32>(b)));
    } else if constexpr (!REAL<T>) {
        for (int i = 0; i < Vec<T>::PARTS; ++i) a.part[i] = a.part[i] < b.part[i] ? a.part[i] : b.part[i];
        return a;
    } else {
        for (int i = 0; i < Vec<T>::PARTS; ++i) {
            [[maybe_unused]] const auto x = a.part[i], y = b.part[i];
#if AKG_AVX512
            if constexpr (sizeof(T) == 4) {
                const __m512 v = (__m512)y;
                a.part[i] = (typename Vec<T>::Part)_mm512_mask_min_ps(v, _mm512_cmp_ps_mask(v, v, _CMP_ORD_Q), v, (__m512)x);
            } else {
                const __m512d v = (__m512d)y;
                a.part[i] = (typename Vec<T>::Part)_mm512_mask_min_pd(v, _mm512_cmp_pd_mask(v, v, _CMP_ORD_Q), v, (__m512d)x);
            }
#else
            a.part[i] = (y < x) | (y != y) ? y : x;
#endif
        }
        return a;
    }
}
AKG_INLINE Mask minimum(Mask a, Mask b) { return a & b; }
AKG_SCALAR_BINARY(maximum)
AKG_SCALAR_BINARY(minimum)

template <class V>
AKG_INLINE V clamp(V x, std::type_identity_t<V> low, std::type_identity_t<V> high) { return minimum(V(high), maximum(V(low), x)); }
template <class T>
AKG_INLINE Vec<T> relu(Vec<T> v) { return maximum(Vec<T>(T(0)), v); }
AKG_SCALAR_UNARY(relu)
template <class T>
AKG_INLINE Vec<T> sign(Vec<T> v) {
    const Vec<T> zero(T(0)), one(T(1));
    if constexpr (std::is_unsigned_v<T>) return select(v != zero, one, zero);
    else return select(v > zero, one, select(v < zero, -one, zero));  // 0 for NaN, as torch
}
AKG_SCALAR_UNARY(sign)
template <class T>
AKG_INLINE Vec<T> reciprocal(Vec<T> v) { return Vec<T>(T(1)) / v; }
AKG_SCALAR_UNARY(reciprocal)

// ---- rounding to integers, square root -----------------------------------------------------------------

namespace detail {
enum class Rounding { NEAREST = 0, DOWN = 1, UP = 2, ZERO = 3 };  // the encodings of the SSE4.1 instruction
template <Rounding MODE, class T>
AKG_INLINE Vec<T> rounded(Vec<T> v) {
    if constexpr (HALF<T>) {
        return convert<T>(rounded<MODE>(convert<f32>(v)));
    } else if constexpr (!REAL<T>) {
        return v;
    } else {
        for (int i = 0; i < Vec<T>::PARTS; ++i) {
#if AKG_AVX512
            if constexpr (sizeof(T) == 4) v.part[i] = (typename Vec<T>::Part)_mm512_roundscale_ps((__m512)v.part[i], int(MODE) | 8);
            else v.part[i] = (typename Vec<T>::Part)_mm512_roundscale_pd((__m512d)v.part[i], int(MODE) | 8);
#elif AKG_AVX2
            if constexpr (sizeof(T) == 4) v.part[i] = (typename Vec<T>::Part)_mm256_round_ps((__m256)v.part[i], int(MODE) | 8);
            else v.part[i] = (typename Vec<T>::Part)_mm256_round_pd((__m256d)v.part[i], int(MODE) | 8);
#else
            for (int j = 0; j < Vec<T>::PART_LANES; ++j) {
                const T x = v.part[i][j];
                v.part[i][j] = MODE == Rounding::NEAREST ? T(__builtin_rint(x)) : MODE == Rounding::DOWN ? T(__builtin_floor(x))
                               : MODE == Rounding::UP ? T(__builtin_ceil(x)) : T(__builtin_trunc(x));
            }
#endif
        }
        return v;
    }
}
}  // namespace detail

template <class T>
AKG_INLINE Vec<T> floor(Vec<T> v) { return detail::rounded<detail::Rounding::DOWN>(v); }
template <class T>
AKG_INLINE Vec<T> ceil(Vec<T> v) { return detail::rounded<detail::Rounding::UP>(v); }
template <class T>
AKG_INLINE Vec<T> trunc(Vec<T> v) { return detail::rounded<detail::Rounding::ZERO>(v); }
template <class T>
AKG_INLINE Vec<T> round(Vec<T> v) { return detail::rounded<detail::Rounding::NEAREST>(v); }
AKG_SCALAR_UNARY(floor)
AKG_SCALAR_UNARY(ceil)
AKG_SCALAR_UNARY(trunc)
AKG_SCALAR_UNARY(round)

template <class T>
AKG_INLINE Vec<T> sqrt(Vec<T> v) {
    if constexpr (HALF<T>) {
        return convert<T>(sqrt(convert<f32>(v)));
    } else {
        for (int i = 0; i < Vec<T>::PARTS; ++i) {
#if AKG_AVX512
            if constexpr (sizeof(T) == 4) v.part[i] = (typename Vec<T>::Part)_mm512_sqrt_ps((__m512)v.part[i]);
            else v.part[i] = (typename Vec<T>::Part)_mm512_sqrt_pd((__m512d)v.part[i]);
#elif AKG_AVX2
            if constexpr (sizeof(T) == 4) v.part[i] = (typename Vec<T>::Part)_mm256_sqrt_ps((__m256)v.part[i]);
            else v.part[i] = (typename Vec<T>::Part)_mm256_sqrt_pd((__m256d)v.part[i]);
#else
            for (int j = 0; j < Vec<T>::PART_LANES; ++j) v.part[i][j] = sizeof(T) == 4 ? T(__builtin_sqrtf(f32(v.part[i][j]))) : T(__builtin_sqrt(v.part[i][j]));
#endif
        }
        return v;
    }
}
AKG_SCALAR_UNARY(sqrt)
template <class T>
AKG_INLINE Vec<T> rsqrt(Vec<T> v) {
    if constexpr (HALF<T>) return convert<T>(rsqrt(convert<f32>(v)));
    else return Vec<T>(T(1)) / sqrt(v);
}
AKG_SCALAR_UNARY(rsqrt)

// ---- division ---------------------------------------------------------------------------------------

namespace detail {
// A divisor that no processor traps on: by 0 there is no quotient, and by -1 that of the least number is none.
template <class T>
AKG_INLINE Vec<T> divisible(Vec<T> b) {
    const auto zero = b == Vec<T>(T(0));
    if constexpr (std::is_unsigned_v<T>) return select(zero, Vec<T>(T(1)), b);
    else return select(zero | (b == Vec<T>(T(-1))), Vec<T>(T(1)), b);
}
}  // namespace detail

// Remainder with the sign of a; exact.
template <class T>
AKG_INLINE Vec<T> fmod(Vec<T> a, Vec<T> b) {
    if constexpr (HALF<T>) {
        return convert<T>(fmod(convert<f32>(a), convert<f32>(b)));
    } else if constexpr (!REAL<T>) {
        return a % detail::divisible(b);  // of 1 nothing remains
    } else if constexpr (std::is_same_v<T, f32>) {
        // In f64 the quotient of two f32 truncates rightly while it is below 2^26, and the remainder is exact.
        const Vec<f64> x = convert<f64>(a), y = convert<f64>(b), q = trunc(x / y);
        if (any(!(abs(q) < Vec<f64>(0x1p26)) | isinf(y))) return detail::per_lane<f32>(a, b, [](f32 p, f32 r) { return __builtin_fmodf(p, r); });
        return copysign(convert<f32>(fma(-q, y, x)), a);
    } else {
        return detail::per_lane<f64>(a, b, [](f64 x, f64 y) { return __builtin_fmod(x, y); });
    }
}
AKG_SCALAR_BINARY(fmod)

// Remainder with the sign of b: Python's and torch's `%`.
template <class T>
AKG_INLINE Vec<T> floor_mod(Vec<T> a, Vec<T> b) {
    const Vec<T> r = fmod(a, b), zero(T(0));
    if constexpr (std::is_unsigned_v<T>) return r;
    else return select((r != zero) & ((r < zero) != (b < zero)), r + b, r);
}
AKG_INLINE Vec<i64> floor_mod(Vec<i64> a, Vec<i64> b);

// Rounded down: Python's `//`. Division by zero gives 0 for ints.
template <class T>
AKG_INLINE Vec<T> floor_div(Vec<T> a, Vec<T> b) {
    if constexpr (HALF<T>) {
        return convert<T>(floor_div(convert<f32>(a), convert<f32>(b)));
    } else if constexpr (REAL<T>) {
        // As torch: the division of what the remainder leaves, which is whole but for rounding.
        const Vec<T> zero(T(0)), one(T(1)), m = fmod(a, b), whole = (a - m) / b;
        const Vec<T> exact = select((m != zero) & ((m < zero) != (b < zero)), whole - one, whole), nearest = floor(exact);
        const Vec<T> q = select(exact - nearest > Vec<T>(T(0.5)), nearest + one, nearest);
        return select(b == zero, a / b, select(q == zero, copysign(zero, a / b), q));
    } else {
        const Vec<T> zero(T(0)), safe = detail::divisible(b);
        const Vec<T> q = a / safe, r = a - q * safe;
        if constexpr (std::is_unsigned_v<T>) {
            return select(b == zero, zero, q);
        } else {
            const Vec<T> down = select((r != zero) & ((r < zero) != (safe < zero)), q - Vec<T>(T(1)), q);
            return select(b == zero, zero, select(b == Vec<T>(T(-1)), zero - a, down));
        }
    }
}

namespace detail {
[[gnu::noinline, gnu::cold]] inline Vec<i64> large_floor_div(Vec<i64> a, Vec<i64> b) { return floor_div<i64>(a, b); }
}

// Processors divide no vectors of integers, but f64 quotients are right to one below 2^51.
AKG_INLINE Vec<i64> floor_div(Vec<i64> a, Vec<i64> b) {
    const Vec<i64> limit(i64(1) << 51), zero(0), one(1);
    if (any((a >= limit) | (a <= -limit) | (b >= limit) | (b <= -limit) | (b == zero))) return detail::large_floor_div(a, b);
    Vec<i64> q = convert<i64>(floor(convert<f64>(a) / convert<f64>(b)));
    const Vec<i64> r = a - q * b;
    q = select((r != zero) & ((r < zero) != (b < zero)), q - one, q);
    return select(abs(r) >= abs(b), q + one, q);
}
AKG_INLINE Vec<i32> floor_div(Vec<i32> a, Vec<i32> b) {
    const Mask bad = b == Vec<i32>(0);
    const Vec<f64> q = floor(convert<f64>(a) / convert<f64>(select(bad, Vec<i32>(1), b)));  // exact: 53 bits hold the quotient's distance to an integer
    return select(bad, Vec<i32>(0), convert<i32>(q));
}
AKG_INLINE Vec<i64> floor_mod(Vec<i64> a, Vec<i64> b) { return select(b == Vec<i64>(0), Vec<i64>(0), a - floor_div(a, b) * b); }
AKG_INLINE Vec<i32> floor_mod(Vec<i32> a, Vec<i32> b) { return select(b == Vec<i32>(0), Vec<i32>(0), a - floor_div(a, b) * b); }

// By what is known to be a power of two: by its bits.
#define AKG_IS_POWER(b) (__builtin_constant_p(b) && (b) > 0 && ((b) & ((b) - 1)) == 0)
template <class T>
AKG_INLINE Vec<T> floor_div(Vec<T> a, std::type_identity_t<T> b) {
    if constexpr (std::is_integral_v<T>)
        if (AKG_IS_POWER(b)) return a >> Vec<T>(T(__builtin_ctzll(u64(b))));
    return floor_div(a, Vec<T>(b));
}
template <class T>
AKG_INLINE Vec<T> floor_mod(Vec<T> a, std::type_identity_t<T> b) {
    if constexpr (std::is_integral_v<T>)
        if (AKG_IS_POWER(b)) return a & Vec<T>(T(b - 1));
    return floor_mod(a, Vec<T>(b));
}
#undef AKG_IS_POWER
template <class T>
AKG_INLINE Vec<T> floor_div(std::type_identity_t<T> a, Vec<T> b) { return floor_div(Vec<T>(a), b); }
template <class T>
AKG_INLINE Vec<T> floor_mod(std::type_identity_t<T> a, Vec<T> b) { return floor_mod(Vec<T>(a), b); }
template <class T, if_scalar<T> = 0>
AKG_INLINE T floor_div(T a, std::type_identity_t<T> b) {
    if constexpr (REAL<T>) return lane(floor_div(Vec<T>(a), Vec<T>(b)), 0);
    else return b == 0 ? T(0) : T(a / b - (a % b != 0 && (a % b < 0) != (b < 0)));
}
template <class T, if_scalar<T> = 0>
AKG_INLINE T floor_mod(T a, std::type_identity_t<T> b) {
    if constexpr (REAL<T>) return lane(floor_mod(Vec<T>(a), Vec<T>(b)), 0);
    else return b == 0 ? T(0) : T(a % b + (a % b != 0 && (a % b < 0) != (b < 0) ? b : 0));
}
template <class T>
AKG_INLINE auto remainder(T a, T b) { return floor_mod(a, b); }

}  // namespace akg

#endif
