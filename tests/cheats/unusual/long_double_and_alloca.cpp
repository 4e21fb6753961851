#include <alloca.h>

#include <cmath>

static long double sum(const long double* terms, long count) {
    return count == 1 ? terms[0] : sum(terms, count / 2) + sum(terms + count / 2, count - count / 2);
}

template <int N>
static long double scaled(long double value) {
    if constexpr (N == 0) return value;
    else return scaled<N - 1>(value);
}

extern "C" void kernel(const float* x, const float* scale, float* y, long rows, long columns) {
    auto* terms = static_cast<long double*>(alloca(columns * sizeof(long double)));
    for (long i = 0; i < rows; i++, x += columns, y += columns) {
        float most = -INFINITY;
        for (long j = 0; j < columns; j++) {
            const float value = x[j] * scale[j];
            most = value > most || value != value ? value : most;
        }
        for (long j = 0; j < columns; j++) terms[j] = std::exp(scaled<12>(x[j] * scale[j]) - most);
        const long double whole = sum(terms, columns);
        for (long j = 0; j < columns; j++) y[j] = float(terms[j] / whole);
    }
}
