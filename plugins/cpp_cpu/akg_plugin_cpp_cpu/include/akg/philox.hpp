// Philox4x32-10, the counter-based generator behind `rand` (Salmon et al., SC 2011).
#ifndef AKG_PHILOX_HPP
#define AKG_PHILOX_HPP

#include "akg/lanes.hpp"

namespace akg {

namespace detail {
// One 32-bit word in the low half of each 64-bit lane.
AKG_INLINE Vec<u64> low_word(Vec<u64> v) { return v & Vec<u64>(0xffffffffu); }
}  // namespace detail

// f32 in [0, 1): key = seed, counter = index, the 24 high bits of the first word.
AKG_INLINE Vec<f32> rand(i64 seed, Vec<i64> index) {
    const Vec<u64> at = bit_cast<Vec<u64>>(index), zero(0);
    Vec<u64> c0 = detail::low_word(at), c1 = at >> Vec<u64>(32), c2 = zero, c3 = zero;
    u32 k0 = u32(u64(seed)), k1 = u32(u64(seed) >> 32);
    for (int round = 0; round < 10; ++round) {
        const Vec<u64> a = c0 * Vec<u64>(0xD2511F53u), b = c2 * Vec<u64>(0xCD9E8D57u);
        c0 = (b >> Vec<u64>(32)) ^ c1 ^ Vec<u64>(k0);
        c2 = (a >> Vec<u64>(32)) ^ c3 ^ Vec<u64>(k1);
        c1 = detail::low_word(b);
        c3 = detail::low_word(a);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return convert<f32>(bit_cast<Vec<i64>>(c0 >> Vec<u64>(8))) * Vec<f32>(0x1p-24f);
}
AKG_INLINE Vec<f32> rand(Vec<i64> seed, Vec<i64> index) {  // a seed a lane
    Vec<f32> r;
    for (int i = 0; i < LANES; ++i) r = with_lane(r, i, lane(rand(lane(seed, i), Vec<i64>(lane(index, i))), 0));
    return r;
}
AKG_INLINE f32 rand(i64 seed, i64 index) { return lane(rand(seed, Vec<i64>(index)), 0); }

}  // namespace akg

#endif
