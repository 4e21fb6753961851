extern "C" void kernel(const float* x, const float* shift, float* y, long rows, long columns) {
    for (long i = 0; i < rows; i++)
        for (long j = 0; j < columns; j++) y[i * columns + j] = x[i * columns + j] + shift[j];
}
