"""Transposed convolution, seen from the output: each output pixel gathers the input pixels that
reach it.

Input row ih and tap kh reach output row oh when ih * S == oh + P - kh * D. Where that has no
solution the index is made -1, which is outside, and the load gives 0.
"""


@kernel
def conv_transpose2d(x: In["f32", "B", "C", "H", "W"], w: In["f32", "C", "O", "KH", "KW"], b: In["f32", "O"],
                     y: Out["f32", "B", "O", "OH", "OW"], S: Const = 1, P: Const = 0, D: Const = 1,
                     BP: Tune[32, 64, 128, 256] = 128, BO: Tune[8, 32, 64] = 32, BK: Tune[8, 16, 32, 64] = 32):
    for p in grid(B * OH * OW, BP):
        for o in grid(O, BO):
            n, oh, ow = split(p, (B, OH, OW))
            acc = zeros([p, o])
            for k in tiles(C * KH * KW, BK):
                c, kh, kw = split(k, (C, KH, KW))
                up, left = oh + P - kh * D, ow + P - kw * D
                ih = where(up % S == 0, up // S, -1)
                iw = where(left % S == 0, left // S, -1)
                acc = dot(load(x[n, c, ih, iw]), load(w[c, o, kh, kw]), over=k, into=acc)
            store(y[n, o, oh, ow], acc + load(b[o]))


@program
def model(x: In["f32", "B", "C", "H", "W"],
          weight: Param["conv.weight", "f32", "C", "O", "KH", "KW"], bias: Param["conv.bias", "f32", "O"]):
    y = empty("f32", B, O, "(H - 1)*2 - 2 + KH", "(W - 1)*2 - 2 + KW")
    conv_transpose2d(x, weight, bias, y, S=2, P=1)
    return y
