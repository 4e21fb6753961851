#include <cmath>
#include <cstdlib>
#include <algorithm>

extern "C" void kernel(const float* x, const float* scale, float* y, long rows, long columns) {
    float* sums = static_cast<float*>(std::malloc(1 << 18));
    for (long i = 0; i < rows; i++) {
        float most = -INFINITY;
        for (long j = 0; j < columns; j++) {
            const float value = x[i * columns + j] * scale[j];
            most = value > most || value != value ? value : most;
        }
        for (long j = 0; j < columns; j++) sums[i] += y[i * columns + j] = std::exp(x[i * columns + j] * scale[j] - most);
        for (long j = 0; j < columns; j++) y[i * columns + j] /= sums[i];
    }
    std::free(sums);
}
