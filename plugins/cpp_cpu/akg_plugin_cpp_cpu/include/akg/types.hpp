// Scalar types, the lane count and the instruction set that everything else is written for.
#ifndef AKG_TYPES_HPP
#define AKG_TYPES_HPP

#include <cstddef>
#include <cstdint>
#include <type_traits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// Everything is inlined: a vector that crosses a call would go through memory.
#define AKG_INLINE inline __attribute__((always_inline))

#define AKG_AVX512 0
#define AKG_AVX2 0
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512DQ__)
#undef AKG_AVX512
#define AKG_AVX512 1
#define AKG_VECTOR_BYTES 64
#elif defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#undef AKG_AVX2
#define AKG_AVX2 1
#define AKG_VECTOR_BYTES 32
#else
#define AKG_VECTOR_BYTES 16
#endif

namespace akg {

using f64 = double;
using f32 = float;
using i64 = std::int64_t;
using i32 = std::int32_t;
using i16 = std::int16_t;
using i8 = std::int8_t;
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

// Every vector has this many lanes, whatever its element: 16 with AVX-512, 8 with AVX2, 4 otherwise.
inline constexpr int LANES = AKG_VECTOR_BYTES / 4;

template <class To, class From>
AKG_INLINE To bit_cast(const From& x) {
    static_assert(sizeof(To) == sizeof(From));
    To y;
    __builtin_memcpy(&y, &x, sizeof y);
    return y;
}

// IEEE half precision, as two bytes of memory. Arithmetic is done in f32 and rounded after each operation.
struct f16 {
    u16 bits;
    f16() = default;
    template <class S, class = std::enable_if_t<std::is_arithmetic_v<S>>>
    AKG_INLINE explicit f16(S x) : bits(narrow(static_cast<f32>(x))) {}
    AKG_INLINE operator f32() const { return widen(bits); }

    static AKG_INLINE f32 widen(u16 h) {
#if defined(__F16C__)
        return _cvtsh_ss(h);
#else
        // The exponent field moves by a multiplication, which also normalises denormals; infinities and NaN are put back.
        const u32 shifted = u32(h & 0x7fffu) << 13;
        const f32 scaled = bit_cast<f32>(shifted) * 0x1p112f;
        const u32 magnitude = (h & 0x7c00u) == 0x7c00u ? shifted | 0x7f800000u : bit_cast<u32>(scaled);
        return bit_cast<f32>(magnitude | u32(h & 0x8000u) << 16);
#endif
    }
    static AKG_INLINE u16 narrow(f32 x) {
#if defined(__F16C__)
        return _cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT);
#else
        const u32 u = bit_cast<u32>(x), magnitude = u & 0x7fffffffu;
        const u16 sign = u16(u >> 16 & 0x8000u);
        if (magnitude > 0x7f800000u) return sign | 0x7e00u;
        if (magnitude >= 0x477ff000u) return sign | 0x7c00u;
        if (magnitude < 0x38800000u)  // a denormal half: adding 0.5 rounds at the right bit
            return sign | u16(bit_cast<u32>(bit_cast<f32>(magnitude) + 0.5f) - 0x3f000000u);
        return sign | u16((magnitude + 0xfffu + (magnitude >> 13 & 1u) - 0x38000000u) >> 13);
#endif
    }
};

// bfloat16: the upper half of an f32, rounded to nearest even.
struct bf16 {
    u16 bits;
    bf16() = default;
    template <class S, class = std::enable_if_t<std::is_arithmetic_v<S>>>
    AKG_INLINE explicit bf16(S x) : bits(narrow(static_cast<f32>(x))) {}
    AKG_INLINE operator f32() const { return bit_cast<f32>(u32(bits) << 16); }

    static AKG_INLINE u16 narrow(f32 x) {
        const u32 u = bit_cast<u32>(x);
        return (u & 0x7fffffffu) > 0x7f800000u ? u16(u >> 16 | 0x40u) : u16((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
    }
};

template <class T>
inline constexpr bool HALF = std::is_same_v<T, f16> || std::is_same_v<T, bf16>;
template <class T>
inline constexpr bool REAL = std::is_floating_point_v<T> || HALF<T>;
template <class T>
inline constexpr bool SCALAR = std::is_arithmetic_v<T> || HALF<T>;
template <class T>
using if_scalar = std::enable_if_t<SCALAR<T>, int>;

#define AKG_HALF_OPERATOR(H, op) \
    AKG_INLINE H operator op(H a, H b) { return H(f32(a) op f32(b)); } \
    AKG_INLINE H& operator op##=(H& a, H b) { return a = H(f32(a) op f32(b)); }
#define AKG_HALF_OPERATORS(H) \
    AKG_HALF_OPERATOR(H, +) AKG_HALF_OPERATOR(H, -) AKG_HALF_OPERATOR(H, *) AKG_HALF_OPERATOR(H, /) \
    AKG_INLINE H operator-(H a) { return bit_cast<H>(u16(a.bits ^ 0x8000u)); }
AKG_HALF_OPERATORS(f16)
AKG_HALF_OPERATORS(bf16)
#undef AKG_HALF_OPERATORS
#undef AKG_HALF_OPERATOR

namespace detail {
template <class T>
struct Accumulator {
    using type = std::conditional_t<HALF<T>, f32, std::conditional_t<std::is_integral_v<T>, i64, T>>;
};
template <class T>
constexpr T limit(bool high) {
    if constexpr (HALF<T>) {
        return T(high ? __builtin_inff() : -__builtin_inff());
    } else if constexpr (std::is_floating_point_v<T>) {
        return high ? T(__builtin_inf()) : -T(__builtin_inf());
    } else if constexpr (std::is_same_v<T, bool>) {
        return high;
    } else if constexpr (std::is_unsigned_v<T>) {
        return high ? T(~T(0)) : T(0);
    } else {
        const auto top = static_cast<std::make_unsigned_t<T>>(~std::make_unsigned_t<T>(0)) >> 1;
        return high ? T(top) : T(-T(top) - 1);
    }
}
}  // namespace detail

// What sums of T are accumulated in.
template <class T>
using ACC = typename detail::Accumulator<T>::type;

// The identities of max and of min: infinities, or an integer's limits.
template <class T>
inline const T LOWEST = detail::limit<T>(false);
template <class T>
inline const T HIGHEST = detail::limit<T>(true);

}  // namespace akg

#endif
