"""Attention with a causal mask that never stores the scores (Dao et al. 2022).

Each program keeps BM queries and walks over the keys up to its own last query, with the online
softmax: when the maximum of a row grows, what was summed before is brought to the new scale.
"""


@kernel
def flash_attention(q: In["f32", "B", "H", "L", "E"], k: In["f32", "B", "H", "L", "E"],
                    v: In["f32", "B", "H", "L", "E"], y: Out["f32", "B", "H", "L", "E"],
                    BM: Tune[16, 32, 64, 128] = 64, BN: Tune[16, 32, 64, 128] = 64):
    for b in grid(B, 1):
        for h in grid(H, 1):
            for m in grid(L, BM):
                e = whole(E)
                queries = load(q[begin(b), begin(h), m, e]) * (1.0 / sqrt(E))
                peak, total, acc = full([m], -inf), zeros([m]), zeros([m, e])
                for n in tiles(L, BN, stop=end(m)):      # later keys are masked for every query here
                    scores = dot(queries, load(k[begin(b), begin(h), n, e]), over=e)
                    scores = where(n <= m, scores, -inf)
                    new = maximum(peak, reduce_max(scores, n))
                    p = exp(scores - new)
                    shrink = exp(peak - new)
                    total = total * shrink + reduce_sum(p, n)
                    acc = dot(p, load(v[begin(b), begin(h), n, e]), over=n, into=acc * shrink)
                    peak = new
                store(y[begin(b), begin(h), m, e], acc / total)
