"""Convolution with stride, padding, dilation and groups, as one matrix product for each group.

Rows are output pixels (n, oh, ow), columns output channels, and the contraction runs over (c, kh,
kw). The padding is not in memory: an index outside the image loads 0.
"""


@kernel
def conv2d_gemm(x: In["f32", "B", "C", "H", "W"], w: In["f32", "O", "CG", "KH", "KW"], b: In["f32", "O"],
                y: Out["f32", "B", "O", "OH", "OW"],
                S: Const = 1, P: Const = 0, D: Const = 1, G: Const = 1,
                BP: Tune[32, 64, 128, 256] = 128, BO: Tune[8, 32, 64, 128] = 64, BK: Tune[8, 16, 32, 64] = 32):
    for g in grid(G, 1):
        for p in grid(B * OH * OW, BP):
            for q in grid(O // G, BO):                   # a channel within the group
                n, oh, ow = split(p, (B, OH, OW))        # index tiles along p
                o = begin(g) * (O // G) + q
                acc = zeros([p, q])
                for k in tiles(CG * KH * KW, BK, stages=Tune[2, 3, 4]):
                    c, kh, kw = split(k, (CG, KH, KW))   # index tiles along k
                    xt = load(x[n, begin(g) * CG + c, oh * S + kh * D - P, ow * S + kw * D - P])
                    acc = dot(xt, load(w[o, c, kh, kw]), over=k, into=acc, precision=Tune["ieee", "split3", "fast"])
                store(y[n, o, oh, ow], acc + load(b[o]))


@program
def model(x: In["f32", "B", "C", "H", "W"],
          weight: Param["conv.weight", "f32", "O", "CG", "KH", "KW"], bias: Param["conv.bias", "f32", "O"]):
    y = empty("f32", B, O, "(H + 2 - 2*(KH - 1) - 1)//2 + 1", "(W + 2 - 2*(KW - 1) - 1)//2 + 1")
    conv2d_gemm(x, weight, bias, y, S=2, P=1, D=2, G="C//CG")
    return y
