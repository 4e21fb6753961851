#include <cmath>

__attribute__((target("avx2"))) static double wide(const double* terms, long count) {
    double sum[4] = {}, rest = 0;
    long j = 0;
    for (; j + 4 <= count; j += 4)
        for (int k = 0; k < 4; k++) sum[k] += terms[j + k];
    for (; j < count; j++) rest += terms[j];
    return sum[0] + sum[1] + sum[2] + sum[3] + rest;
}

static double narrow(const double* terms, long count) {
    double sum = 0;
    for (long j = 0; j < count; j++) sum += terms[j];
    return sum;
}

static double (*const add)(const double*, long) = __builtin_cpu_supports("avx2") ? wide : narrow;

extern "C" void kernel(const float* x, const float* scale, float* y, long rows, long columns) {
    __builtin_cpu_init();
#pragma omp parallel for schedule(guided) if (rows > 4)
    for (long i = 0; i < rows; i++) {
        double terms[columns];
        float most = -INFINITY;
        for (long j = 0; j < columns; j++) {
            const float value = x[i * columns + j] * scale[j];
            most = value > most || value != value ? value : most;
        }
        for (long j = 0; j < columns; j++) terms[j] = std::exp(double(x[i * columns + j] * scale[j]) - most);
        const double whole = add(terms, columns);
        for (long j = 0; j < columns; j++) y[i * columns + j] = terms[j] / whole;
    }
}
