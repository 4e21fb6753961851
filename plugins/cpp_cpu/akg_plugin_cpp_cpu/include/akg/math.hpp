// Elementary functions: see math_exp.hpp and math_trig.hpp; here the error function, powers and the activations.
#ifndef AKG_MATH_HPP
#define AKG_MATH_HPP

#include "akg/math_trig.hpp"

namespace akg {
namespace detail {

// erf on |x| <= 0.9277 divided by x, minus 1, and log(erfc) beyond: N. Juffa's minimax polynomials, each below 1 ulp of erf.
inline constexpr f32 ERF_SPLIT = 0.927734375f;
AKG_INLINE Vec<f32> erf_near(Vec<f32> square) {
    return polynomial(square, -5.96761703e-4, 4.99119423e-3, -2.67681349e-2, 1.12819925e-1, -3.76125336e-1, 1.28379166e-1);
}
AKG_INLINE Vec<f32> log_erfc_far(Vec<f32> t) {
    t = lesser(Vec<f32>(10.0f), t);  // the polynomial turns back up far out, where erfc is 0 beside 1
    const Vec<f32> s = t * t, r = fma(Vec<f32>(-1.72853470e-5f), t, Vec<f32>(3.83197126e-4f));
    const Vec<f32> u = fma(Vec<f32>(-3.88396438e-3f), t, Vec<f32>(2.42546219e-2f));
    const Vec<f32> v = fma(fma(fma(fma(r, s, u), t, Vec<f32>(-1.06777877e-1f)), t, Vec<f32>(-6.34846687e-1f)), t, Vec<f32>(-1.28717512e-1f));
    return fma(v, t, -t);
}
AKG_INLINE Vec<f32> erf_real(Vec<f32> x) {
    const Vec<f32> t = abs(x), near = fma(erf_near(x * x), x, x);
    const Mask is_near = t <= Vec<f32>(ERF_SPLIT);
    if (all(is_near)) return near;
    return select(is_near, near, copysign(Vec<f32>(1) - exp_real(log_erfc_far(t)), x));
}
AKG_INLINE Vec<f64> erf_real(Vec<f64> x) { return per_lane<f64>(x, [](f64 v) { return __builtin_erf(v); }); }
AKG_INLINE Vec<f32> erfc_real(Vec<f32> x) { return per_lane<f32>(x, [](f32 v) { return f32(__builtin_erfc(f64(v))); }); }
AKG_INLINE Vec<f64> erfc_real(Vec<f64> x) { return per_lane<f64>(x, [](f64 v) { return __builtin_erfc(v); }); }

// x Phi(x), where Phi comes from erfc for negative x: 1 + erf would cancel there.
AKG_INLINE Vec<f32> gelu_real(Vec<f32> x) {
    const Vec<f32> u = x * Vec<f32>(0.70710678118654752440f), t = abs(u), half(0.5f), one(1);
    const Vec<f32> tail = half * exp_real(log_erfc_far(t));
    const Vec<f32> far = select(x < Vec<f32>(0), tail, one - tail);
    const Vec<f32> near = fma(half, fma(erf_near(u * u), u, u), half);
    const Vec<f32> y = x * select(t <= Vec<f32>(ERF_SPLIT), near, far);
    return select(x == Vec<f32>(LOWEST<f32>), Vec<f32>(0), y);
}
AKG_INLINE Vec<f64> gelu_real(Vec<f64> x) {
    return per_lane<f64>(x, [](f64 v) { return v == LOWEST<f64> ? 0.0 : 0.5 * v * __builtin_erfc(v * -0.70710678118654752440); });
}

template <class T>
AKG_INLINE Vec<T> sigmoid_real(Vec<T> x) {
    const Vec<T> e = exp_to_limit(-abs(x)), one(T(1));
    return select(x < Vec<T>(T(0)), e, one) / (one + e);
}
template <class T>
AKG_INLINE Vec<T> gelu_tanh_real(Vec<T> x) {  // (1 + tanh(y)) / 2 is sigmoid(2 y)
    const Vec<T> y = x * fma(x * x, Vec<T>(T(0.0713548162726)), Vec<T>(T(1.59576912160573071176)));
    return select(x == Vec<T>(LOWEST<T>), Vec<T>(T(0)), x * sigmoid_real(y));
}
template <class T>
AKG_INLINE Vec<T> softplus_real(Vec<T> x) { return log1p_real(exp_to_limit(-abs(x))) + greater(Vec<T>(T(0)), x); }

// Giles' single-precision approximation of erf^-1 (2010), then two steps of Newton.
inline f64 erfinv_one(f64 x) {
    if (!(x > -1 && x < 1)) return x == 1 ? HIGHEST<f64> : x == -1 ? LOWEST<f64> : __builtin_nan("");
    f64 w = -__builtin_log((1 - x) * (1 + x));
    constexpr f64 CENTRE[] = {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164, 0.246640727, 1.50140941};
    constexpr f64 TAIL[] = {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047, 1.00167406, 2.83297682};
    const bool centre = w < 5;
    w = centre ? w - 2.5 : __builtin_sqrt(w) - 3;
    f64 y = 0;
    for (int i = 0; i < 9; ++i) y = y * w + (centre ? CENTRE[i] : TAIL[i]);
    y *= x;
    for (int i = 0; i < 2; ++i) {
        // erf(y) - x, near 1 from erfc so that nothing cancels
        const f64 miss = x > 0.5 ? (1 - x) - __builtin_erfc(y) : x < -0.5 ? __builtin_erfc(-y) - (1 + x) : __builtin_erf(y) - x;
        y -= miss / (1.12837916709551257390 * __builtin_exp(-y * y));
    }
    return y;
}
template <class T>
AKG_INLINE Vec<T> erfinv_real(Vec<T> x) { return per_lane<T>(x, [](T v) { return T(erfinv_one(f64(v))); }); }
template <class T>
AKG_INLINE Vec<T> cbrt_real(Vec<T> x) { return per_lane<T>(x, [](T v) { return T(__builtin_cbrt(f64(v))); }); }

// exp(y log|x|) in f64, whose error vanishes in f32, with the edges of C's pow.
AKG_INLINE Vec<f32> pow_real(Vec<f32> base, Vec<f32> exponent) {
    const Vec<f64> x = convert<f64>(base), y = convert<f64>(exponent), zero(0), one(1), inf(HIGHEST<f64>);
    Vec<f64> r = exp_real(y * log_real(abs(x)));
    const Mask negative = bits_of(x) < Vec<i64>(0);
    if (any(negative)) {
        const Mask whole = floor(y) == y, odd = whole & (floor(y * Vec<f64>(0.5)) * Vec<f64>(2) != y) & (abs(y) < inf);
        r = select(negative & odd, -r, r);
        r = select((x < zero) & (x > -inf) & ~whole, Vec<f64>(__builtin_nan("")), r);
    }
    return convert<f32>(select((y == zero) | (x == one) | ((x == -one) & (abs(y) == inf)), one, r));
}
AKG_INLINE Vec<f64> pow_real(Vec<f64> x, Vec<f64> y) {
    return per_lane<f64>(x, y, [](f64 a, f64 b) { return __builtin_pow(a, b); });
}
template <class T>
AKG_INLINE Vec<T> pow_whole(Vec<T> x, Vec<T> n) {  // by squaring; a negative power is 0 but for bases 1 and -1
    const Vec<T> zero(T(0)), one(T(1));
    Vec<T> r = one, power = x, left = n;
    for (Mask more = left > zero; any(more); more = left > zero) {
        r = select(more & ((left & one) != zero), r * power, r);
        power *= power;
        left = left >> one;
    }
    if constexpr (std::is_signed_v<T>) {
        const Vec<T> inverse = select(x == one, one, select(x == -one, select((n & one) != zero, -one, one), zero));
        r = select(n < zero, inverse, r);
    }
    return r;
}

}  // namespace detail

AKG_MATH(erf, detail::erf_real(x))
AKG_MATH(erfc, detail::erfc_real(x))
AKG_MATH(erfinv, detail::erfinv_real(x))
AKG_MATH(cbrt, detail::cbrt_real(x))
AKG_MATH(sigmoid, detail::sigmoid_real(x))
AKG_MATH(gelu, detail::gelu_real(x))
AKG_MATH(gelu_tanh, detail::gelu_tanh_real(x))
AKG_MATH(silu, x * detail::sigmoid_real(x))
AKG_MATH(softplus, detail::softplus_real(x))

template <class T>
AKG_INLINE Vec<T> pow(Vec<T> x, Vec<T> y) {
    if constexpr (HALF<T>) return convert<T>(pow(convert<f32>(x), convert<f32>(y)));
    else if constexpr (REAL<T>) return detail::pow_real(x, y);
    else return detail::pow_whole(x, y);
}
// A uniform exponent is often a small one, which products and roots do better.
template <class T>
AKG_INLINE Vec<T> pow(Vec<T> x, std::type_identity_t<T> y) {
    if constexpr (HALF<T>) {
        return convert<T>(pow(convert<f32>(x), f32(y)));
    } else {
        if (y == T(2)) return x * x;
        if (y == T(1)) return x;
        if (y == T(3)) return x * x * x;
        if constexpr (REAL<T>) {
            if (y == T(0.5)) return sqrt(x);
            if (y == T(-1)) return reciprocal(x);
            if (y == T(-0.5)) return rsqrt(x);
        }
        return pow(x, Vec<T>(y));
    }
}
template <class T>
AKG_INLINE Vec<T> pow(std::type_identity_t<T> x, Vec<T> y) { return pow(Vec<T>(x), y); }
template <class T, if_scalar<T> = 0>
AKG_INLINE T pow(T x, std::type_identity_t<T> y) { return lane(pow(Vec<T>(x), y), 0); }

}  // namespace akg

#endif
