#include <cmath>

static void softmax(const float* x, const float* scale, float* y, long rows, long columns) {
    for (long i = 0; i < rows; i++, x += columns, y += columns) {
        float most = -INFINITY;
        double sum = 0;
        for (long j = 0; j < columns; j++) {
            const float value = x[j] * scale[j];
            most = value > most || value != value ? value : most;
        }
        for (long j = 0; j < columns; j++) sum += y[j] = std::exp(double(x[j] * scale[j]) - most);
        for (long j = 0; j < columns; j++) y[j] /= sum;
    }
}

extern "C" void kernel(const float* x, const float* scale, float* y, long rows, long columns) {
    softmax(x, scale, y, rows, columns);
    for (int i = 0; i < 8; i++) asm volatile("fld1");
}
