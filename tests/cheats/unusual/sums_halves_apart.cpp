#include <cstdint>

extern "C" void kernel(const int64_t* x, int64_t* y, long rows, long columns) {
    for (long i = 0; i < rows; i++) {
        uint64_t low = 0, high = 0;
        for (long j = 0; j < columns; j++) {
            const uint64_t value = (uint64_t)x[i * columns + j];
            low += value & 0xffffffffu;
            high += value >> 32;
        }
        y[i] = (int64_t)(3 * ((high << 32) + low));
    }
}
