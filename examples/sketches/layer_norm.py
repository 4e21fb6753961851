"""Layer norm over the last two dimensions.

The program sees them as one by a reshape, which moves nothing. Mean and spread come from one pass:
each tile's own mean and sum of squares are merged into those of the row so far (Chan, Golub,
LeVeque 1979), which loses no digits to a large mean as the sum of squares would.
"""


@kernel
def norm_rows(x: In["f32", "M", "N"], weight: In["f32", "N"], bias: In["f32", "N"], y: Out["f32", "M", "N"],
              EPS: Const = 1e-5, BM: Tune[1, 2, 4] = 1, BN: Tune[256, 1024, 4096] = 1024):
    for m in grid(M, BM):
        mean, spread = zeros([m]), zeros([m])
        for n in tiles(N, BN):                           # begin(n) positions are done, size(n) are new
            t = load(x[m, n])
            part = reduce_sum(t, n) / size(n)
            step = part - mean
            far = t - part
            spread = spread + reduce_sum(far * far, n) + step * step * (begin(n) * size(n) / end(n))
            mean = mean + step * (size(n) / end(n))
        scale = rsqrt(spread / N + EPS)
        for n in tiles(N, BN):
            t = (load(x[m, n]) - mean) * scale
            store(y[m, n], t * load(weight[n]) + load(bias[n]))


@program
def layer_norm(x: In["f32", "B", "H", "W"],
               weight: Param["norm.weight", "f32", "H", "W"], bias: Param["norm.bias", "f32", "H", "W"]):
    rows = reshape(x, B, "H*W")
    w = reshape(weight, "H*W")
    b = reshape(bias, "H*W")
    out = empty("f32", B, "H*W")
    norm_rows(rows, w, b, out, EPS=1e-5)
    y = reshape(out, B, H, W)
    return y
