#include <cmath>

extern "C" void kernel(const float* x, float* scale, float* y, long rows, long columns) {
    scale[columns] = 7;
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
