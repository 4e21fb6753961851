extern "C" void kernel(const float* x, float* y, long rows, long columns) {
    for (long i = 0; i < rows; i++)
        for (long j = 0; j < columns; j++) y[j * rows + i] = x[i * columns + j];
}
