// Loads and stores: whole, partial, masked, strided, gathered, non-temporal and atomic.
#ifndef AKG_MEMORY_HPP
#define AKG_MEMORY_HPP

#include "akg/convert.hpp"

namespace akg {
namespace detail {

template <class Part>
struct Unaligned {
    Part value;
} __attribute__((packed, may_alias));

#if AKG_AVX512
template <class Part>
AKG_INLINE Part load_bits(const void* p, unsigned bits) {
    constexpr int SIZE = sizeof(Part{}[0]);
    if constexpr (SIZE == 8) return (Part)_mm512_maskz_loadu_epi64(bits, p);
    else if constexpr (SIZE == 4) return (Part)_mm512_maskz_loadu_epi32(bits, p);
    else if constexpr (SIZE == 2) return (Part)_mm256_maskz_loadu_epi16(bits, p);
    else return (Part)_mm_maskz_loadu_epi8(bits, p);
}
template <class Part>
AKG_INLINE void store_bits(void* p, unsigned bits, Part v) {
    constexpr int SIZE = sizeof(v[0]);
    if constexpr (SIZE == 8) _mm512_mask_storeu_epi64(p, bits, (__m512i)v);
    else if constexpr (SIZE == 4) _mm512_mask_storeu_epi32(p, bits, (__m512i)v);
    else if constexpr (SIZE == 2) _mm256_mask_storeu_epi16(p, bits, (__m256i)v);
    else _mm_mask_storeu_epi8(p, bits, (__m128i)v);
}
#endif

AKG_INLINE i64 clamp_lanes(i64 n) { return n < 0 ? 0 : n > LANES ? LANES : n; }

}  // namespace detail

// ---- loads ------------------------------------------------------------------------------------------

template <class T, if_scalar<T> = 0>
AKG_INLINE Vec<T> load(const T* p) {
    if constexpr (std::is_same_v<T, bool>) {
        return load(reinterpret_cast<const u8*>(p)) != Vec<u8>(0);
    } else {
        Vec<T> r;
        for (int i = 0; i < r.PARTS; ++i)
            r.part[i] = reinterpret_cast<const detail::Unaligned<typename Vec<T>::Part>*>(p + i * r.PART_LANES)->value;
        return r;
    }
}

template <class T>
AKG_INLINE Vec<T> load(const T* p, Mask m) {
    if constexpr (std::is_same_v<T, bool>) {
        return load(reinterpret_cast<const u8*>(p), m) != Vec<u8>(0);
    } else {
        Vec<T> r;
        for (int i = 0; i < r.PARTS; ++i) {
            [[maybe_unused]] const T* q = p + i * r.PART_LANES;
#if AKG_AVX512
            r.part[i] = detail::load_bits<typename Vec<T>::Part>(q, detail::part_bits<T>(m, i));
#elif AKG_AVX2
            if constexpr (sizeof(T) == 8)
                r.part[i] = (typename Vec<T>::Part)_mm256_maskload_epi64((const long long*)q, (__m256i)detail::part_mask<T>(m, i));
            else if constexpr (sizeof(T) == 4)
                r.part[i] = (typename Vec<T>::Part)_mm256_maskload_epi32((const int*)q, (__m256i)m.lanes);
            else
#endif
#if !AKG_AVX512
                for (int j = 0; j < r.PART_LANES; ++j)
                    r.part[i][j] = m.lanes[i * r.PART_LANES + j] ? bit_cast<detail::Stored<T>>(q[j]) : detail::Stored<T>(0);
#endif
        }
        return r;
    }
}
template <class T>
AKG_INLINE Vec<T> load(const T* p, Mask m, std::type_identity_t<T> other) { return select(m, load(p, m), Vec<T>(other)); }

template <class T>
AKG_INLINE Vec<T> load(const T* p, i64 n) {
#if !AKG_AVX512
    if constexpr (sizeof(T) < 4 || !AKG_AVX2) {
        Vec<std::conditional_t<std::is_same_v<T, bool>, u8, T>> r{};
        __builtin_memcpy(&r, p, std::size_t(detail::clamp_lanes(n)) * sizeof(T));
        if constexpr (std::is_same_v<T, bool>) return r != Vec<u8>(0);
        else return r;
    }
#endif
    return load(p, first_lanes(n));
}
// An int or a bool where lanes are counted would be ambiguous between n and Mask.
template <class T>
AKG_INLINE Vec<T> load(const T* p, int n) { return load(p, i64(n)); }

template <class T, class I>
AKG_INLINE Vec<T> gather(const T* p, Vec<I> at, Mask m = Mask(true), std::type_identity_t<T> other = T(0)) {
    static_assert(std::is_same_v<I, i64> || std::is_same_v<I, i32>, "gathers are indexed by i64 or i32");
#if AKG_AVX512
    if constexpr (sizeof(T) == 4) {
        const __m512i rest = (__m512i)Vec<T>(other).part[0];
        if constexpr (sizeof(I) == 4) {
            Vec<T> r;
            r.part[0] = (typename Vec<T>::Part)_mm512_mask_i32gather_epi32(rest, m.bits, (__m512i)at.part[0], p, 4);
            return r;
        } else {
            using Half = detail::raw<T, 32>;
            const __m256i fill = _mm512_castsi512_si256(rest);
            const Half low = (Half)_mm512_mask_i64gather_epi32(fill, m.bits & 0xff, (__m512i)at.part[0], p, 4);
            const Half high = (Half)_mm512_mask_i64gather_epi32(fill, m.bits >> 8, (__m512i)at.part[1], p, 4);
            Vec<T> r;
            r.part[0] = detail::join<typename Vec<T>::Part>(low, high);
            return r;
        }
    } else if constexpr (sizeof(T) == 8 && sizeof(I) == 8) {
        Vec<T> r;
        for (int i = 0; i < 2; ++i)
            r.part[i] = (typename Vec<T>::Part)_mm512_mask_i64gather_epi64(
                (__m512i)Vec<T>(other).part[i], detail::part_bits<T>(m, i), (__m512i)at.part[i], p, 8);
        return r;
    }
#endif
    Vec<T> r(other);
    for (int i = 0; i < LANES; ++i)
        if (lane(m, i)) r = with_lane(r, i, p[lane(at, i)]);
    return r;
}

// Lane i = p[i * stride], for the first n lanes; the others are 0.
template <class T>
AKG_INLINE Vec<T> load_strided(const T* p, i64 stride, i64 n = LANES) {
    if (stride == 1) return load(p, n);
#if AKG_AVX512
    if constexpr (sizeof(T) == 4) {
        if (stride == 2) {
            const i64 last = 2 * detail::clamp_lanes(n) - 1;  // elements touched
            const Vec<T> a = load(p, last), b = load(p + (last > LANES ? LANES : 0), last - LANES);
            const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
            Vec<T> r;
            r.part[0] = (typename Vec<T>::Part)_mm512_permutex2var_epi32((__m512i)a.part[0], even, (__m512i)b.part[0]);
            return r;
        }
        if (stride > -(1 << 26) && stride < (1 << 26)) return gather(p, iota<i32>() * Vec<i32>(i32(stride)), first_lanes(n));
    }
#endif
    return gather(p, iota<i64>() * Vec<i64>(stride), first_lanes(n));
}

// ---- stores -----------------------------------------------------------------------------------------

template <class T>
AKG_INLINE void store(T* p, Vec<std::type_identity_t<T>> v) {
    if constexpr (std::is_same_v<T, bool>) {
        store(reinterpret_cast<u8*>(p), convert<u8>(v));
    } else {
        for (int i = 0; i < v.PARTS; ++i)
            reinterpret_cast<detail::Unaligned<typename Vec<T>::Part>*>(p + i * v.PART_LANES)->value = v.part[i];
    }
}

template <class T>
AKG_INLINE void store(T* p, Vec<std::type_identity_t<T>> v, Mask m) {
    if constexpr (std::is_same_v<T, bool>) {
        store(reinterpret_cast<u8*>(p), convert<u8>(v), m);
    } else {
        for (int i = 0; i < v.PARTS; ++i) {
            [[maybe_unused]] T* q = p + i * v.PART_LANES;
#if AKG_AVX512
            detail::store_bits(q, detail::part_bits<T>(m, i), v.part[i]);
#elif AKG_AVX2
            if constexpr (sizeof(T) == 8)
                _mm256_maskstore_epi64((long long*)q, (__m256i)detail::part_mask<T>(m, i), (__m256i)v.part[i]);
            else if constexpr (sizeof(T) == 4)
                _mm256_maskstore_epi32((int*)q, (__m256i)m.lanes, (__m256i)v.part[i]);
            else
#endif
#if !AKG_AVX512
                for (int j = 0; j < v.PART_LANES; ++j)
                    if (m.lanes[i * v.PART_LANES + j]) q[j] = bit_cast<T>(detail::Stored<T>(v.part[i][j]));
#endif
        }
    }
}

template <class T>
AKG_INLINE void store(T* p, Vec<std::type_identity_t<T>> v, i64 n) {
    if constexpr (std::is_same_v<T, bool>) return store(reinterpret_cast<u8*>(p), convert<u8>(v), n);
#if !AKG_AVX512
    else if constexpr (sizeof(T) < 4 || !AKG_AVX2) {
        __builtin_memcpy(p, &v, std::size_t(detail::clamp_lanes(n)) * sizeof(T));
    }
#endif
    else store(p, v, first_lanes(n));
}
template <class T>
AKG_INLINE void store(T* p, Vec<std::type_identity_t<T>> v, int n) { store(p, v, i64(n)); }

// Past the caches when p is aligned; worth it for outputs much larger than the last level.
template <class T>
AKG_INLINE void stream(T* p, Vec<std::type_identity_t<T>> v) {
    if constexpr (std::is_same_v<T, bool>) return stream(reinterpret_cast<u8*>(p), convert<u8>(v));
#if defined(__x86_64__)
    else if constexpr (Vec<T>::BYTES / Vec<T>::PARTS >= 16) {
        using Part = typename Vec<T>::Part;
        if (reinterpret_cast<std::uintptr_t>(p) % sizeof(Part) == 0) {
            for (int i = 0; i < v.PARTS; ++i) {
                [[maybe_unused]] void* q = p + i * v.PART_LANES;
                if constexpr (sizeof(Part) == 16) _mm_stream_si128((__m128i*)q, (__m128i)v.part[i]);
#if defined(__AVX__)
                if constexpr (sizeof(Part) == 32) _mm256_stream_si256((__m256i*)q, (__m256i)v.part[i]);
#endif
#if AKG_AVX512
                if constexpr (sizeof(Part) == 64) _mm512_stream_si512((__m512i*)q, (__m512i)v.part[i]);
#endif
            }
            return;
        }
        store(p, v);
    }
#endif
    else store(p, v);
}
template <class T>
AKG_INLINE void stream(T* p, Vec<std::type_identity_t<T>> v, i64 n) {
    if (n >= LANES) stream(p, v);
    else store(p, v, n);
}

// Lanes in order: where places coincide the last lane wins.
template <class T, class I>
AKG_INLINE void scatter(T* p, Vec<I> at, Vec<std::type_identity_t<T>> v, Mask m = Mask(true)) {
#if AKG_AVX512
    if constexpr (sizeof(T) == 4 && sizeof(I) == 4) return _mm512_mask_i32scatter_epi32(p, m.bits, (__m512i)at.part[0], (__m512i)v.part[0], 4);
    for (unsigned left = m.bits; left; left &= left - 1) {  // a branch for each lane would be mispredicted half of the time
        const int i = __builtin_ctz(left);
        p[lane(at, i)] = lane(v, i);
    }
#else
    for (int i = 0; i < LANES; ++i)
        if (lane(m, i)) p[lane(at, i)] = lane(v, i);
#endif
}
template <class T>
AKG_INLINE void store_strided(T* p, i64 stride, Vec<std::type_identity_t<T>> v, i64 n = LANES) {
    if (stride == 1) return store(p, v, n);
    for (i64 i = 0; i < detail::clamp_lanes(n); ++i) p[i * stride] = lane(v, int(i));
}

AKG_INLINE void prefetch(const void* p) { __builtin_prefetch(p); }
// Ask for n elements at p[at], of many for the first: what comes after those the processor asks for by itself. Nothing
// lies there where `at` is outside of the tensor, and nothing comes of it then.
template <class T>
AKG_INLINE void prefetch(const T* p, i64 at, i64 n) {
    constexpr i64 LINE = 64, MOST = 512;
    const auto first = reinterpret_cast<std::uintptr_t>(p) + std::uintptr_t(at) * sizeof(T);
    const i64 row = n * i64(sizeof(T)), bytes = row < MOST ? row : MOST;
    for (i64 offset = 0; offset < bytes; offset += LINE) __builtin_prefetch(reinterpret_cast<const void*>(first + std::uintptr_t(offset)));
}

// ---- atomics ----------------------------------------------------------------------------------------

namespace detail {
template <class T, class F>
AKG_INLINE void atomic_update(T* p, F combine) {
    using Bits = std::conditional_t<sizeof(T) == 8, u64, std::conditional_t<sizeof(T) == 4, u32, std::conditional_t<sizeof(T) == 2, u16, u8>>>;
    Bits* at = reinterpret_cast<Bits*>(p);
    Bits seen = __atomic_load_n(at, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(at, &seen, bit_cast<Bits>(combine(bit_cast<T>(seen))), true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}
}  // namespace detail

template <class T>
AKG_INLINE void atomic_add(T* p, std::type_identity_t<T> x) {
    if constexpr (std::is_same_v<T, bool>) detail::atomic_update(p, [x](bool seen) { return seen || x; });
    else if constexpr (std::is_integral_v<T>) __atomic_fetch_add(p, x, __ATOMIC_RELAXED);
    else detail::atomic_update(p, [x](T seen) { return T(seen + x); });
}
template <class T>
AKG_INLINE void atomic_max(T* p, std::type_identity_t<T> x) {
    detail::atomic_update(p, [x](T seen) { return x > seen || x != x ? x : seen; });
}
template <class T>
AKG_INLINE void atomic_min(T* p, std::type_identity_t<T> x) {
    detail::atomic_update(p, [x](T seen) { return x < seen || x != x ? x : seen; });
}

#define AKG_SCATTER(name, one) \
    template <class T, class I> \
    AKG_INLINE void name(T* p, Vec<I> at, Vec<std::type_identity_t<T>> v, Mask m = Mask(true)) { \
        for (int i = 0; i < LANES; ++i) \
            if (lane(m, i)) one(p + lane(at, i), lane(v, i)); \
    }
AKG_SCATTER(scatter_add, atomic_add)
AKG_SCATTER(scatter_max, atomic_max)
AKG_SCATTER(scatter_min, atomic_min)
#undef AKG_SCATTER

}  // namespace akg

#endif
