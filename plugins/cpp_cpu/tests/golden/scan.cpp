// Generated from a sketch; the comments at the right name its lines.
#include <algorithm>

#include "akg/nest.hpp"

namespace akg {

extern "C" void akg_scan(void* const* tensors, const i64* sizes) {                                // line 3
    [[maybe_unused]] const f32* __restrict const x = static_cast<const f32*>(tensors[0]);
    [[maybe_unused]] f32* __restrict const y = static_cast<f32*>(tensors[1]);
    const i64 N = sizes[0];
    parallel_for(16, 8389634, [&](i64 program) {                                                  // line 4
        const i64 m = program;
        f64 before = 0.0;                                                                         // line 5
        for (i64 n_begin = 0; n_begin < N; n_begin += 1024) {                                     // line 6
            const i64 n_end = std::min<i64>(n_begin + 1024, N);
            f64 scan_sum_2_so_far = f64(0);                                                       // line 7
            f64 before_2_so_far{};                                                                // line 9
            lanes<1>(n_begin, n_end, [&](auto u, i64 n, auto part) {                              // line 6
                const auto x_at = load(x + N * m + n, part);                                      // line 7
                const auto scan_sum_2_run = scan_sum(keep(convert<f64>(x_at), f64(0), part)) + Vec<f64>(scan_sum_2_so_far);
                scan_sum_2_so_far = lane(scan_sum_2_run, LANES - 1);
                const Vec<f64> scan_sum_2 = scan_sum_2_run;
                const Vec<f64> s = scan_sum_2 + before;
                store(y + N * m + n, convert<f32>(s), part);                                      // line 8
                if (const i64 at = n_end - 1 - n; at >= 0 && at < part.n) before_2_so_far = lane(s, int(at));  // line 9
            });
            const f64 before_2 = before_2_so_far;
            before = before_2;
        }
    });
}

}  // namespace akg
