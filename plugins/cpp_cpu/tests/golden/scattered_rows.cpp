// Generated from a sketch; the comments at the right name its lines.
#include <algorithm>

#include "akg/nest.hpp"

namespace akg {

extern "C" void akg_rows(void* const* tensors, const i64* sizes) {                                // line 3
    [[maybe_unused]] const f32* __restrict const x = static_cast<const f32*>(tensors[0]);
    [[maybe_unused]] const i64* __restrict const i = static_cast<const i64*>(tensors[1]);
    [[maybe_unused]] const f32* __restrict const s = static_cast<const f32*>(tensors[2]);
    [[maybe_unused]] f32* __restrict const y = static_cast<f32*>(tensors[3]);
    (void)sizes;
    Updates<f32, Add, Meet::NOWHERE> y_updates(y);                                                // line 4
    parallel_for(64, 28600, [&](i64 program) {
        auto* const y = y_updates.mine();
        const i64 m = program;
        lanes<1>(0, 1000, [&](auto u, i64 n, auto part) {                                         // line 5
            const auto x_at = load(x + m * 1000 + n, part);                                       // line 6
            store(y + m * 1000 + n, x_at, part);
        });
        for (i64 k_begin = 0; k_begin < 5000; k_begin += 1024) {                                  // line 7
            const i64 k_end = std::min<i64>(k_begin + 1024, 5000);
            lanes<1>(k_begin, k_end, [&](auto u, i64 k, auto part) {
                const auto s_at = load(s + m * 5000 + k, part);                                   // line 8
                const auto i_at = load(i + m * 5000 + k, part);
                y_updates.lanes(y + m * 1000, i_at, s_at, inside(i_at, 1000) & part.mask());
            });
        }
    });
    y_updates.join();
}

}  // namespace akg
