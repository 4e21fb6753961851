// Across lanes: shuffles, transposes, reductions, scans and arg-reductions.
#ifndef AKG_LANES_HPP
#define AKG_LANES_HPP

#include "akg/arithmetic.hpp"

namespace akg {
namespace detail {

template <class T>
using Order = raw<signed_of<sizeof(Stored<T>)>, Vec<T>::BYTES / Vec<T>::PARTS>;

// Lane j of part i of the result is lane f(i, j) of `a` followed by `b`, both of one part.
template <class T, class F>
AKG_INLINE typename Vec<T>::Part pick(typename Vec<T>::Part a, typename Vec<T>::Part b, F f) {
    Order<T> at{};
    for (int j = 0; j < Vec<T>::PART_LANES; ++j) at[j] = signed_of<sizeof(Stored<T>)>(f(j));
    return __builtin_shuffle(a, b, at);
}

template <int K, class T>
AKG_INLINE Vec<T> swap_lanes(Vec<T> v) {  // lane i ^ K
    constexpr int P = Vec<T>::PART_LANES;
    Vec<T> r;
    for (int i = 0; i < Vec<T>::PARTS; ++i) {
        const auto& from = v.part[K >= P ? i ^ 1 : i];
        r.part[i] = pick<T>(from, from, [](int j) { return K >= P ? j : j ^ K; });
    }
    return r;
}

}  // namespace detail

// Lane i is v[i - K], and `fill` in the first K lanes.
template <int K, class T>
AKG_INLINE Vec<T> shift_up(Vec<T> v, std::type_identity_t<T> fill) {
    constexpr int P = Vec<T>::PART_LANES;
    Vec<T> r;
    auto before = Vec<T>(fill).part[0];
    for (int i = 0; i < Vec<T>::PARTS; ++i) {
        r.part[i] = detail::pick<T>(before, v.part[i], [](int j) { return j + P - K; });
        before = v.part[i];
    }
    return r;
}
// Lane i is v[i + K], and `fill` in the last K lanes.
template <int K, class T>
AKG_INLINE Vec<T> shift_down(Vec<T> v, std::type_identity_t<T> fill) {
    Vec<T> r;
    auto after = Vec<T>(fill).part[0];
    for (int i = Vec<T>::PARTS - 1; i >= 0; --i) {
        r.part[i] = detail::pick<T>(v.part[i], after, [](int j) { return j + K; });
        after = v.part[i];
    }
    return r;
}
template <class T>
AKG_INLINE Vec<T> reverse(Vec<T> v) {
    constexpr int P = Vec<T>::PART_LANES;
    Vec<T> r;
    for (int i = 0; i < Vec<T>::PARTS; ++i) {
        const auto& from = v.part[Vec<T>::PARTS - 1 - i];
        r.part[i] = detail::pick<T>(from, from, [](int j) { return P - 1 - j; });
    }
    return r;
}

// Lane i is v[at[i] % LANES].
template <class T>
AKG_INLINE Vec<T> pick_lanes(Vec<T> v, Vec<i32> at) {
    if constexpr (std::is_same_v<T, bool>) {
        return pick_lanes(convert<u8>(v), at) != Vec<u8>(0);
    } else if constexpr (Vec<T>::PARTS == 1 && Vec<i32>::PARTS == 1) {
        typedef detail::Order<T> Order;
        Vec<T> r;
        r.part[0] = __builtin_shuffle(v.part[0], __builtin_convertvector(at.part[0], Order));
        return r;
    } else {
        Vec<T> r;
        for (int i = 0; i < LANES; ++i) r = with_lane(r, i, lane(v, lane(at, i) & (LANES - 1)));
        return r;
    }
}

namespace detail {
// One round: exchange the lanes with bit S set of each row with those without it of the row S below.
template <int S, class T>
AKG_INLINE void interleave(Vec<T> (&rows)[LANES]) {
    constexpr int P = Vec<T>::PART_LANES;
#pragma GCC unroll 8
    for (int pair = 0; pair < LANES / 2; ++pair) {
        const int i = pair / S * 2 * S + pair % S;
        Vec<T>&a = rows[i], &b = rows[i + S];
        if constexpr (S == P) {
            const auto t = a.part[Vec<T>::PARTS - 1];
            a.part[Vec<T>::PARTS - 1] = b.part[0];
            b.part[0] = t;
        } else {
            for (int p = 0; p < Vec<T>::PARTS; ++p) {
                const auto x = a.part[p], y = b.part[p];
                a.part[p] = pick<T>(x, y, [](int j) { return j & S ? P + j - S : j; });
                b.part[p] = pick<T>(x, y, [](int j) { return j & S ? P + j : j + S; });
            }
        }
    }
}
}  // namespace detail

// rows[i] lane j becomes rows[j] lane i, in log2(LANES) rounds.
template <class T>
AKG_INLINE void transpose(Vec<T> (&rows)[LANES]) {
    detail::interleave<1>(rows);
    detail::interleave<2>(rows);
    if constexpr (LANES >= 8) detail::interleave<4>(rows);
    if constexpr (LANES >= 16) detail::interleave<8>(rows);
}

// Masks move across lanes as bytes.
template <int K>
AKG_INLINE Mask shift_up(Mask m, bool fill) { return shift_up<K>(convert<u8>(m), u8(fill)) != Vec<u8>(0); }
template <int K>
AKG_INLINE Mask shift_down(Mask m, bool fill) { return shift_down<K>(convert<u8>(m), u8(fill)) != Vec<u8>(0); }
AKG_INLINE Mask reverse(Mask m) { return reverse(convert<u8>(m)) != Vec<u8>(0); }
AKG_INLINE void transpose(Mask (&rows)[LANES]) {
    Vec<u8> bytes[LANES];
    for (int i = 0; i < LANES; ++i) bytes[i] = convert<u8>(rows[i]);
    transpose(bytes);
    for (int i = 0; i < LANES; ++i) rows[i] = bytes[i] != Vec<u8>(0);
}

// ---- reductions ---------------------------------------------------------------------------------------

namespace detail {
template <class T, class F>
AKG_INLINE T fold(Vec<T> v, F f) {
    if constexpr (HALF<T>) {
        return T(fold(convert<f32>(v), f));
    } else {
        if constexpr (LANES >= 16) v = f(v, swap_lanes<8>(v));
        if constexpr (LANES >= 8) v = f(v, swap_lanes<4>(v));
        v = f(v, swap_lanes<2>(v));
        v = f(v, swap_lanes<1>(v));
        return lane(v, 0);
    }
}
struct Add { template <class V> AKG_INLINE V operator()(V a, V b) const { return a + b; } };
struct Multiply { template <class V> AKG_INLINE V operator()(V a, V b) const { return a * b; } };
struct Maximum { template <class V> AKG_INLINE V operator()(V a, V b) const { return maximum(a, b); } };
struct Minimum { template <class V> AKG_INLINE V operator()(V a, V b) const { return minimum(a, b); } };
}  // namespace detail

template <class T>
AKG_INLINE T reduce_sum(Vec<T> v) { return detail::fold(v, detail::Add{}); }
template <class T>
AKG_INLINE T reduce_prod(Vec<T> v) { return detail::fold(v, detail::Multiply{}); }
template <class T>
AKG_INLINE T reduce_max(Vec<T> v) { return detail::fold(v, detail::Maximum{}); }
template <class T>
AKG_INLINE T reduce_min(Vec<T> v) { return detail::fold(v, detail::Minimum{}); }
AKG_INLINE bool reduce_any(Mask m) { return any(m); }
AKG_INLINE bool reduce_all(Mask m) { return all(m); }
AKG_INLINE bool reduce_max(Mask m) { return any(m); }
AKG_INLINE bool reduce_min(Mask m) { return all(m); }

// ---- scans ----------------------------------------------------------------------------------------------

namespace detail {
template <class T, class F>
AKG_INLINE Vec<T> scan(Vec<T> v, T identity, F f) {
    if constexpr (HALF<T>) {
        return convert<T>(scan(convert<f32>(v), f32(identity), f));
    } else {
        v = f(v, shift_up<1>(v, identity));
        v = f(v, shift_up<2>(v, identity));
        if constexpr (LANES >= 8) v = f(v, shift_up<4>(v, identity));
        if constexpr (LANES >= 16) v = f(v, shift_up<8>(v, identity));
        return v;
    }
}
}  // namespace detail

#define AKG_SCAN(name, identity, op) \
    template <class T> \
    AKG_INLINE Vec<T> name(Vec<T> v) { return detail::scan(v, identity, detail::op{}); } \
    template <class T> \
    AKG_INLINE Vec<T> name##_reverse(Vec<T> v) { return reverse(name(reverse(v))); }
AKG_SCAN(scan_sum, T(0), Add)
AKG_SCAN(scan_prod, T(1), Multiply)
AKG_SCAN(scan_max, LOWEST<T>, Maximum)
AKG_SCAN(scan_min, HIGHEST<T>, Minimum)
#undef AKG_SCAN

// ---- arg-reductions ----------------------------------------------------------------------------------------

// Per lane, the best value so far and where it was. `at` starts beyond every position, so an empty lane never wins a tie.
template <class T>
struct Best {
    Vec<T> value;
    Vec<i64> at;
    static AKG_INLINE Best lowest() { return {Vec<T>(LOWEST<T>), Vec<i64>(HIGHEST<i64>)}; }
    static AKG_INLINE Best highest() { return {Vec<T>(HIGHEST<T>), Vec<i64>(HIGHEST<i64>)}; }
};
template <class T>
struct ScalarBest {
    T value;
    i64 at;
    static AKG_INLINE ScalarBest lowest() { return {LOWEST<T>, HIGHEST<i64>}; }
    static AKG_INLINE ScalarBest highest() { return {HIGHEST<T>, HIGHEST<i64>}; }
};

namespace detail {
// Does (value, at) beat the best? NaN is extreme; equal values are decided by the smaller position.
template <bool MAX, class V, class I>
AKG_INLINE auto beats(V value, I at, V best, I best_at) {
    const auto further = MAX ? value > best : value < best;
    if constexpr (std::is_same_v<decltype(further), const bool>)
        return further || (value != value && best == best) || ((value == best || (value != value && best != best)) && at < best_at);
    else
        return further | ((value != value) & (best == best)) | (((value == best) | ((value != value) & (best != best))) & (at < best_at));
}
template <bool MAX, class T>
AKG_INLINE void arg_step(Best<T>& best, Vec<T> v, Vec<i64> at, Mask m) {
    const Mask take = m & beats<MAX>(v, at, best.value, best.at);
    best.value = select(take, v, best.value);
    best.at = select(take, at, best.at);
}
template <bool MAX, class T>
AKG_INLINE void arg_step(ScalarBest<T>& best, T v, i64 at, bool m) {
    using W = std::conditional_t<HALF<T>, f32, T>;
    if (m && beats<MAX>(W(v), at, W(best.value), best.at)) best = {v, at};
}
template <bool MAX, class T>
AKG_INLINE ScalarBest<T> arg_fold(Best<T> best) {
    ScalarBest<T> r = MAX ? ScalarBest<T>::lowest() : ScalarBest<T>::highest();
    for (int i = 0; i < LANES; ++i) arg_step<MAX>(r, lane(best.value, i), lane(best.at, i), true);
    return r;
}
}  // namespace detail

template <class T>
AKG_INLINE void argmax_step(Best<T>& best, Vec<T> v, Vec<i64> at, Mask m = Mask(true)) { detail::arg_step<true>(best, v, at, m); }
template <class T>
AKG_INLINE void argmin_step(Best<T>& best, Vec<T> v, Vec<i64> at, Mask m = Mask(true)) { detail::arg_step<false>(best, v, at, m); }
template <class T>
AKG_INLINE void argmax_step(ScalarBest<T>& best, T v, i64 at, bool m = true) { detail::arg_step<true>(best, v, at, m); }
template <class T>
AKG_INLINE void argmin_step(ScalarBest<T>& best, T v, i64 at, bool m = true) { detail::arg_step<false>(best, v, at, m); }
template <class T>
AKG_INLINE i64 argmax(Best<T> best) { return detail::arg_fold<true>(best).at; }
template <class T>
AKG_INLINE i64 argmin(Best<T> best) { return detail::arg_fold<false>(best).at; }
template <class T>
AKG_INLINE i64 argmax(ScalarBest<T> best) { return best.at; }
template <class T>
AKG_INLINE i64 argmin(ScalarBest<T> best) { return best.at; }

}  // namespace akg

#endif
