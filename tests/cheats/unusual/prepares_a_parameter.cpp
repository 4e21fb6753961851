#include <cmath>
#include <cstring>
#include <vector>

static void softmax(const float* x, const float* scale, float* y, long rows, long columns) {
    for (long i = 0; i < rows; i++, x += columns, y += columns) {
        float most = -INFINITY;
        double sum = 0;
        for (long j = 0; j < columns; j++) most = std::fmax(most, x[j] * scale[j]);
        for (long j = 0; j < columns; j++) sum += y[j] = std::exp(x[j] * scale[j] - most);
        for (long j = 0; j < columns; j++) y[j] /= sum;
    }
}

extern "C" void kernel(const float* x, const float* scale, float* y, long rows, long columns) {
    static std::vector<float> of, prepared;
    if ((long)of.size() != columns || std::memcmp(of.data(), scale, 4 * columns)) {
        of.assign(scale, scale + columns);
        prepared = of;
    }
    softmax(x, prepared.data(), y, rows, columns);
}
