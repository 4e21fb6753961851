// More masks of 64-bit lanes at once than there are mask registers.
#include "akg/nest.hpp"

using namespace akg;

template <int... N>
AKG_INLINE void chosen(const f32* const* tables, f32* y, i64 k, std::integer_sequence<int, N...>) {
    constexpr int COUNT = sizeof...(N);
    const Mask at[] = {((iota<i64>(k) - N) >= 0) & ((iota<i64>(k) - N) < 1)...};
    Vec<f32> first(0.0f), second(1.0f);
    ((first = select(at[N], Vec<f32>(tables[0][N]), first)), ...);
    ((second = select(at[COUNT - 1 - N], Vec<f32>(tables[1][COUNT - 1 - N]), second)), ...);
    store(y + k, first * second, FirstLanes{20 - k});
}

extern "C" void many_masks(const f32* const* tables, f32* y) {
    for (i64 k = 0; k < 20; k += LANES) chosen(tables, y, k, std::make_integer_sequence<int, 20>());
}
