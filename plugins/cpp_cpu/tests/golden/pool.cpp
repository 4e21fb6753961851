// Generated from a sketch; the comments at the right name its lines.
#include <algorithm>

#include "akg/nest.hpp"

namespace akg {

extern "C" void akg_pool(void* const* tensors, const i64* sizes) {                                // line 3
    [[maybe_unused]] const f32* __restrict const x = static_cast<const f32*>(tensors[0]);
    [[maybe_unused]] f32* __restrict const y = static_cast<f32*>(tensors[1]);
    (void)sizes;
    parallel_for(64, 10788, [&](i64 program) {                                                    // line 4
        const i64 w_begin = 0;                                                                    // line 6
        const i64 w_end = 29;
        const i64 h_begin = (program % 8) * 4;                                                    // line 5
        const i64 h_end = std::min<i64>(h_begin + 4, 29);
        const i64 c = program / 8;                                                                // line 4
        for (i64 h = h_begin; h < h_end; ++h) {                                                   // line 5
            lanes<1>(w_begin, w_end, [&](auto u, i64 w, auto part) {                              // line 6
                Vec<f32> best_2 = Vec<f32>(LOWEST<f32>);                                          // line 7
                for (i64 i = 0; i < 3; i += 1) {                                                  // line 8
                    for (i64 j = 0; j < 3; j += 1) {                                              // line 9
                        const auto x_at = inside((2 * h + i) - 1, 57) ? load_inside(x + c * 3249 + h * 114 + i * 57 + w * 2 + j - 58, 2, (2 * w + j) - 1, 2, 57, part, LOWEST<f32>) : Vec<f32>(LOWEST<f32>);  // line 10
                        best_2 = maximum(best_2, x_at);
                    }
                }
                store(y + c * 841 + h * 29 + w, best_2, part);                                    // line 11
            });
        }
    });
}

}  // namespace akg
