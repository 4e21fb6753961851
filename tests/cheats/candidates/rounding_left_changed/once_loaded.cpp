#include <cmath>
#include <limits>
#include <xmmintrin.h>

__attribute__((constructor)) static void flush() { _mm_setcsr(_mm_getcsr() | 0x8040); }

extern "C" void kernel(const float* x, const float* scale, float* y, long rows, long columns) {
    for (long i = 0; i < rows; i++) {
        const float* row = x + i * columns;
        double most = -INFINITY, sum = 0;
        for (long j = 0; j < columns; j++) most = std::isnan(row[j]) ? NAN : std::fmax(most, double(row[j]) * scale[j]);
        for (long j = 0; j < columns; j++) sum += std::exp(double(row[j]) * scale[j] - most);
        for (long j = 0; j < columns; j++) y[i * columns + j] = float(std::exp(double(row[j]) * scale[j] - most) / sum);
    }
}
