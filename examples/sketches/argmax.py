"""Position of the largest along the middle dimension: the first of equals, and a NaN counts as
largest."""


@kernel
def argmax_middle(x: In["f32", "A", "N", "C"], y: Out["i64", "A", "C"],
                  BC: Tune[16, 64, 256] = 64, BN: Tune[1, 8, 32] = 8):
    for a in grid(A, 1):
        for c in grid(C, BC):                            # neighbours in memory lie along c
            best, place = full([c], -inf), zeros([c], "i64")
            for n in tiles(N, BN):
                t = load(x[begin(a), n, c])
                peak = reduce_max(t, n)
                better = (peak > best) | (isnan(peak) & ~isnan(best))
                place = where(better, argmax(t, n), place)
                best = where(better, peak, best)
            store(y[begin(a), c], place)
