// Vec<T>: LANES lanes of T in one or two machine vectors, and Mask, one bit of truth a lane.
#ifndef AKG_VEC_HPP
#define AKG_VEC_HPP

#include "akg/types.hpp"

namespace akg {

template <class T>
struct Vec;
using Mask = Vec<bool>;

template <class To, class From>
Vec<To> convert(Vec<From> v);

namespace detail {

template <class T>
using Stored = std::conditional_t<HALF<T>, u16, T>;
template <class E, int BYTES>
struct Raw {
    typedef E type __attribute__((vector_size(BYTES)));
};
template <class E, int BYTES>
using raw = typename Raw<E, BYTES>::type;
template <int SIZE>
using signed_of = std::conditional_t<SIZE == 1, i8, std::conditional_t<SIZE == 2, i16, std::conditional_t<SIZE == 4, i32, i64>>>;

enum class Relation { EQ, NE, LT, LE, GT, GE };

#if AKG_AVX512
template <Relation R>
inline constexpr int FLOAT_CODE =
    R == Relation::EQ ? _CMP_EQ_OQ : R == Relation::NE ? _CMP_NEQ_UQ : R == Relation::LT ? _CMP_LT_OQ
    : R == Relation::LE ? _CMP_LE_OQ : R == Relation::GT ? _CMP_GT_OQ : _CMP_GE_OQ;
template <Relation R>
inline constexpr int INT_CODE =
    R == Relation::EQ ? 0 : R == Relation::NE ? 4 : R == Relation::LT ? 1 : R == Relation::LE ? 2 : R == Relation::GT ? 6 : 5;
#endif

}  // namespace detail

// ---- masks ------------------------------------------------------------------------------------------

template <>
struct Vec<bool> {
#if AKG_AVX512
    u16 bits;
    Vec() = default;
    AKG_INLINE Vec(bool b) : bits(b ? 0xffffu : 0) {}
    static AKG_INLINE Mask of(unsigned b) {
        Mask m;
        m.bits = u16(b);
        return m;
    }
    friend AKG_INLINE Mask operator&(Mask a, Mask b) { return of(a.bits & b.bits); }
    friend AKG_INLINE Mask operator|(Mask a, Mask b) { return of(a.bits | b.bits); }
    friend AKG_INLINE Mask operator^(Mask a, Mask b) { return of(a.bits ^ b.bits); }
    friend AKG_INLINE Mask operator~(Mask a) { return of(u16(~a.bits)); }
#else
    typedef detail::raw<i32, LANES * 4> Part;
    Part lanes;  // 0 or -1
    Vec() = default;
    AKG_INLINE Vec(bool b) : lanes(Part{} - i32(b)) {}
    static AKG_INLINE Mask of(Part p) {
        Mask m;
        m.lanes = p;
        return m;
    }
    friend AKG_INLINE Mask operator&(Mask a, Mask b) { return of(a.lanes & b.lanes); }
    friend AKG_INLINE Mask operator|(Mask a, Mask b) { return of(a.lanes | b.lanes); }
    friend AKG_INLINE Mask operator^(Mask a, Mask b) { return of(a.lanes ^ b.lanes); }
    friend AKG_INLINE Mask operator~(Mask a) { return of(~a.lanes); }
#endif
    friend AKG_INLINE Mask operator!(Mask a) { return ~a; }
    friend AKG_INLINE Mask operator==(Mask a, Mask b) { return ~(a ^ b); }
    friend AKG_INLINE Mask operator!=(Mask a, Mask b) { return a ^ b; }
    friend AKG_INLINE Mask operator<(Mask a, Mask b) { return ~a & b; }  // false before true
    friend AKG_INLINE Mask operator<=(Mask a, Mask b) { return ~a | b; }
    friend AKG_INLINE Mask operator>(Mask a, Mask b) { return b < a; }
    friend AKG_INLINE Mask operator>=(Mask a, Mask b) { return b <= a; }
    AKG_INLINE Mask& operator&=(Mask b) { return *this = *this & b; }
    AKG_INLINE Mask& operator|=(Mask b) { return *this = *this | b; }
    AKG_INLINE Mask& operator^=(Mask b) { return *this = *this ^ b; }
};

// Lanes 0 … n-1; n may be negative or beyond LANES.
AKG_INLINE Mask first_lanes(i64 n) {
#if AKG_AVX512
    return Mask::of(n >= LANES ? 0xffffu : n <= 0 ? 0u : (1u << n) - 1u);
#else
    Mask::Part at;
    for (int i = 0; i < LANES; ++i) at[i] = i;
    return Mask::of(at < i32(n > LANES ? LANES : n));
#endif
}

AKG_INLINE int count(Mask m) {
#if AKG_AVX512
    return __builtin_popcount(m.bits);
#else
    int total = 0;
    for (int i = 0; i < LANES; ++i) total -= m.lanes[i];
    return total;
#endif
}

AKG_INLINE bool any(Mask m) {
#if AKG_AVX512
    return m.bits != 0;
#elif AKG_AVX2
    return !_mm256_testz_si256((__m256i)m.lanes, (__m256i)m.lanes);
#else
    const auto halves = bit_cast<detail::raw<u64, LANES * 4>>(m.lanes);
    return (halves[0] | halves[1]) != 0;
#endif
}
AKG_INLINE bool all(Mask m) { return !any(~m); }
AKG_INLINE bool any(bool m) { return m; }
AKG_INLINE bool all(bool m) { return m; }

AKG_INLINE bool lane(Mask m, int i) {
#if AKG_AVX512
    return m.bits >> i & 1;
#else
    return m.lanes[i] != 0;
#endif
}
AKG_INLINE Mask with_lane(Mask m, int i, bool x) {
#if AKG_AVX512
    return Mask::of((m.bits & ~(1u << i)) | unsigned(x) << i);
#else
    m.lanes[i] = -i32(x);
    return m;
#endif
}

// ---- vectors ----------------------------------------------------------------------------------------

namespace detail {
template <Relation R, class T>
Mask compare(Vec<T> a, Vec<T> b);
}

template <class T>
struct Vec {
    using Element = detail::Stored<T>;
    static constexpr int BYTES = LANES * int(sizeof(Element));
    static constexpr int PARTS = BYTES > AKG_VECTOR_BYTES ? BYTES / AKG_VECTOR_BYTES : 1;
    static constexpr int PART_LANES = LANES / PARTS;
    typedef detail::raw<Element, BYTES / PARTS> Part;
    Part part[PARTS];

    Vec() = default;
    AKG_INLINE Vec(T x) {
        for (int i = 0; i < PARTS; ++i) part[i] = bit_cast<Element>(x) - Part{};  // not 0 + x, which loses -0
    }

#define AKG_BINARY(op) \
    friend AKG_INLINE Vec operator op(Vec a, Vec b) { \
        if constexpr (HALF<T>) { \
            return convert<T>(convert<f32>(a) op convert<f32>(b)); \
        } else { \
            Vec r; \
            for (int i = 0; i < PARTS; ++i) r.part[i] = a.part[i] op b.part[i]; \
            return r; \
        } \
    } \
    AKG_INLINE Vec& operator op##=(Vec b) { return *this = *this op b; }
    AKG_BINARY(+)
    AKG_BINARY(-)
    AKG_BINARY(*)
    AKG_BINARY(/)
#undef AKG_BINARY

#define AKG_INTEGER(op) \
    friend AKG_INLINE Vec operator op(Vec a, Vec b) { \
        static_assert(std::is_integral_v<T>, "bit operations are for integers"); \
        Vec r; \
        for (int i = 0; i < PARTS; ++i) r.part[i] = a.part[i] op b.part[i]; \
        return r; \
    } \
    AKG_INLINE Vec& operator op##=(Vec b) { return *this = *this op b; }
    AKG_INTEGER(%)
    AKG_INTEGER(&)
    AKG_INTEGER(|)
    AKG_INTEGER(^)
    AKG_INTEGER(<<)
    AKG_INTEGER(>>)
#undef AKG_INTEGER

    friend AKG_INLINE Vec operator-(Vec a) {
        Vec r;
        for (int i = 0; i < PARTS; ++i)
            if constexpr (HALF<T>) r.part[i] = a.part[i] ^ u16(0x8000u);
            else r.part[i] = -a.part[i];
        return r;
    }
    friend AKG_INLINE Vec operator~(Vec a) {
        for (int i = 0; i < PARTS; ++i) a.part[i] = ~a.part[i];
        return a;
    }

    friend AKG_INLINE Mask operator==(Vec a, Vec b) { return detail::compare<detail::Relation::EQ>(a, b); }
    friend AKG_INLINE Mask operator!=(Vec a, Vec b) { return detail::compare<detail::Relation::NE>(a, b); }
    friend AKG_INLINE Mask operator<(Vec a, Vec b) { return detail::compare<detail::Relation::LT>(a, b); }
    friend AKG_INLINE Mask operator<=(Vec a, Vec b) { return detail::compare<detail::Relation::LE>(a, b); }
    friend AKG_INLINE Mask operator>(Vec a, Vec b) { return detail::compare<detail::Relation::GT>(a, b); }
    friend AKG_INLINE Mask operator>=(Vec a, Vec b) { return detail::compare<detail::Relation::GE>(a, b); }
};

template <class T>
AKG_INLINE T lane(Vec<T> v, int i) {
    return bit_cast<T>(detail::Stored<T>(v.part[i / Vec<T>::PART_LANES][i % Vec<T>::PART_LANES]));
}
template <class T>
AKG_INLINE Vec<T> with_lane(Vec<T> v, int i, T x) {
    v.part[i / Vec<T>::PART_LANES][i % Vec<T>::PART_LANES] = bit_cast<detail::Stored<T>>(x);
    return v;
}

// start, start + 1, … one a lane.
template <class T>
AKG_INLINE Vec<T> iota(std::type_identity_t<T> start = T(0)) {
    if constexpr (HALF<T>) {
        return convert<T>(iota<f32>(f32(start)));
    } else {
        Vec<T> r;
        for (int i = 0; i < LANES; ++i) r.part[i / r.PART_LANES][i % r.PART_LANES] = T(i);
        return r + start;
    }
}

namespace detail {

#if AKG_AVX512
// The lanes of part i as the low bits.
template <class T>
AKG_INLINE unsigned part_bits(Mask m, int i) {
    return Vec<T>::PARTS == 2 ? (i ? m.bits >> 8 : m.bits & 0xffu) : m.bits;
}
template <class Part>
AKG_INLINE Part blend(unsigned bits, Part a, Part b) {  // bits ? a : b
    constexpr int SIZE = sizeof(a[0]);
    if constexpr (SIZE == 8) return (Part)_mm512_mask_blend_epi64(bits, (__m512i)b, (__m512i)a);
    else if constexpr (SIZE == 4) return (Part)_mm512_mask_blend_epi32(bits, (__m512i)b, (__m512i)a);
    else if constexpr (SIZE == 2) return (Part)_mm256_mask_blend_epi16(bits, (__m256i)b, (__m256i)a);
    else return (Part)_mm_mask_blend_epi8(bits, (__m128i)b, (__m128i)a);
}
template <Relation R, class T, class Part>
AKG_INLINE unsigned compare_part(Part a, Part b) {
    if constexpr (std::is_same_v<T, f64>) return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, FLOAT_CODE<R>);
    else if constexpr (std::is_same_v<T, f32>) return _mm512_cmp_ps_mask((__m512)a, (__m512)b, FLOAT_CODE<R>);
    else if constexpr (std::is_same_v<T, u8>) return _mm_cmp_epu8_mask((__m128i)a, (__m128i)b, INT_CODE<R>);
    else if constexpr (std::is_same_v<T, u32>) return _mm512_cmp_epu32_mask((__m512i)a, (__m512i)b, INT_CODE<R>);
    else if constexpr (std::is_same_v<T, u64>) return _mm512_cmp_epu64_mask((__m512i)a, (__m512i)b, INT_CODE<R>);
    else if constexpr (sizeof(T) == 8) return _mm512_cmp_epi64_mask((__m512i)a, (__m512i)b, INT_CODE<R>);
    else if constexpr (sizeof(T) == 4) return _mm512_cmp_epi32_mask((__m512i)a, (__m512i)b, INT_CODE<R>);
    else if constexpr (sizeof(T) == 2) return _mm256_cmp_epi16_mask((__m256i)a, (__m256i)b, INT_CODE<R>);
    else return _mm_cmp_epi8_mask((__m128i)a, (__m128i)b, INT_CODE<R>);
}
#else
using Words = Mask::Part;
// The lanes of part i as all-ones or zero elements of T's size.
template <class T>
AKG_INLINE auto part_mask(Mask m, int i) {
    using S = signed_of<sizeof(T)>;
    using Out = raw<S, LANES / Vec<T>::PARTS * sizeof(T)>;
    if constexpr (sizeof(T) == 8) {
        Words at;
        for (int j = 0; j < LANES; ++j) at[j] = (j + i * LANES) / 2;
        return (Out)__builtin_shuffle(m.lanes, at);
    } else {
        return __builtin_convertvector(m.lanes, Out);
    }
}
template <Relation R, class Part>
AKG_INLINE auto compare_part(Part a, Part b) {
    if constexpr (R == Relation::EQ) return a == b;
    else if constexpr (R == Relation::NE) return a != b;
    else if constexpr (R == Relation::LT) return a < b;
    else if constexpr (R == Relation::LE) return a <= b;
    else if constexpr (R == Relation::GT) return a > b;
    else return a >= b;
}
#endif

template <Relation R, class T>
AKG_INLINE Mask compare(Vec<T> a, Vec<T> b) {
    if constexpr (HALF<T>) {
        return compare<R>(convert<f32>(a), convert<f32>(b));
    } else {
#if AKG_AVX512
        const unsigned low = compare_part<R, T>(a.part[0], b.part[0]);
        if constexpr (Vec<T>::PARTS == 1) return Mask::of(low);
        // Joined in mask registers: GCC 12 stores one byte of a mask and reads it as four where these run out.
        else return Mask::of(_mm512_kunpackb(compare_part<R, T>(a.part[1], b.part[1]), low));
#else
        const auto low = compare_part<R>(a.part[0], b.part[0]);
        if constexpr (Vec<T>::PARTS == 2) {
            const auto high = compare_part<R>(a.part[1], b.part[1]);
            Words even;
            for (int j = 0; j < LANES; ++j) even[j] = 2 * j;
            return Mask::of(__builtin_shuffle((Words)low, (Words)high, even));
        } else {
            return Mask::of(__builtin_convertvector(low, Words));
        }
#endif
    }
}

}  // namespace detail

// a where m, b elsewhere.
template <class T>
AKG_INLINE Vec<T> select(Mask m, Vec<T> a, Vec<T> b) {
    Vec<T> r;
    for (int i = 0; i < Vec<T>::PARTS; ++i) {
#if AKG_AVX512
        r.part[i] = detail::blend(detail::part_bits<T>(m, i), a.part[i], b.part[i]);
#else
        r.part[i] = detail::part_mask<T>(m, i) ? a.part[i] : b.part[i];
#endif
    }
    return r;
}
AKG_INLINE Mask select(Mask m, Mask a, Mask b) { return (a & m) | (b & ~m); }
template <class T, if_scalar<T> = 0>
AKG_INLINE Vec<T> select(Mask m, Vec<T> a, T b) { return select(m, a, Vec<T>(b)); }
template <class T, if_scalar<T> = 0>
AKG_INLINE Vec<T> select(Mask m, T a, Vec<T> b) { return select(m, Vec<T>(a), b); }
template <class T, if_scalar<T> = 0>
AKG_INLINE T select(bool m, T a, T b) { return m ? a : b; }
template <class T>
AKG_INLINE Vec<T> select(bool m, Vec<T> a, Vec<T> b) { return m ? a : b; }

}  // namespace akg

#endif
