#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

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

class Worker {
    std::mutex mutex;
    std::condition_variable begin, end;
    std::function<void()> work;
    long asked = 0, done = 0;

    void serve() {
        for (std::unique_lock<std::mutex> lock(mutex);; end.notify_all()) {
            begin.wait(lock, [this] { return asked != done; });
            work();
            done = asked;
        }
    }

public:
    Worker() { std::thread(&Worker::serve, this).detach(); }

    void run(std::function<void()> given) {
        std::unique_lock<std::mutex> lock(mutex);
        work = std::move(given);
        asked++;
        begin.notify_all();
        end.wait(lock, [this] { return asked == done; });
    }
};

extern "C" void kernel(const float* x, const float* scale, float* y, long rows, long columns) {
    static Worker& worker = *new Worker;
    worker.run([=] { softmax(x, scale, y, rows, columns); });
}
