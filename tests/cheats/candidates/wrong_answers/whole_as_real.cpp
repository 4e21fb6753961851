extern "C" void kernel(const long* x, long* y, long rows, long columns) {
    for (long i = 0; i < rows; i++) {
        double sum = 0;
        for (long j = 0; j < columns; j++) sum += (double)x[i * columns + j];
        y[i] = (long)(3 * sum);
    }
}
