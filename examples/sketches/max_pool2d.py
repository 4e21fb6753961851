"""Max pooling: a few taps for each output pixel; what is outside the image loses against everything."""


@kernel
def max_pool(x: In["f32", "B", "C", "H", "W"], y: Out["f32", "B", "C", "OH", "OW"],
             K: Const = 2, S: Const = 2, P: Const = 0, D: Const = 1,
             BR: Tune[1, 2, 4, 8] = 4, BW: Tune[16, 32, 64, 128] = 64):
    for r in grid(B * C * OH, BR):                       # output rows of all images and channels
        n, c, oh = split(r, (B, C, OH))
        for ow in grid(OW, BW):
            best = full([r, ow], -inf)
            for i in range(K, unroll=Tune[1, 2]):
                for j in range(K):
                    t = load(x[n, c, oh * S + i * D - P, ow * S + j * D - P], other=-inf)
                    best = maximum(best, t)
            store(y[n, c, oh, ow], best)


@program
def model(x: In["f32", "B", "C", "H", "W"]):
    y = empty("f32", B, C, "(H + 2 - 3)//2 + 1", "(W + 2 - 3)//2 + 1")
    max_pool(x, y, K=3, S=2, P=1)
    return y
