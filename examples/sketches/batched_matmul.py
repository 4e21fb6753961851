"""A batched product with the second operand transposed: c[b] = a[b] @ d[b].T.

A transpose is only another order of indices: `dot` contracts the axis k wherever it stands.
"""


@kernel
def batched_matmul(a: In["f32", "B", "M", "K"], d: In["f32", "B", "N", "K"], c: Out["f32", "B", "M", "N"],
                   BM: Tune[16, 32, 64, 128] = 64, BN: Tune[16, 32, 64, 128] = 64, BK: Tune[16, 32, 64] = 32):
    for b in grid(B, 1):
        for m in grid(M, BM):
            for n in grid(N, BN):
                acc = zeros([m, n])
                for k in tiles(K, BK):
                    acc = dot(load(a[begin(b), m, k]), load(d[begin(b), n, k]), over=k, into=acc)
                store(c[begin(b), m, n], acc)
