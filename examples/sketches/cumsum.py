"""Cumulative sums along rows longer than a tile, from the left and from the right.

A scan inside each tile, plus what all tiles before it add up to: the last value so far, or the
first when the tiles are taken from the right.
"""


@kernel
def cumsum_rows(x: In["f32", "M", "N"], y: Out["f32", "M", "N"],
                BM: Tune[1, 4, 16] = 4, BN: Tune[64, 256, 1024] = 256):
    for m in grid(M, BM):
        before = zeros([m])
        for n in tiles(N, BN):
            s = scan_sum(load(x[m, n]), n) + before
            store(y[m, n], s)
            before = last(s, n)


@kernel
def reverse_cumsum_rows(x: In["f32", "M", "N"], y: Out["f32", "M", "N"],
                        BM: Tune[1, 4, 16] = 4, BN: Tune[64, 256, 1024] = 256):
    for m in grid(M, BM):
        after = zeros([m])
        for n in tiles(N, BN, reverse=True):             # the last tile first
            s = scan_sum(load(x[m, n]), n, reverse=True) + after
            store(y[m, n], s)
            after = first(s, n)


@program
def model(x: In["f32", "M", "N"]):
    forward = empty("f32", M, N)
    cumsum_rows(x, forward)
    backward = empty("f32", M, N)
    reverse_cumsum_rows(x, backward)
    return forward, backward
