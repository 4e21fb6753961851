"""Softmax along rows of any length, in the online form: one pass for maximum and sum, one to write."""


@kernel
def softmax_rows(x: In["f32", "M", "N"], y: Out["f32", "M", "N"],
                 BM: Tune[1, 2, 4, 8] = 1, BN: Tune[256, 1024, 2048, 4096] = 2048):
    for m in grid(M, BM):                                # one program for BM rows
        peak, total = full([m], -3.4028234e38), zeros([m])  # finite: -inf - -inf is NaN
        for n in tiles(N, BN):
            t = load(x[m, n])
            new = maximum(peak, reduce_max(t, n))
            total = total * exp(peak - new) + reduce_sum(exp(t - new), n)
            peak = new
        for n in tiles(N, BN):
            store(y[m, n], exp(load(x[m, n]) - peak) / total)
