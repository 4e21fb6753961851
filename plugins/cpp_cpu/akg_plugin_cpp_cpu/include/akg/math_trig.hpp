// Trigonometric and hyperbolic functions and their inverses. Many f32 versions are evaluated in f64, which rounds away all error.
#ifndef AKG_MATH_TRIG_HPP
#define AKG_MATH_TRIG_HPP

#include "akg/math_exp.hpp"

namespace akg {
namespace detail {

// pi/2 in three pieces. The f64 reduction needs fused products; without them libm takes over.
inline constexpr f64 HALF_PI_1 = 0x1.921fb54442d18p+0, HALF_PI_2 = 0x1.1a62633145c07p-54, HALF_PI_3 = -0x1.f1976b7ed8fbcp-110;
inline constexpr f64 REDUCIBLE = 0x1p20;  // beyond it libm reduces the argument
#if defined(__FMA__) || defined(__aarch64__)
inline constexpr bool FUSED = true;
#else
inline constexpr bool FUSED = false;
#endif

// x = quadrant * pi/2 + high + low
struct Reduced {
    Vec<f64> high, low;
    Vec<i64> quadrant;
};
AKG_INLINE Reduced reduce_half_pi(Vec<f64> x) {
    const Vec<f64> n = round(x * Vec<f64>(0.63661977236758134308));
    const Vec<f64> r = fma(-n, Vec<f64>(HALF_PI_1), x);  // exact for FUSED: x and n pi/2 share their low bits
    const Vec<f64> high = fma(-n, Vec<f64>(HALF_PI_2), r);
    const Vec<f64> low = fma(-n, Vec<f64>(HALF_PI_3), fma(-n, Vec<f64>(HALF_PI_2), r - high));
    return {high, low, convert<i64>(n)};
}

// fdlibm k_sin and k_cos on |x| <= pi/4, for x + tail.
AKG_INLINE Vec<f64> sin_core(Vec<f64> x, Vec<f64> tail) {
    const Vec<f64> z = x * x, v = z * x;
    const Vec<f64> r = polynomial(z, 1.58969099521155010221e-10, -2.50507602534068634195e-08, 2.75573137070700676789e-06,
                                  -1.98412698298579493134e-04, 8.33333333332248946124e-03);
    return x - ((z * (Vec<f64>(0.5) * tail - v * r) - tail) + v * Vec<f64>(1.66666666666666324348e-01));
}
AKG_INLINE Vec<f64> cos_core(Vec<f64> x, Vec<f64> tail) {
    const Vec<f64> z = x * x, h = Vec<f64>(0.5) * z, w = Vec<f64>(1) - h;
    const Vec<f64> r = z * polynomial(z, -1.13596475577881948265e-11, 2.08757232129817482790e-09, -2.75573143513906633035e-07,
                                      2.48015872894767294178e-05, -1.38888888888741095749e-03, 4.16666666666666019037e-02);
    return w + (((Vec<f64>(1) - w) - h) + (z * r - x * tail));
}
// Cephes sinf and cosf on |x| <= pi/4.
AKG_INLINE Vec<f32> sin_core(Vec<f32> x) {
    const Vec<f32> z = x * x;
    return fma(z * x, polynomial(z, -1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1), x);
}
AKG_INLINE Vec<f32> cos_core(Vec<f32> x) {
    const Vec<f32> z = x * x;
    return fma(z * z, polynomial(z, 2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2), fma(z, Vec<f32>(-0.5f), Vec<f32>(1)));
}

// sin(x + turn pi/2)
AKG_INLINE Vec<f32> sine(Vec<f32> x, i32 turn) {
    if (!all(abs(x) < Vec<f32>(f32(REDUCIBLE))))
        return turn ? per_lane<f32>(x, [](f32 v) { return __builtin_cosf(v); }) : per_lane<f32>(x, [](f32 v) { return __builtin_sinf(v); });
    const Reduced r = reduce_half_pi(convert<f64>(x));
    const Vec<f32> y = convert<f32>(r.high);
    const Vec<i32> q = convert<i32>(r.quadrant) + Vec<i32>(turn);
    const Vec<f32> v = select((q & Vec<i32>(1)) != Vec<i32>(0), cos_core(y), sin_core(y));
    const Vec<f32> w = select((q & Vec<i32>(2)) != Vec<i32>(0), -v, v);
    return turn ? w : select(x == Vec<f32>(0), x, w);
}
AKG_INLINE Vec<f64> sine(Vec<f64> x, i32 turn) {
    if (!FUSED || !all(abs(x) < Vec<f64>(REDUCIBLE)))
        return turn ? per_lane<f64>(x, [](f64 v) { return __builtin_cos(v); }) : per_lane<f64>(x, [](f64 v) { return __builtin_sin(v); });
    const Reduced r = reduce_half_pi(x);
    const Vec<i64> q = r.quadrant + Vec<i64>(turn);
    const Vec<f64> v = select((q & Vec<i64>(1)) != Vec<i64>(0), cos_core(r.high, r.low), sin_core(r.high, r.low));
    const Vec<f64> w = select((q & Vec<i64>(2)) != Vec<i64>(0), -v, v);
    return turn ? w : select(x == Vec<f64>(0), x, w);
}

AKG_INLINE Vec<f64> tan_real(Vec<f64> x) {
    if (!FUSED || !all(abs(x) < Vec<f64>(REDUCIBLE))) return per_lane<f64>(x, [](f64 v) { return __builtin_tan(v); });
    const Reduced r = reduce_half_pi(x);
    const Vec<f64> s = sin_core(r.high, r.low), c = cos_core(r.high, r.low);
    const Mask odd = (r.quadrant & Vec<i64>(1)) != Vec<i64>(0);
    return select(x == Vec<f64>(0), x, select(odd, -c, s) / select(odd, s, c));
}

// fdlibm's polynomial on |t| <= 7/16, after reducing |x| by pi/4 or pi/2.
AKG_INLINE Vec<f64> atan_real(Vec<f64> x) {
    const Vec<f64> a = abs(x), one(1);
    const Mask large = a > Vec<f64>(2.4142135623730950488), middle = a > Vec<f64>(0.41421356237309504880);
    const Vec<f64> t = select(large, -one, select(middle, a - one, a)) / select(large, a, select(middle, a + one, one));
    const Vec<f64> z = t * t;
    const Vec<f64> p = z * polynomial(z, 1.62858201153657823623e-02, -3.65315727442169155270e-02, 4.97687799461593236017e-02,
                                      -5.83357013379057348645e-02, 6.66107313738753120669e-02, -7.69187620504482999495e-02,
                                      9.09088713343650656196e-02, -1.11111104054623557880e-01, 1.42857142725034663711e-01,
                                      -1.99999999998764832476e-01, 3.33333333333329318027e-01);
    const Vec<f64> high = select(large, Vec<f64>(1.57079632679489655800e+00), select(middle, Vec<f64>(7.85398163397448278999e-01), Vec<f64>(0)));
    const Vec<f64> low = select(large, Vec<f64>(6.12323399573676603587e-17), select(middle, Vec<f64>(3.06161699786838301793e-17), Vec<f64>(0)));
    return copysign(high - ((t * p - low) - t), x);
}
AKG_INLINE Vec<f64> atan2_real(Vec<f64> y, Vec<f64> x) {
    const Vec<f64> zero(0), inf(HIGHEST<f64>), one(1), ax = abs(x), ay = abs(y);
    // Infinite or zero pairs get the quotient of the direction that they stand for.
    const Vec<f64> q = select((ay == zero) & (ax == zero), zero, select((ay == inf) & (ax == inf), one, ay / ax));
    const Vec<f64> angle = atan_real(q);
    const Mask left = bits_of(x) < Vec<i64>(0);
    const Vec<f64> r = select(left, Vec<f64>(3.1415926535897931160) - (angle - Vec<f64>(1.2246467991473531772e-16)), angle);
    return select(isnan(x) | isnan(y), x + y, copysign(r, y));
}
AKG_INLINE Vec<f64> asin_real(Vec<f64> x) {
    const Vec<f64> one(1);
    return select(x == Vec<f64>(0), x, atan2_real(x, sqrt((one - x) * (one + x))));
}
AKG_INLINE Vec<f64> acos_real(Vec<f64> x) {
    const Vec<f64> one(1);
    return atan2_real(sqrt((one - x) * (one + x)), x);
}

// exp(|x|) / 2 without overflowing before the result does.
AKG_INLINE Vec<f64> half_exp(Vec<f64> a) {
    const Vec<f64> h = exp_real(Vec<f64>(0.5) * a);
    return Vec<f64>(0.5) * h * h;
}
AKG_INLINE Vec<f64> sinh_real(Vec<f64> x) {
    const Vec<f64> a = abs(x), t = expm1_real(a), y = Vec<f64>(0.5) * (t + t / (t + Vec<f64>(1)));
    return copysign(select(a > Vec<f64>(40), half_exp(a), y), x);
}
AKG_INLINE Vec<f64> cosh_real(Vec<f64> x) {
    const Vec<f64> a = abs(x), e = exp_real(a), y = fma(Vec<f64>(0.5), e, Vec<f64>(0.5) / e);
    return select(a > Vec<f64>(40), half_exp(a), y);
}
AKG_INLINE Vec<f64> asinh_real(Vec<f64> x) {
    const Vec<f64> a = abs(x), one(1), ln2(0.69314718055994530942);
    const Vec<f64> y = log1p_real(a + a * a / (one + sqrt(fma(a, a, one))));
    return copysign(select(a > Vec<f64>(0x1p28), log_real(a) + ln2, y), x);
}
AKG_INLINE Vec<f64> acosh_real(Vec<f64> x) {
    const Vec<f64> one(1), ln2(0.69314718055994530942), t = x - one;
    const Vec<f64> y = log1p_real(t + sqrt(fma(t, t, Vec<f64>(2) * t)));
    return select(x > Vec<f64>(0x1p28), log_real(x) + ln2, select(x < one, Vec<f64>(__builtin_nan("")), y));
}
AKG_INLINE Vec<f64> atanh_real(Vec<f64> x) {
    const Vec<f64> a = abs(x), one(1);
    return copysign(Vec<f64>(0.5) * log1p_real(Vec<f64>(2) * a / (one - a)), x);
}

template <class T>
AKG_INLINE Vec<T> tanh_real(Vec<T> x) {
    // u / (u + 2) keeps small results exact, 1 - 2 / (u + 2) those near 1: 1 + tanh(x) may cancel what is left.
    const Vec<T> a = abs(x), two(T(2)), c = lesser(Vec<T>(SINGLE<T> ? T(20) : T(45)), a + a);
    const Vec<T> n = round(c * Vec<T>(T(1.4426950408889634074)));
    const Vec<T> high = fma(n, Vec<T>(SINGLE<T> ? T(-0.69314718055994530942) : -LN2_HIGH<T>), c);  // of f32 one piece will do: n is small
    const Vec<T> r = SINGLE<T> ? high : fma(n, Vec<T>(-LN2_LOW<T>), high), power = scale(Vec<T>(T(1)), n);
    const Vec<T> u = fma(power, fma(r * r, exp_tail(r), r), power - Vec<T>(T(1)));  // e^(2 a) - 1
    const auto large = a > Vec<T>(T(0.55));
    const Vec<T> quotient = select(large, two, u) / (u + two);
    return copysign(select(large, Vec<T>(T(1)) - quotient, quotient), x);
}

// f in f64, rounded once.
template <class T, class F, class... V>
AKG_INLINE Vec<T> through_f64(F f, V... v) { return convert<T>(f(convert<f64>(v)...)); }
#define AKG_IN_F64(f) (detail::through_f64<T>([](Vec<f64> v) { return detail::f(v); }, x))

}  // namespace detail

AKG_MATH(sin, detail::sine(x, 0))
AKG_MATH(cos, detail::sine(x, 1))
AKG_MATH(tan, AKG_IN_F64(tan_real))
AKG_MATH(atan, AKG_IN_F64(atan_real))
AKG_MATH(asin, AKG_IN_F64(asin_real))
AKG_MATH(acos, AKG_IN_F64(acos_real))
AKG_MATH(sinh, AKG_IN_F64(sinh_real))
AKG_MATH(cosh, AKG_IN_F64(cosh_real))
AKG_MATH(tanh, detail::tanh_real(x))
AKG_MATH(asinh, AKG_IN_F64(asinh_real))
AKG_MATH(acosh, AKG_IN_F64(acosh_real))
AKG_MATH(atanh, AKG_IN_F64(atanh_real))

template <class T>
AKG_INLINE Vec<T> atan2(Vec<T> y, Vec<T> x) {
    static_assert(REAL<T>, "cast integers to f32 first");
    return detail::through_f64<T>([](Vec<f64> b, Vec<f64> a) { return detail::atan2_real(b, a); }, y, x);
}
AKG_SCALAR_BINARY(atan2)

}  // namespace akg

#endif
