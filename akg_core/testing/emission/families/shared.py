"""What programs share: scratch memory, and what they combine by all-reductions."""

from __future__ import annotations

from akg_core.testing.emission.form import Cases, randn


def cases() -> Cases:
    found = Cases()
    found.add(
        "scratch",
        """
@kernel
def k(x: In["f32", "M", "N"], s: Scratch["f32", "M", "N"], y: Out["f32", "M", "N"]):
    for m in grid(M, 1):
        n = whole(N)
        store(s[m, n], exp(load(x[m, n])))
        store(y[m, n], load(s[m, N - 1 - n]) + load(s[m, n]))
""",
        randn(7, 37),
    )
    for step in (1, 2):
        found.add(
            f"meet_{step}",
            """
@kernel
def k(x: In["f32", "M", "N"], y: Out["f32", "M", "N"], z: Out["f32", "M"]):
    for m in grid(M, STEP):
        for g in grid(4, 1, cooperative=True):
            c = N // 4
            n = whole(N // 4)
            t = load(x[m, begin(g) * c + n])
            peak = all_reduce_max(reduce_max(t, n), g)
            total = all_reduce_sum(reduce_sum(exp(t - peak), n), g)
            store(y[m, begin(g) * c + n], exp(t - peak) / total)
            if begin(g) == 0:
                store(z[m], total)
""".replace("STEP", str(step)),
            randn(5, 40),
        )
        found.add(
            f"meet_in_turns_{step}",
            """
@kernel
def k(x: In["f32", "T", "B", "N"], w: In["f32", "N", "N"], s: InOut["f32", "T + 1", "B", "N"], y: Out["f32", "B", "N"]):
    for b in grid(B, STEP):
        for p in grid(45, 16, cooperative=True):
            n = whole(N)
            held = load(w[n, p])
            last = zeros([b, p])
            for t in range(T):
                last = tanh(reduce_sum(load(s[t, b, n]) * held, n) + load(x[t, b, p]))
                store(s[t + 1, b, p], last)
                barrier(p)
            store(y[b, p], last - load(s[T, b, N - 1 - p]))

@program
def model(x: In["f32", "T", "B", "N"], w: In["f32", "N", "N"]):
    s = zeros("f32", T + 1, B, N)
    y = empty("f32", B, N)
    k(x, w, s, y)
    return y
""".replace("STEP", str(step)),
            randn(6, 3, 45),
            randn(45, 45) / 8,
        )
    found.add(
        "meet_in_between",
        """
@kernel
def k(x: In["f32", "M", "N"], s: Scratch["f32", "M", "N"], y: Out["f32", "M", "N"]):
    for m in grid(M, 1):
        for p in grid(37, 8, cooperative=True):
            store(s[m, p], exp(load(x[m, p])))
            barrier(p)
            store(y[m, p], load(s[m, N - 1 - p]) + load(s[m, p]))
""",
        randn(7, 37),
    )
    found.add(
        "meet_once",
        """
@kernel
def k(x: In["f32", "M", "N"], y: Out["f32", "M", "N"], z: Out["f32", "M"]):
    for m in grid(M, 1):
        for g in grid(3, 1, cooperative=True):
            c = N // 3
            n = whole(N // 3)
            t = load(x[m, begin(g) * c + n])
            seen = f32(size(n))
            part = reduce_sum(t, n)
            own = part / seen
            around = reduce_sum((t - own) * (t - own), n)
            mean = all_reduce_sum(part, g) / N
            squares = all_reduce_sum(around + seen * (own - mean) * (own - mean), g)
            low = all_reduce_min(own - mean, g)
            store(y[m, begin(g) * c + n], (t - mean) / squares)
            if begin(g) == 0:
                store(z[m], low)
""",
        randn(5, 42),
    )
    return found
