"""The mean of the embeddings of each row's tokens: a gather whose rows are summed where they arrive."""


@kernel
def embedding_mean(ids: In["i64", "B", "T"], table: In["f32", "V", "E"], y: Out["f32", "B", "E"],
                   BB: Tune[1, 2, 4] = 1, BE: Tune[32, 64, 128] = 64, BT: Tune[4, 16, 64] = 16):
    for b in grid(B, BB):
        for e in grid(E, BE):
            acc = zeros([b, e])
            for t in tiles(T, BT):
                rows = load(table[load(ids[b, t]), e])   # axes {b, t, e}
                acc = acc + reduce_sum(rows, t)
            store(y[b, e], acc / T)


@program
def model(ids: In["i64", "B", "T"], table: Param["embedding.weight", "f32", "V", "E"]):
    y = empty("f32", B, E)
    embedding_mean(ids, table, y)
    return y
