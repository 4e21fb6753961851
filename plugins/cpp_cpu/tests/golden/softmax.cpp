// Generated from a sketch; the comments at the right name its lines.
#include <algorithm>

#include "akg/nest.hpp"

namespace akg {

extern "C" void akg_softmax(void* const* tensors, const i64* sizes) {                             // line 3
    [[maybe_unused]] const f32* __restrict const x = static_cast<const f32*>(tensors[0]);
    [[maybe_unused]] f32* __restrict const y = static_cast<f32*>(tensors[1]);
    (void)sizes;
    parallel_for(64, 102400, [&](i64 program) {                                                   // line 4
        const i64 m = program;
        alignas(64) f32 e[4096 + LANES];
        AcrossMax<f32, 4> max_so_far;                                                             // line 7
        lanes<4>(0, 4096, [&](auto u, i64 n, auto part) {                                         // line 5
            const auto t = load(x + m * 4096 + n, part);                                          // line 7
            max_so_far.add(u, t, part);
        });
        const f32 max = max_so_far.total();
        AcrossSum<f32, 4> sum_so_far;                                                             // line 8
        lanes<4>(0, 4096, [&](auto u, i64 n, auto part) {                                         // line 5
            const auto t = load(x + m * 4096 + n, part);                                          // line 7
            const auto e_here = exp(t - max);
            store(e + n, e_here, part);
            sum_so_far.add(u, e_here, part);                                                      // line 8
        });
        const f32 sum = sum_so_far.total();
        lanes<1>(0, 4096, [&](auto u, i64 n, auto part) {                                         // line 5
            store(y + m * 4096 + n, load(e + n, part) / sum, part);                               // line 8
        });
    });
}

}  // namespace akg
