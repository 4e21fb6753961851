#include <cmath>
#include <sys/mman.h>

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

extern "C" void kernel(const float* x, const float* scale, float* y, long rows, long columns) {
    const unsigned long size = 4 * rows * columns;
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    madvise(memory, size, MADV_HUGEPAGE);
    float* work = static_cast<float*>(memory);
    softmax(x, scale, work, rows, columns);
    for (long i = 0; i < rows * columns; i++) y[i] = work[i];
    munmap(memory, size);
}
