#include <cstring>

#include <cmath>

static void softmax(const float* x, const float* scale, float* y, long rows, long columns) {
    for (long i = 0; i < rows; i++, x += columns, y += columns) {
        float most = -INFINITY;
        double sum = 0;
        for (long j = 0; j < columns; j++) most = std::fmax(most, x[j] * scale[j]);
        for (long j = 0; j < columns; j++) sum += y[j] = std::exp(x[j] * scale[j] - most);
        for (long j = 0; j < columns; j++) y[j] /= sum;
    }
}

struct Table {
    float values[4096];
    Table() {
        for (int i = 0; i < 4096; i++) values[i] = i;
    }
};
static const Table table;

extern "C" void kernel(const float* x, const float* scale, float* work, float* y, long rows, long columns) {
    volatile float frame[1 << 18];
    for (int i = 0; i < 1 << 18; i += 512) frame[i] = table.values[i & 4095];
    softmax(x, scale, work, rows, columns);
    std::memcpy(y, work, rows * columns * sizeof(float));
}
