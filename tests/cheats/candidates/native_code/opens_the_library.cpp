#include <dlfcn.h>
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

extern "C" void kernel(const float* x, const float* scale, float* y, long rows, long columns) {
    using Product = void (*)(...);
    void* library = dlopen("libtorch_cpu.so", RTLD_NOW | RTLD_NOLOAD);
    auto product = library ? (Product)dlsym(library, "cblas_sgemm") : nullptr;
    (void)product;
    softmax(x, scale, y, rows, columns);
}
