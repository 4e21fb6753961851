extern "C" void kernel(const long* x, long* y, long rows, long columns) {
    for (long i = 0; i < rows; i++) {
        int sum = 0;
        for (long j = 0; j < columns; j++) sum += (int)x[i * columns + j];
        y[i] = 3 * sum;
    }
}
