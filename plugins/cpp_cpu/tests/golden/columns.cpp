// Generated from a sketch; the comments at the right name its lines.
#include <algorithm>

#include "akg/nest.hpp"

namespace akg {

extern "C" void akg_columns(void* const* tensors, const i64* sizes) {                             // line 3
    [[maybe_unused]] const f32* __restrict const x = static_cast<const f32*>(tensors[0]);
    [[maybe_unused]] f32* __restrict const y = static_cast<f32*>(tensors[1]);
    (void)sizes;
    parallel_for(3, 397696, [&](i64 program) {                                                    // line 4
        const i64 n_begin = program * 128;
        const i64 n_end = std::min<i64>(n_begin + 128, 300);
        alignas(64) f32 total[128 + LANES];
        alignas(64) f32 sum[128 + LANES];
        lanes<128 / LANES>(n_begin, n_end, [&](auto u, i64 n, auto part) {
            store(total + n - n_begin, Vec<f32>(0.0f), part);                                     // line 5
        });
        for (i64 m_begin = 0; m_begin < 1000; m_begin += 64) {                                    // line 6
            const i64 m_end = std::min<i64>(m_begin + 64, 1000);
            fill(sum, 128, f32(0));                                                               // line 7
            for (i64 m_0 = m_begin; m_0 < m_end; m_0 += 16) {                                     // line 6
                const i64 m_1 = std::min<i64>(m_0 + 16, m_end);
                lanes<1>(n_begin, n_end, [&](auto u, i64 n, auto part) {                          // line 4
                    Vec<f32> sum_so_far = f32(0);                                                 // line 7
                    for (i64 m = m_0; m < m_1; ++m) {                                             // line 6
                        const auto x_at = load(x + m * 300 + n, part);                            // line 7
                        sum_so_far = sum_so_far + x_at;
                    }
                    store(sum + n - n_begin, load(sum + n - n_begin, part) + sum_so_far, part);
                });
            }
            lanes<128 / LANES>(n_begin, n_end, [&](auto u, i64 n, auto part) {                    // line 4
                store(total + n - n_begin, load(total + n - n_begin, part) + load(sum + n - n_begin, part), part);  // line 7
            });
        }
        lanes<1>(n_begin, n_end, [&](auto u, i64 n, auto part) {                                  // line 4
            store(y + n, load(total + n - n_begin, part), part);                                  // line 8
        });
    });
}

}  // namespace akg
