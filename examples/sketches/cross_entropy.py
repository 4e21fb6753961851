"""Cross-entropy of class indices, averaged over the rows that count: one kernel for rows, one for
their mean."""


@kernel
def row_losses(x: In["f32", "M", "N"], target: In["i64", "M"], loss: Out["f32", "M"], counts: Out["f32", "M"],
               IGNORE: Const = -100, BM: Tune[1, 4, 16] = 4, BN: Tune[64, 256, 1024] = 256):
    for m in grid(M, BM):
        peak, total = full([m], -3.4028234e38), zeros([m])  # finite: -inf - -inf is NaN
        for n in tiles(N, BN):
            t = load(x[m, n])
            new = maximum(peak, reduce_max(t, n))
            total = total * exp(peak - new) + reduce_sum(exp(t - new), n)
            peak = new
        label = load(target[m])
        taken = load(x[m, label])                        # a gather; an ignored label is outside and gives 0
        store(loss[m], where(label != IGNORE, log(total) + peak - taken, 0.0))
        store(counts[m], f32(label != IGNORE))


@kernel
def mean_loss(loss: In["f32", "M"], counts: In["f32", "M"], y: Out["f32"], BM: Tune[256, 1024, 4096] = 1024):
    total, rows = zeros([]), zeros([])                   # no grid: one program
    for m in tiles(M, BM):
        total = total + reduce_sum(load(loss[m]), m)
        rows = rows + reduce_sum(load(counts[m]), m)
    store(y, total / rows)


@program
def cross_entropy(x: In["f32", "M", "N"], target: In["i64", "M"]):
    loss = empty("f32", M)
    counts = empty("f32", M)
    row_losses(x, target, loss, counts)
    y = empty("f32")
    mean_loss(loss, counts, y)
    return y
