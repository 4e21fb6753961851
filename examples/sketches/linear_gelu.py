"""A linear layer with GELU: the epilogue runs on the accumulator, before anything is stored."""


@kernel
def linear_gelu(x: In["f32", "M", "K"], w: In["f32", "N", "K"], b: In["f32", "N"], y: Out["f32", "M", "N"],
                BM: Tune[16, 32, 64, 128] = 64, BN: Tune[16, 32, 64, 128] = 64, BK: Tune[16, 32, 64] = 32):
    for m in grid(M, BM):
        for n in grid(N, BN):
            acc = zeros([m, n])
            for k in tiles(K, BK, stages=Tune[2, 3, 4]):
                acc = dot(load(x[m, k]), load(w[n, k]), over=k, into=acc, precision=Tune["ieee", "split3"])
            store(y[m, n], gelu(acc + load(b[n])))


@program
def model(x: In["f32", "M", "K"], weight: Param["fc.weight", "f32", "N", "K"], bias: Param["fc.bias", "f32", "N"]):
    y = empty("f32", M, N)
    linear_gelu(x, weight, bias, y)
    return y
