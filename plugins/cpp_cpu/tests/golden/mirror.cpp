// Generated from a sketch; the comments at the right name its lines.
#include <algorithm>

#include "akg/nest.hpp"

namespace akg {

extern "C" void akg_mirror(void* const* tensors, const i64* sizes) {                              // line 3
    [[maybe_unused]] const f32* __restrict const x = static_cast<const f32*>(tensors[0]);
    [[maybe_unused]] f32* __restrict const y = static_cast<f32*>(tensors[1]);
    (void)sizes;
    parallel_for(8, 8048, [&](i64 program) {                                                      // line 4
        const i64 m = program;
        lanes<1>(0, 1006, [&](auto u, i64 n, auto part) {                                         // line 5
            const auto abs_once = abs(999 - abs(n - 3));                                          // line 6
            const auto abs_once_2 = abs(999 - abs((n + part.n - 1) - 3));
            const auto x_at = load_run(x + m * 1000 + 999, -abs_once, -abs_once_2, part, [&] { return abs(999 - abs(iota<i64>(n) - 3)) * Vec<i64>(-1); });
            store(y + m * 1006 + n, x_at, part);
        });
    });
}

}  // namespace akg
