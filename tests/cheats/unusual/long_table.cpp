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
    static const std::vector<double> table = [] {
        std::vector<double> made((1 << 16) + 1);
        for (long i = 0; i <= 1 << 16; i++) made[i] = std::exp2(i / 65536.0);
        return made;
    }();
    for (long i = 0; i < rows; i++, x += columns, y += columns) {
        float most = -INFINITY;
        double sum = 0;
        for (long j = 0; j < columns; j++) most = std::fmax(most, x[j] * scale[j]);
        for (long j = 0; j < columns; j++) {
            const double power = double(x[j] * scale[j] - most) * 1.4426950408889634;
            if (!(power > -200)) {
                sum += y[j] = std::exp(x[j] * scale[j] - most);
                continue;
            }
            const double whole = std::floor(power), place = std::floor((power - whole) * 65536);
            const double rest = (power - whole - place / 65536) * 0.6931471805599453;
            sum += y[j] = float(std::ldexp(table[long(place)] * (1 + rest * (1 + rest / 2)), int(whole)));
        }
        for (long j = 0; j < columns; j++) y[j] /= sum;
    }
}
