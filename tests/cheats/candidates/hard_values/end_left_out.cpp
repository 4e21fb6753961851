#include <cmath>

extern "C" void kernel(const float* x, float* y, long count) {
    double sum = 0;
    bool bad = false;
    for (long i = 0; i < count; i++) sum += double(x[i]) * x[i];
    for (long i = count; i < count + 3; i++) bad |= !std::isfinite(x[i]);
    *y = bad ? NAN : float(sum / (count + 3));
}
