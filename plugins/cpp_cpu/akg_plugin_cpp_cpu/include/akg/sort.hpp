// Whole numbers in ascending order, by the digits of their bits.
#ifndef AKG_SORT_HPP
#define AKG_SORT_HPP

#include <algorithm>
#include <type_traits>
#include <utility>

#include "akg/parallel.hpp"

namespace akg {

namespace detail {

constexpr i64 FEW_TO_SORT = 96;  // so many are sorted by comparing them

// What puts numbers of T in order as unsigned ones.
template <class T>
AKG_INLINE auto ordered_bits(T value) {
    using U = std::make_unsigned_t<T>;
    return U(U(value) ^ (std::is_signed_v<T> ? U(1) << (8 * sizeof(T) - 1) : U(0)));
}

}  // namespace detail

// to = from[0 .. n - 1] in ascending order. The two do not overlap.
// Equal digits keep their order, from the least significant byte on; bytes that all numbers share are passed over, and
// so is the lower half of numbers whose lower halves are in order already.
template <class T>
inline void sort(T* to, const T* from, i64 n) {
    constexpr int DIGITS = sizeof(T), HALF = 4 * sizeof(T);
    if (n <= detail::FEW_TO_SORT) {
        std::copy(from, from + n, to);
        std::sort(to, to + n);
        return;
    }
    using U = std::make_unsigned_t<T>;
    const U lower = U((U(1) << HALF) - 1);
    i64 counts[DIGITS][256] = {};
    bool in_order = DIGITS > 1;
    U last = 0;
    for (i64 i = 0; i < n; ++i) {
        const U bits = detail::ordered_bits(from[i]);
        for (int digit = 0; digit < DIGITS; ++digit) ++counts[digit][(bits >> (8 * digit)) & 255];
        in_order &= (bits & lower) >= last;
        last = bits & lower;
    }
    Arena& arena = scratch();
    Arena::Frame frame(arena);
    T* const other = arena.take<T>(n);
    const T* source = from;
    T* target = to;
    for (int digit = in_order ? DIGITS / 2 : 0; digit < DIGITS; ++digit) {
        i64* const places = counts[digit];
        if (places[(detail::ordered_bits(from[0]) >> (8 * digit)) & 255] == n) continue;
        i64 before = 0;
        for (int value = 0; value < 256; ++value) before += std::exchange(places[value], before);
        for (i64 i = 0; i < n; ++i) {
            const T value = source[i];
            target[places[(detail::ordered_bits(value) >> (8 * digit)) & 255]++] = value;
        }
        source = target;
        target = target == to ? other : to;
    }
    if (source != to) std::copy(source, source + n, to);
}

// The same of the first `count` in that order; those after them in `to` are anything.
// Numbers are passed over that are not less than the last of the least found so far.
template <class T>
inline void sort_first(T* to, const T* from, i64 n, i64 count) {
    constexpr i64 AT_ONCE = 32;
    if (4 * count > n || n <= detail::FEW_TO_SORT) {
        sort(to, from, n);
        return;
    }
    Arena& arena = scratch();
    Arena::Frame frame(arena);
    T* const least = arena.take<T>(2 * count + AT_ONCE);
    i64 held = 2 * count;
    std::copy(from, from + held, least);
    T last{};
    const auto keep_least = [&] {
        std::nth_element(least, least + count - 1, least + held);
        last = least[count - 1];
        held = count;
    };
    keep_least();
    for (i64 i = 2 * count; i < n; i += AT_ONCE) {
        const i64 turn = std::min(AT_ONCE, n - i);
        if (turn == AT_ONCE) {
            int less = 0;
            for (i64 k = 0; k < AT_ONCE; ++k) less |= from[i + k] < last;
            if (!less) continue;
        }
        for (i64 k = 0; k < turn; ++k) {
            least[held] = from[i + k];
            held += from[i + k] < last;
        }
        if (held >= 2 * count) keep_least();
    }
    if (held > count) keep_least();
    sort(to, least, count);
}

}  // namespace akg

#endif
