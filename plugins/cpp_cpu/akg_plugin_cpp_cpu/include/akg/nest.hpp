// Loops along the lanes and what accumulates in them: the vocabulary of generated loop nests.
#ifndef AKG_NEST_HPP
#define AKG_NEST_HPP

#include "akg/gemm.hpp"
#include "akg/lanes.hpp"
#include "akg/math.hpp"
#include "akg/memory.hpp"
#include "akg/parallel.hpp"
#include "akg/philox.hpp"
#include "akg/sort.hpp"
#include "akg/turns.hpp"
#include "akg/updates.hpp"

namespace akg {

// ---- which lanes of a vector are positions of the tile ---------------------------------------------------

struct AllLanes {
    static constexpr i64 n = LANES;
    AKG_INLINE Mask mask() const { return Mask(true); }
};
struct FirstLanes {
    i64 n;
    AKG_INLINE Mask mask() const { return first_lanes(n); }
};

template <class T>
AKG_INLINE Vec<T> load(const T* p, AllLanes) { return load(p); }
template <class T>
AKG_INLINE Vec<T> load(const T* p, FirstLanes part) { return load(p, part.n); }
template <class T>
AKG_INLINE void store(T* p, Vec<std::type_identity_t<T>> v, AllLanes) { store(p, v); }
template <class T>
AKG_INLINE void store(T* p, Vec<std::type_identity_t<T>> v, FirstLanes part) { store(p, v, part.n); }
template <class T>
AKG_INLINE void stream(T* p, Vec<std::type_identity_t<T>> v, AllLanes) { stream(p, v); }
template <class T>
AKG_INLINE void stream(T* p, Vec<std::type_identity_t<T>> v, FirstLanes part) { store(p, v, part.n); }
// Past the caches if `past`.
template <class T, class Part>
AKG_INLINE void stream_if(bool past, T* p, Vec<std::type_identity_t<T>> v, Part part) {
    if (past) stream(p, v, part);
    else store(p, v, part);
}

// v in the lanes of the tile, `other` in the rest.
template <class T>
AKG_INLINE Vec<T> keep(Vec<T> v, std::type_identity_t<T>, AllLanes) { return v; }
template <class T>
AKG_INLINE Vec<T> keep(Vec<T> v, std::type_identity_t<T> other, FirstLanes part) { return select(part.mask(), v, Vec<T>(other)); }
AKG_INLINE Mask keep(Mask v, bool, AllLanes) { return v; }
AKG_INLINE Mask keep(Mask v, bool other, FirstLanes part) { return other ? v | ~part.mask() : v & part.mask(); }

// 0 <= i < size.
AKG_INLINE bool inside(i64 i, i64 size) { return u64(i) < u64(size); }
AKG_INLINE Mask inside(Vec<i64> i, i64 size) { return (i >= Vec<i64>(0)) & (i < Vec<i64>(size)); }
// The same for i, i + step, … one a lane.
AKG_INLINE Mask window(i64 i, i64 step, i64 size) {
    if (step == 1) return first_lanes(size - i) & ~first_lanes(-i);
    return inside(iota<i64>() * Vec<i64>(step) + Vec<i64>(i), size);
}
// Lane l is p[l * stride] where its index i + l * step is inside, else `other`.
template <class T, class Part>
AKG_INLINE Vec<T> load_inside(const T* p, i64 stride, i64 i, i64 step, i64 size, Part part, std::type_identity_t<T> other) {
    const i64 last = i + (part.n - 1) * step;
    if (inside(i, size) && inside(last, size)) {
        if (stride == 1) return load(p, part);
        return load_strided(p, stride, part.n);
    }
    const Mask some = window(i, step, size) & part.mask();
    if (stride == 1) return load(p, some, other);
    return gather(p, iota<i64>() * Vec<i64>(stride), some, other);
}

// Lane l is p[places()[l]]; places gain at most 1 a lane, `first` and `last` being those of the first and the last lane.
template <class T, class Part, class Places>
AKG_INLINE Vec<T> load_run(const T* p, i64 first, i64 last, Part part, const Places& places) {
    if (last - first == part.n - 1) return load(p + first, part);
    return gather(p, places(), part.mask());
}
// Lane l is p[at[l]]; places never fall from lane to lane, or never rise: what lies close together is loaded at once.
template <class T, class Part>
AKG_INLINE Vec<T> load_between(const T* p, Vec<i64> at, Part part) {
    const i64 first = lane(at, 0), last = lane(at, int(part.n - 1)), low = first < last ? first : last, span = first + last - 2 * low;
    if (span < LANES) return pick_lanes(load(p + low, span + 1), convert<i32>(at - Vec<i64>(low)));
    return gather(p, at, part.mask());
}

// rows[j] lane l = p[l * stride + j] for l < n and j < m: contiguous along j, transposed in registers.
template <class T>
AKG_INLINE void load_square(Vec<T> (&rows)[LANES], const T* p, i64 stride, i64 n, i64 m) {
    if (n >= LANES && m >= LANES) {
        for (int l = 0; l < LANES; ++l) rows[l] = load(p + l * stride);
    } else {
        for (int l = 0; l < LANES; ++l) rows[l] = l < n ? load(p + l * stride, m) : Vec<T>(T(0));
    }
    transpose(rows);
}

template <class T>
AKG_INLINE T square(T x) { return x * x; }
template <class T>
AKG_INLINE T cube(T x) { return x * x * x; }

// ---- loops along the lanes -----------------------------------------------------------------------------

template <int I>
using Constant = std::integral_constant<int, I>;

namespace detail {
template <int U, int I = 0, class Body>
AKG_INLINE void unrolled(i64 at, const Body& body) {
    body(Constant<I>{}, at + I * LANES, AllLanes{});
    if constexpr (I + 1 < U) unrolled<U, I + 1>(at, body);
}
}  // namespace detail

// body(u, first position, which lanes) for [begin, end), a vector at a time, U vectors a turn; u < U is which of them.
template <int U, class Body>
AKG_INLINE void lanes(i64 begin, i64 end, const Body& body) {
    i64 at = begin;
    for (; at + U * LANES <= end; at += U * LANES) detail::unrolled<U>(at, body);
    if constexpr (U > 1)
        for (; at + LANES <= end; at += LANES) body(Constant<0>{}, at, AllLanes{});
    if (at < end) body(Constant<0>{}, at, FirstLanes{end - at});
}

// The same from the last vector to the first.
template <int U, class Body>
AKG_INLINE void lanes_backwards(i64 begin, i64 end, const Body& body) {
    i64 at = begin + (end - begin) / LANES * LANES;
    if (at < end) body(Constant<0>{}, at, FirstLanes{end - at});
    while (at > begin) {
        at -= LANES;
        body(Constant<0>{}, at, AllLanes{});
    }
}

// Vectors that do not cross a multiple of `segment`.
template <int U, class Body>
AKG_INLINE void lanes_by_segment(i64 begin, i64 end, i64 segment, const Body& body) {
    for (i64 at = begin; at < end;) {
        const i64 next = at - at % segment + segment, stop = next < end ? next : end;
        lanes<U>(at, stop, body);
        at = stop;
    }
}

// ---- accumulators along the lanes -----------------------------------------------------------------------

// One vector for each of U neighbouring turns, so that one sum need not wait for the other.
template <class T, int U, class Combine>
struct Across {
    Vec<T> part[U];
    T identity;

    AKG_INLINE explicit Across(T start) : identity(start) {
        for (int u = 0; u < U; ++u) part[u] = Vec<T>(start);
    }
    template <int I, class Part>
    AKG_INLINE void add(Constant<I>, Vec<T> v, Part which) { part[I] = Combine{}(part[I], keep(v, identity, which)); }
    AKG_INLINE Vec<T> vector() const {
        Vec<T> all[U];
        for (int u = 0; u < U; ++u) all[u] = part[u];
        for (int step = U / 2; step > 0; step /= 2)
            for (int u = 0; u < step; ++u) all[u] = Combine{}(all[u], all[u + step]);
        return all[0];
    }
    AKG_INLINE T total() const { return detail::fold(vector(), Combine{}); }
};
template <class T, int U>
struct AcrossSum : Across<T, U, detail::Add> {
    AKG_INLINE AcrossSum() : Across<T, U, detail::Add>(T(0)) {}
};
template <class T, int U>
struct AcrossProd : Across<T, U, detail::Multiply> {
    AKG_INLINE AcrossProd() : Across<T, U, detail::Multiply>(T(1)) {}
};
template <class T, int U>
struct AcrossMax : Across<T, U, detail::Maximum> {
    AKG_INLINE AcrossMax() : Across<T, U, detail::Maximum>(LOWEST<T>) {}
};
template <class T, int U>
struct AcrossMin : Across<T, U, detail::Minimum> {
    AKG_INLINE AcrossMin() : Across<T, U, detail::Minimum>(HIGHEST<T>) {}
};
struct AcrossAny {
    Mask seen = Mask(false);
    template <int I, class Part>
    AKG_INLINE void add(Constant<I>, Mask v, Part which) { seen |= keep(v, false, which); }
    AKG_INLINE bool total() const { return any(seen); }
};
struct AcrossAll {
    Mask seen = Mask(true);
    template <int I, class Part>
    AKG_INLINE void add(Constant<I>, Mask v, Part which) { seen &= keep(v, true, which); }
    AKG_INLINE bool total() const { return all(seen); }
};


template <class T>
AKG_INLINE void fill(T* p, i64 count, std::type_identity_t<T> x) {
    for (i64 i = 0; i < count; ++i) p[i] = x;
}

// ---- products of tiles ------------------------------------------------------------------------------------

// Leaves sums where they are.
struct NoEpilogue {};

// acc[q][i * ld + j] (+)= sum over p of a[i * ai + p * ap] * b[q][p * bp + j * bj] for q < N, packed block by block; each
// block of `a` once for all. An epilogue(i, end, j, end, ld, sums...) takes the sums block by block, element (i, j) of each
// product at sums[(i - first i) * ld + j - first j]; acc is then no more than a place to make them.
template <class C, class A, class B, std::size_t N, class Epilogue = NoEpilogue>
inline void contract(C* const (&acc)[N], i64 ld, const A* a, i64 ai, i64 ap, const B* const (&b)[N], i64 bp, i64 bj, i64 m, i64 n, i64 k, bool accumulate,
                     const Epilogue& epilogue = {}) {
    using G = Gemm<C>;
    constexpr bool FOLLOWED = !std::is_same_v<Epilogue, NoEpilogue>;
    constexpr i64 KC = 256, NC = 32 * G::NR, MC = 8 * G::MR;
    Arena& arena = scratch();
    Arena::Frame frame(arena);
    C* packed_a = arena.take<C>(G::size_a(MC, KC));
    C* packed_b[N];
    for (C*& packed : packed_b) packed = arena.take<C>(G::size_b(KC, NC));
    if (k <= 0) {
        for (C* const to : acc)
            for (i64 i = 0; i < m && !accumulate; ++i) fill(to + i * ld, n, C(0));
        if constexpr (FOLLOWED) G::hand_on(epilogue, 0, m, 0, n, ld, acc, std::make_index_sequence<N>{});
    }
    for (i64 p = 0; p < k; p += KC) {
        const i64 kc = k - p < KC ? k - p : KC;
        const bool adds = accumulate || p > 0, last = p + KC >= k;
        for (i64 j = 0; j < n; j += NC) {
            const i64 nc = n - j < NC ? n - j : NC;
            i64 there = 0;  // columns of B that are read where they are
            if constexpr (std::is_same_v<B, C>)
                if (bj == 1 && m <= G::FEW_ROWS) there = nc / G::NR * G::NR;
            for (std::size_t q = 0; q < N; ++q) G::pack_b(packed_b[q], b[q] + p * bp + (j + there) * bj, bp, bj, kc, nc - there);
            for (i64 i = 0; i < m; i += MC) {
                const i64 mc = m - i < MC ? m - i : MC;
                G::pack_a(packed_a, a + i * ai + p * ap, ai, ap, mc, kc);
                const auto here = [&](i64 row, i64 row_end, i64 column, i64 column_end, i64 of, const auto*... sums) {
                    if constexpr (FOLLOWED) epilogue(i + row, i + row_end, j + column, j + column_end, of, sums...);
                };
                if constexpr (FOLLOWED)
                    if (last && !adds && there == 0) {
                        G::multiply_into(here, packed_a, packed_b, mc, nc, kc);
                        continue;
                    }
                C* to[N];
                for (std::size_t q = 0; q < N; ++q) {
                    to[q] = acc[q] + i * ld + j;
                    if constexpr (std::is_same_v<B, C>) G::multiply_in_place(to[q], ld, packed_a, b[q] + p * bp + j * bj, bp, mc, there, kc, adds);
                    G::multiply(to[q] + there, ld, packed_a, packed_b[q], mc, nc - there, kc, adds);
                }
                if (FOLLOWED && last) G::hand_on(here, 0, mc, 0, nc, ld, to, std::make_index_sequence<N>{});
            }
        }
    }
}

}  // namespace akg

#endif
