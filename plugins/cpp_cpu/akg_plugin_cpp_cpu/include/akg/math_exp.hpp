// Exponentials and logarithms: f32 and f64 within 2 ulp; infinities, NaN and denormals as IEEE functions have them.
#ifndef AKG_MATH_EXP_HPP
#define AKG_MATH_EXP_HPP

#include "akg/lanes.hpp"

namespace akg {
namespace detail {

// c[0] x^n + … + c[n], highest power first.
template <class T, class... C>
AKG_INLINE Vec<T> polynomial(Vec<T> x, C... c) {
    const T coefficient[] = {T(c)...};
    Vec<T> r(coefficient[0]);
#pragma GCC unroll 32
    for (int i = 1; i < int(sizeof...(C)); ++i) r = fma(r, x, Vec<T>(coefficient[i]));
    return r;
}

// The smaller and the larger; b when either is NaN. One instruction.
template <class T>
AKG_INLINE Vec<T> lesser(Vec<T> a, Vec<T> b) {
    for (int i = 0; i < Vec<T>::PARTS; ++i) {
#if AKG_AVX512
        if constexpr (sizeof(T) == 4) a.part[i] = (typename Vec<T>::Part)_mm512_min_ps((__m512)a.part[i], (__m512)b.part[i]);
        else a.part[i] = (typename Vec<T>::Part)_mm512_min_pd((__m512d)a.part[i], (__m512d)b.part[i]);
#else
        a.part[i] = a.part[i] < b.part[i] ? a.part[i] : b.part[i];
#endif
    }
    return a;
}
template <class T>
AKG_INLINE Vec<T> greater(Vec<T> a, Vec<T> b) {
    for (int i = 0; i < Vec<T>::PARTS; ++i) {
#if AKG_AVX512
        if constexpr (sizeof(T) == 4) a.part[i] = (typename Vec<T>::Part)_mm512_max_ps((__m512)a.part[i], (__m512)b.part[i]);
        else a.part[i] = (typename Vec<T>::Part)_mm512_max_pd((__m512d)a.part[i], (__m512d)b.part[i]);
#else
        a.part[i] = a.part[i] > b.part[i] ? a.part[i] : b.part[i];
#endif
    }
    return a;
}

template <class T>
inline constexpr bool SINGLE = std::is_same_v<T, f32>;
template <class T>
inline constexpr int MANTISSA = SINGLE<T> ? 23 : 52;
template <class T>
inline constexpr int BIAS = SINGLE<T> ? 127 : 1023;

// 2^n for whole n within the normal range.
template <class T>
AKG_INLINE Vec<T> power_of_two(Signed<T> n) {
    using I = signed_of<sizeof(T)>;
    return bit_cast<Vec<T>>((n + Signed<T>(I(BIAS<T>))) << Signed<T>(I(MANTISSA<T>)));
}

// v * 2^n for whole n, with one rounding into the denormals.
template <class T>
AKG_INLINE Vec<T> scale(Vec<T> v, Vec<T> n) {
#if AKG_AVX512
    for (int i = 0; i < Vec<T>::PARTS; ++i) {
        if constexpr (sizeof(T) == 4) v.part[i] = (typename Vec<T>::Part)_mm512_scalef_ps((__m512)v.part[i], (__m512)n.part[i]);
        else v.part[i] = (typename Vec<T>::Part)_mm512_scalef_pd((__m512d)v.part[i], (__m512d)n.part[i]);
    }
    return v;
#else
    using I = signed_of<sizeof(T)>;
    const Signed<T> whole = convert<I>(n), first = whole >> Signed<T>(I(1));  // two steps, neither of which leaves the range
    return v * power_of_two<T>(first) * power_of_two<T>(whole - first);
#endif
}

// x = m * 2^e with m in [sqrt(1/2), sqrt(2)), for positive finite x, denormals too.
template <class T>
struct Parts {
    Vec<T> m, e;
};
template <class T>
AKG_INLINE Parts<T> take_apart(Vec<T> x) {
    Vec<T> m, e;
#if AKG_AVX512
    for (int i = 0; i < Vec<T>::PARTS; ++i) {
        if constexpr (sizeof(T) == 4) {
            m.part[i] = (typename Vec<T>::Part)_mm512_getmant_ps((__m512)x.part[i], _MM_MANT_NORM_1_2, _MM_MANT_SIGN_zero);
            e.part[i] = (typename Vec<T>::Part)_mm512_getexp_ps((__m512)x.part[i]);
        } else {
            m.part[i] = (typename Vec<T>::Part)_mm512_getmant_pd((__m512d)x.part[i], _MM_MANT_NORM_1_2, _MM_MANT_SIGN_zero);
            e.part[i] = (typename Vec<T>::Part)_mm512_getexp_pd((__m512d)x.part[i]);
        }
    }
#else
    using I = signed_of<sizeof(T)>;
    const Vec<T> up(T(u64(1) << (MANTISSA<T> + 1)));
    const Mask tiny = x < power_of_two<T>(Signed<T>(I(1 - BIAS<T>)));
    const Signed<T> bits = bits_of(select(tiny, x * up, x));
    const Signed<T> exponent = (bits >> Signed<T>(I(MANTISSA<T>))) - Signed<T>(I(BIAS<T>));
    e = convert<T>(exponent) - select(tiny, Vec<T>(T(MANTISSA<T> + 1)), Vec<T>(T(0)));
    m = bit_cast<Vec<T>>(bits - (exponent << Signed<T>(I(MANTISSA<T>))));
#endif
    const Mask high = m > Vec<T>(T(1.4142135623730951));
    return {select(high, m * Vec<T>(T(0.5)), m), select(high, e + Vec<T>(T(1)), e)};
}

// ln 2 in two pieces; the first has trailing zeros, so that n times it is exact.
template <class T>
inline constexpr T LN2_HIGH = SINGLE<T> ? T(0.693359375) : T(6.93147180369123816490e-01);
template <class T>
inline constexpr T LN2_LOW = SINGLE<T> ? T(-2.12194440054690583e-4) : T(1.90821492927058770002e-10);

// (e^r - 1 - r) / r^2 for |r| <= ln(2) / 2.
template <class T>
AKG_INLINE Vec<T> exp_tail(Vec<T> r) {
    if constexpr (SINGLE<T>) {  // minimax (Cephes expf), by Estrin's scheme
        const Vec<T> s = r * r;
        return fma(fma(polynomial(r, 1.9875691500e-4, 1.3981999507e-3), s, polynomial(r, 8.3334519073e-3, 4.1665795894e-2)), s, polynomial(r, 1.6666665459e-1, 5.0000001201e-1));
    } else {  // Taylor; the next term is below 2^-57
        return polynomial(r, 1.0 / 6227020800.0, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320,
                          1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5);
    }
}

// log(1 + f) - f + f^2 / 2, for 1 + f in [sqrt(1/2), sqrt(2)).
template <class T>
AKG_INLINE Vec<T> log_tail(Vec<T> f) {
    if constexpr (SINGLE<T>) {  // Cephes logf
        return f * f * f * polynomial(f, 7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
                                      -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1);
    } else {  // fdlibm e_log: with s = f / (2 + f) and h = f^2 / 2, it is s (h + R(s^2))
        const Vec<T> s = f / (Vec<T>(2) + f), z = s * s, h = Vec<T>(0.5) * f * f;
        const Vec<T> R = z * polynomial(z, 1.479819860511658591e-01, 1.531383769920937332e-01, 1.818357216161805012e-01,
                                        2.222219843214978396e-01, 2.857142874366239149e-01, 3.999999999940941908e-01,
                                        6.666666666666735130e-01);
        return s * (h + R);
    }
}

// The logarithm's value outside (0, inf); r inside.
template <class T>
AKG_INLINE Vec<T> log_edges(Vec<T> x, Vec<T> r) {
    const Vec<T> zero(T(0)), inf(HIGHEST<T>);
    const Mask inside = (x > zero) & (x < inf);
    if (all(inside)) return r;
    return select(inside, r, select(x == zero, -inf, select(x < zero, Vec<T>(T(__builtin_nan(""))), x)));
}

// For x that is not above 711 (f32: 90), or is NaN.
template <class T>
AKG_INLINE Vec<T> exp_to_limit(Vec<T> x) {
    x = greater(Vec<T>(SINGLE<T> ? T(-105) : T(-746)), x);
    const Vec<T> n = round(x * Vec<T>(T(1.4426950408889634074)));
    const Vec<T> r = fma(n, Vec<T>(-LN2_LOW<T>), fma(n, Vec<T>(-LN2_HIGH<T>), x));
    return scale(fma(r * r, exp_tail(r), r) + Vec<T>(T(1)), n);
}
template <class T>
AKG_INLINE Vec<T> exp_real(Vec<T> x) { return exp_to_limit(lesser(Vec<T>(SINGLE<T> ? T(90) : T(711)), x)); }
template <class T>
AKG_INLINE Vec<T> exp2_real(Vec<T> x) {
    const Vec<T> low(SINGLE<T> ? T(-151) : T(-1076)), high(SINGLE<T> ? T(129) : T(1025));
    x = greater(low, lesser(high, x));
    const Vec<T> n = round(x), r = (x - n) * Vec<T>(T(0.69314718055994530942));
    return scale(fma(r * r, exp_tail(r), r) + Vec<T>(T(1)), n);
}
template <class T>
AKG_INLINE Vec<T> expm1_real(Vec<T> x) {
    const Vec<T> low(SINGLE<T> ? T(-20) : T(-45)), high(SINGLE<T> ? T(88.73) : T(709.79));  // n stays within the exponents
    const Vec<T> c = greater(low, lesser(high, x)), n = round(c * Vec<T>(T(1.4426950408889634074)));
    const Vec<T> r = fma(n, Vec<T>(-LN2_LOW<T>), fma(n, Vec<T>(-LN2_HIGH<T>), c)), p = fma(r * r, exp_tail(r), r);
    const Vec<T> half = scale(Vec<T>(T(0.5)), n);  // 2^(n-1), which is finite where the result is
    const Vec<T> y = Vec<T>(T(2)) * fma(half, p, half - Vec<T>(T(0.5)));
    return select(x == Vec<T>(T(0)), x, y);  // keeps -0
}
template <class T>
AKG_INLINE Vec<T> log_real(Vec<T> x) {
    const auto [m, e] = take_apart(x);
    const Vec<T> f = m - Vec<T>(T(1)), h = Vec<T>(T(0.5)) * f * f;
    const Vec<T> small = fma(e, Vec<T>(LN2_LOW<T>), log_tail(f));
    return log_edges(x, fma(e, Vec<T>(LN2_HIGH<T>), f - (h - small)));
}
// e log_b(2) + log(m) / log(b), with log_b(2) in two pieces.
template <class T>
AKG_INLINE Vec<T> log_based(Vec<T> x, T two_high, T two_low, T factor) {
    const auto [m, e] = take_apart(x);
    const Vec<T> f = m - Vec<T>(T(1)), h = Vec<T>(T(0.5)) * f * f, l = f - (h - log_tail(f));
    return log_edges(x, fma(e, Vec<T>(two_high), fma(l, Vec<T>(factor), e * Vec<T>(two_low))));
}
template <class T>
AKG_INLINE Vec<T> log1p_real(Vec<T> x) {
    const Vec<T> one(T(1)), zero(T(0)), u = one + x, l = log_real(u);
    const Vec<T> r = l + (x - (u - one)) / u;  // what 1 + x lost
    return select((u > zero) & (u < Vec<T>(HIGHEST<T>)), select(x == zero, x, r), l);
}

}  // namespace detail

// name(x) by `body` for f32 and f64; through f32 for halves; for scalars by lane 0.
#define AKG_MATH(name, body) \
    template <class T> \
    AKG_INLINE Vec<T> name(Vec<T> x) { \
        static_assert(REAL<T>, "cast integers to f32 first"); \
        if constexpr (HALF<T>) return convert<T>(name(convert<f32>(x))); \
        else return body; \
    } \
    AKG_SCALAR_UNARY(name)

AKG_MATH(exp, detail::exp_real(x))
AKG_MATH(exp2, detail::exp2_real(x))
AKG_MATH(expm1, detail::expm1_real(x))
AKG_MATH(log, detail::log_real(x))
AKG_MATH(log1p, detail::log1p_real(x))
AKG_MATH(log2, (detail::log_based<T>(x, T(1), T(0), T(1.4426950408889634074))))
AKG_MATH(log10, (detail::log_based<T>(x, detail::SINGLE<T> ? T(0.301025390625) : T(3.01029995663611771306e-01),
                                      detail::SINGLE<T> ? T(4.605038981195213739e-6) : T(3.69423907715893078616e-13),
                                      T(0.43429448190325182765))))

}  // namespace akg

#endif
