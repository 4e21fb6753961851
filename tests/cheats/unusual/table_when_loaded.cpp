#include <array>
#include <cmath>

static const auto table = [] {
    std::array<double, 2 * 1100 + 1> made{};
    for (int n = -1100; n <= 1100; n++) made[n + 1100] = std::exp(double(n));
    return made;
}();

static double exponential(double value) {
    const double whole = std::rint(value);
    return whole < -1100 ? 0.0 : value != value ? value : table[int(whole) + 1100] * std::exp(value - whole);
}

extern "C" void kernel(const float* x, const float* scale, float* y, long rows, long columns) {
    for (long i = 0; i < rows; i++, x += columns, y += columns) {
        float most = -INFINITY;
        double sum = 0;
        for (long j = 0; j < columns; j++) {
            const float value = x[j] * scale[j];
            most = value > most || value != value ? value : most;
        }
        for (long j = 0; j < columns; j++) sum += y[j] = exponential(double(x[j] * scale[j]) - most);
        for (long j = 0; j < columns; j++) y[j] /= sum;
    }
}
