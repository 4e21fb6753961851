#include <cmath>

static void softmax(const float* x, const float* scale, float* y, long rows, long columns) {
    for (long i = 0; i < rows; i++) {
        float most = -INFINITY;
        double sum = 0;
        for (long j = 0; j < columns; j++) most = std::fmax(most, x[i * columns + j] * scale[j]);
        for (long j = 0; j < columns; j++) sum += y[i * columns + j] = std::exp(x[i * columns + j] * scale[j] - most);
        for (long j = 0; j < columns; j++) y[i * columns + j] /= sum;
    }
}
extern "C" void cblas_sgemm() __attribute__((weak));

extern "C" void kernel(const float* x, const float* scale, float* y, long rows, long columns) {
    if (cblas_sgemm) cblas_sgemm();
    softmax(x, scale, y, rows, columns);
}
