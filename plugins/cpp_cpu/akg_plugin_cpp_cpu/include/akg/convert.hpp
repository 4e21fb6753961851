// convert<To>(v) among all element types, and rounding to narrower formats.
#ifndef AKG_CONVERT_HPP
#define AKG_CONVERT_HPP

#include "akg/vec.hpp"

namespace akg {
namespace detail {

// Two halves become one vector and back. Spelled with intrinsics where the compiler would go through memory.
template <class Whole, class Part>
AKG_INLINE Whole join(Part low, Part high) {
#if AKG_AVX512
    if constexpr (sizeof(Whole) == 64) return (Whole)_mm512_inserti64x4(_mm512_castsi256_si512((__m256i)low), (__m256i)high, 1);
#endif
#if defined(__AVX2__)
    if constexpr (sizeof(Whole) == 32) return (Whole)_mm256_inserti128_si256(_mm256_castsi128_si256((__m128i)low), (__m128i)high, 1);
#endif
    Whole w;
    __builtin_memcpy(&w, &low, sizeof low);
    __builtin_memcpy(reinterpret_cast<char*>(&w) + sizeof low, &high, sizeof high);
    return w;
}
template <class Part, class Whole>
AKG_INLINE Part half(Whole w, int i) {
#if AKG_AVX512
    if constexpr (sizeof(Whole) == 64) return (Part)(i ? _mm512_extracti64x4_epi64((__m512i)w, 1) : _mm512_castsi512_si256((__m512i)w));
#endif
#if defined(__AVX2__)
    if constexpr (sizeof(Whole) == 32) return (Part)(i ? _mm256_extracti128_si256((__m256i)w, 1) : _mm256_castsi256_si128((__m256i)w));
#endif
    Part p;
    __builtin_memcpy(&p, reinterpret_cast<const char*>(&w) + i * sizeof(Part), sizeof p);
    return p;
}

AKG_INLINE Vec<f32> widen(Vec<bf16> v) {
    Vec<f32> r;
    r.part[0] = (Vec<f32>::Part)(__builtin_convertvector(v.part[0], Vec<u32>::Part) << 16);
    return r;
}
AKG_INLINE Vec<f32> widen(Vec<f16> v) {
    Vec<f32> r;
#if AKG_AVX512
    r.part[0] = (Vec<f32>::Part)_mm512_cvtph_ps((__m256i)v.part[0]);
#elif AKG_AVX2
    r.part[0] = (Vec<f32>::Part)_mm256_cvtph_ps((__m128i)v.part[0]);
#else
    for (int i = 0; i < LANES; ++i) r.part[0][i] = f16::widen(v.part[0][i]);
#endif
    return r;
}
template <class H>
AKG_INLINE Vec<H> narrow(Vec<f32> v) {
    Vec<H> r;
    if constexpr (std::is_same_v<H, bf16>) {
        using U = Vec<u32>::Part;
        const U u = (U)v.part[0], nan = (U)(v.part[0] != v.part[0]);
        const U rounded = (u + 0x7fffu + (u >> 16 & 1u)) >> 16;
        r.part[0] = __builtin_convertvector((nan & (u >> 16 | 0x40u)) | (~nan & rounded), typename Vec<H>::Part);
    } else {
#if AKG_AVX512
        r.part[0] = (typename Vec<H>::Part)_mm512_cvtps_ph((__m512)v.part[0], _MM_FROUND_TO_NEAREST_INT);
#elif AKG_AVX2
        r.part[0] = (typename Vec<H>::Part)_mm256_cvtps_ph((__m256)v.part[0], _MM_FROUND_TO_NEAREST_INT);
#else
        for (int i = 0; i < LANES; ++i) r.part[0][i] = f16::narrow(v.part[0][i]);
#endif
    }
    return r;
}

// Between numbers of one register and of two, neither of them a half.
template <class To, class From>
AKG_INLINE Vec<To> convert_plain(Vec<From> v) {
    Vec<To> r;
    if constexpr (Vec<To>::PARTS == Vec<From>::PARTS) {
        for (int i = 0; i < r.PARTS; ++i) r.part[i] = __builtin_convertvector(v.part[i], typename Vec<To>::Part);
    } else if constexpr (Vec<To>::PARTS == 1) {
        using Half = raw<To, Vec<To>::BYTES / 2>;
        r.part[0] = join<typename Vec<To>::Part>(__builtin_convertvector(v.part[0], Half), __builtin_convertvector(v.part[1], Half));
    } else {
        using Half = raw<From, Vec<From>::BYTES / 2>;
        for (int i = 0; i < 2; ++i) r.part[i] = __builtin_convertvector(half<Half>(v.part[0], i), typename Vec<To>::Part);
    }
    return r;
}

}  // namespace detail

// Rounds to nearest even; float to int truncates (out of range: unspecified, as in C++); to bool is `!= 0`; ints wrap.
template <class To, class From>
AKG_INLINE Vec<To> convert(Vec<From> v) {
    if constexpr (std::is_same_v<To, From>) {
        return v;
    } else if constexpr (std::is_same_v<From, bool>) {
        return select(v, Vec<To>(To(1)), Vec<To>(To(0)));
    } else if constexpr (std::is_same_v<To, bool>) {
        return v != Vec<From>(From(0));
    } else if constexpr (HALF<From>) {
        return convert<To>(detail::widen(v));
    } else if constexpr (HALF<To>) {
        return detail::narrow<To>(convert<f32>(v));
    } else if constexpr (sizeof(From) < 4 && (REAL<To> || sizeof(To) == 8)) {
        return convert<To>(detail::convert_plain<i32>(v));  // compilers know only the single steps
    } else if constexpr (sizeof(To) < 4 && (REAL<From> || sizeof(From) == 8)) {
        return detail::convert_plain<To>(convert<i32>(v));
    } else {
        return detail::convert_plain<To>(v);
    }
}
template <class To, class From, if_scalar<From> = 0>
AKG_INLINE To convert(From x) {
    if constexpr (std::is_same_v<To, bool>) return f64(x) != 0;
    else if constexpr (std::is_same_v<To, From>) return x;
    else if constexpr (HALF<To>) return To(static_cast<f32>(x));
    else if constexpr (HALF<From>) return convert<To>(f32(x));
    else if constexpr (REAL<From> && std::is_integral_v<To> && sizeof(To) < 4) return static_cast<To>(static_cast<i32>(x));
    else return static_cast<To>(x);
}

// The formats that round_to knows beside f16 and bf16: an f32 with 10 explicit mantissa bits.
struct tf32;

// v rounded to a narrower format, as f32: to nearest; a tie goes to even, in tf32 away from zero, as hardware converts.
template <class Format>
AKG_INLINE Vec<f32> round_to(Vec<f32> v) {
    if constexpr (std::is_same_v<Format, tf32>) {
        Vec<u32> u = bit_cast<Vec<u32>>(v);
        const Vec<u32> rounded = (u + u32(0x1000)) & Vec<u32>(0xffffe000u);
        const Mask finite = (u & Vec<u32>(0x7f800000u)) != Vec<u32>(0x7f800000u);
        return select(finite, bit_cast<Vec<f32>>(rounded), v);
    } else {
        return convert<f32>(convert<Format>(v));
    }
}
template <class Format>
AKG_INLINE f32 round_to(f32 x) { return lane(round_to<Format>(Vec<f32>(x)), 0); }

}  // namespace akg

#endif
