#include <cmath>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <stdexcept>
#include <unordered_map>
#include <vector>

struct Row {
    virtual ~Row() = default;
    virtual void run(const float* x, const float* scale, float* y, long columns) = 0;
};

struct Softmax final : Row {
    void run(const float* x, const float* scale, float* y, long columns) override {
        thread_local std::vector<double> terms;
        terms.resize(columns);
        float most = -INFINITY;
        double sum = 0;
        for (long j = 0; j < columns; j++) {
            const float value = x[j] * scale[j];
            most = value > most || value != value ? value : most;
        }
        for (long j = 0; j < columns; j++) sum += terms[j] = std::exp(double(x[j] * scale[j]) - most);
        for (long j = 0; j < columns; j++) y[j] = terms[j] / sum;
    }
};

static float scratch[1 << 16];
static std::shared_mutex held;
static std::once_flag once;
static std::unique_ptr<Row> row;

extern "C" void kernel(const float* x, const float* scale, float* y, long rows, long columns) {
    std::call_once(once, [] { row = std::make_unique<Softmax>(); });
    if (rows * columns > 1 << 16) throw std::length_error("too large");
    std::unique_lock lock(held);
#pragma omp parallel
#pragma omp single
    for (long i = 0; i < rows; i++)
#pragma omp task
        row->run(x + i * columns, scale, scratch + i * columns, columns);
    auto moved = std::async(std::launch::async, [=] { std::copy(scratch, scratch + rows * columns, y); });
    moved.get();
}
