// Generated from a sketch; the comments at the right name its lines.
#include <algorithm>

#include "akg/nest.hpp"

namespace akg {

extern "C" void akg_bags(void* const* tensors, const i64* sizes) {                                // line 3
    [[maybe_unused]] const i64* __restrict const index_ = static_cast<const i64*>(tensors[0]);
    [[maybe_unused]] const f32* __restrict const table = static_cast<const f32*>(tensors[1]);
    [[maybe_unused]] f32* __restrict const y = static_cast<f32*>(tensors[2]);
    (void)sizes;
    parallel_for(512, 12864, [&](i64 program) {                                                   // line 4
        const i64 m = program;
        alignas(64) f32 sum[64 + LANES];
        fill(sum, 64, f32(0));                                                                    // line 7
        for (i64 n = 0; n < 40; ++n) {                                                            // line 5
            const auto index__later = index_[std::min<i64>(m * 40 + (n + 8), 20480 - 1)];
            prefetch(table, index__later * 64, 64);
            const auto index__at = index_[m * 40 + n];                                            // line 7
            lanes<64 / LANES>(0, 64, [&](auto u, i64 p, auto part) {                              // line 6
                const auto table_at = inside(index__at, 100000) ? load(table + index__at * 64 + p, part) : Vec<f32>(0.0f);  // line 7
                store(sum + p, load(sum + p, part) + table_at, part);
            });
        }
        lanes<1>(0, 64, [&](auto u, i64 p, auto part) {                                           // line 6
            store(y + m * 64 + p, load(sum + p, part), part);                                     // line 7
        });
    });
}

}  // namespace akg
