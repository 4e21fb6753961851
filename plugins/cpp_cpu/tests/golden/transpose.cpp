// Generated from a sketch; the comments at the right name its lines.
#include <algorithm>

#include "akg/nest.hpp"

namespace akg {

extern "C" void akg_transpose(void* const* tensors, const i64* sizes) {                           // line 3
    [[maybe_unused]] const f32* __restrict const x = static_cast<const f32*>(tensors[0]);
    [[maybe_unused]] f32* __restrict const y = static_cast<f32*>(tensors[1]);
    (void)sizes;
    parallel_for(10, 12288, [&](i64 program) {                                                    // line 4
        const i64 n_begin = (program % 5) * 64;                                                   // line 5
        const i64 n_end = std::min<i64>(n_begin + 64, 300);
        const i64 m_begin = (program / 5) * 64;                                                   // line 4
        const i64 m_end = std::min<i64>(m_begin + 64, 100);
        lanes<1>(m_begin, m_end, [&](auto u, i64 m, auto part) {
            for (i64 n_0 = n_begin; n_0 < n_end; n_0 += LANES) {                                  // line 5
                const i64 n_n = std::min<i64>(LANES, n_end - n_0);
                Vec<f32> x_square[LANES];
                load_square(x_square, x + m * 300 + n_0, 300, part.n, n_n);
                for (i64 n = n_0; n < n_0 + n_n; ++n) {
                    store(y + n * 100 + m, x_square[n - n_0], part);                              // line 6
                }
            }
        });
    });
}

}  // namespace akg
