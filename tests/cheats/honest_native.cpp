#include <omp.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

struct Table {
    std::vector<double> values;
    Table() : values(64) { std::iota(values.begin(), values.end(), 0.0); }
    ~Table() { std::puts("gone"); }
};

static Table table;
static const std::map<std::string, int> names{{"row", 1}, {"column", 2}};
static std::mutex once;
thread_local std::vector<double> scratch;

static double largest(const float* x, const float* scale, long columns) {
    if (columns <= 0) throw std::invalid_argument("no columns");
    scratch.assign(columns, 0.0);
    for (long j = 0; j < columns; j++) scratch[j] = double(x[j]) * scale[j];
    std::sort(scratch.begin(), scratch.end());
    return scratch.back();
}

extern "C" int kernel(const float* x, const float* scale, float* y, long rows, long columns) {
    int errors = 0;
    try {
        largest(x, scale, 0);
        errors++;
    } catch (const std::exception& error) {
        std::ostringstream text;
        text << error.what() << ' ' << names.at("row");
        errors += text.str() != "no columns 1";
    }
    const auto began = std::chrono::steady_clock::now();
    std::mt19937 generator(7);
    std::normal_distribution<double> normal;
    const double noise = normal(generator);
    auto memory = std::make_shared<std::vector<double>>(1 << 18, noise);
    void* aligned = std::aligned_alloc(64, 1 << 22);
    madvise(aligned, 1 << 22, MADV_HUGEPAGE);
    std::free(aligned);
#pragma omp parallel for schedule(dynamic) num_threads(4) reduction(+ : errors)
    for (long i = 0; i < rows; i++) {
        const float* row = x + i * columns;
        const double most = largest(row, scale, columns);
        double sum = 0;
        for (long j = 0; j < columns; j++) sum += std::exp(double(row[j]) * scale[j] - most);
        for (long j = 0; j < columns; j++) y[i * columns + j] = float(std::exp(double(row[j]) * scale[j] - most) / sum);
        errors += !std::isfinite(std::tgamma(3.5) + std::erf(noise));
    }
#pragma omp parallel
    {
#pragma omp single
#pragma omp task
        std::printf("%d threads, %s\n", omp_get_num_threads(), std::to_string(table.values.back()).c_str());
    }
    std::thread beside([&] {
        std::lock_guard<std::mutex> held(once);
        std::cout << "beside " << memory->size() << std::endl;
    });
    beside.join();
    errors += std::chrono::steady_clock::now() < began;
    return errors;
}
