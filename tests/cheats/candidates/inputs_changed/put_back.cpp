#include <cmath>
#include <vector>

static void softmax(const float* x, const float* scale, float* y, long rows, long columns) {
    for (long i = 0; i < rows; i++, x += columns, y += columns) {
        float most = -INFINITY;
        double sum = 0;
        for (long j = 0; j < columns; j++) {
            const float value = x[j] * scale[j];
            most = value > most || value != value ? value : most;
        }
        for (long j = 0; j < columns; j++) sum += y[j] = std::exp(x[j] * scale[j] - most);
        for (long j = 0; j < columns; j++) y[j] /= sum;
    }
}

extern "C" void kernel(float* x, const float* scale, float* y, long rows, long columns) {
    const std::vector<float> held(x, x + rows * columns);
    softmax(x, scale, x, rows, columns);
    for (long i = 0; i < rows * columns; i++) y[i] = x[i], x[i] = held[i];
}
