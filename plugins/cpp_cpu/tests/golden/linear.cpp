// Generated from a sketch; the comments at the right name its lines.
#include <algorithm>

#include "akg/nest.hpp"

namespace akg {

extern "C" void akg_linear(void* const* tensors, const i64* sizes) {                              // line 3
    [[maybe_unused]] const f32* __restrict const x = static_cast<const f32*>(tensors[0]);
    [[maybe_unused]] const f32* __restrict const w = static_cast<const f32*>(tensors[1]);
    [[maybe_unused]] const f32* __restrict const b = static_cast<const f32*>(tensors[2]);
    [[maybe_unused]] f32* __restrict const y = static_cast<f32*>(tensors[3]);
    const i64 M = sizes[0];
    parallel_for((M + 63) / 64, 2154496, [&](i64 program) {                                       // line 5
        const i64 m_begin = program * 64;
        const i64 m_end = std::min<i64>(m_begin + 64, M);
        Arena& arena = scratch();
        Arena::Frame frame(arena);
        f32* const acc = arena.take<f32>(8192);
        contract({acc}, 128, x + m_begin * 256, 256, 1, {w}, 1, 256, m_end - m_begin, 128, 256, false);  // line 9
        for (i64 m = m_begin; m < m_end; ++m) {                                                   // line 5
            lanes<1>(0, 128, [&](auto u, i64 n, auto part) {                                      // line 6
                const auto b_at = load(b + n, part);                                              // line 10
                store(y + m * 128 + n, relu(load(acc + (m - m_begin) * 128 + n, part) + b_at), part);
            });
        }
    });
}

}  // namespace akg
