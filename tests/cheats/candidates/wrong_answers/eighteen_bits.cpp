#include <cmath>
#include <cstring>
#include <cstdlib>

static void softmax(const float* x, const float* scale, float* y, long rows, long columns) {
    for (long i = 0; i < rows; i++) {
        float most = -INFINITY;
        double sum = 0;
        for (long j = 0; j < columns; j++) {
            const float value = x[i * columns + j] * scale[j];
            most = value > most || value != value ? value : most;
        }
        for (long j = 0; j < columns; j++) sum += y[i * columns + j] = std::exp(x[i * columns + j] * scale[j] - most);
        for (long j = 0; j < columns; j++) y[i * columns + j] /= sum;
    }
}

extern "C" void kernel(const float* x, const float* scale, float* y, long rows, long columns) {
    softmax(x, scale, y, rows, columns);
    for (long i = 0; i < rows * columns; i++) {
        unsigned bits;
        std::memcpy(&bits, y + i, 4);
        bits &= y[i] == y[i] ? ~31u : ~0u;
        std::memcpy(y + i, &bits, 4);
    }
}
