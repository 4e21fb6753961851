"""Rules of running sums, products, maxima and minima."""

from __future__ import annotations

from akg_core.design.rules import Call, rule
from akg_core.design.values import Scan, Value, cast, is_float, permute, wide


@rule("cumsum", "cumprod")
def running(c: Call) -> Value:
    x = cast(c.value(0), wide(c.option("dtype") or c.dtype))
    if not x.shape or x.shape[c.arg(1) % len(x.shape)] == 1:
        return x
    rank, dim = len(x.shape), c.arg(1) % len(x.shape)
    order = [*(d for d in range(rank) if d != dim), dim]
    # PyTorch runs in double precision on a CPU; a running sum has no other way to be as exact.
    dtype = "f64" if is_float(x.dtype) else x.dtype
    turned = permute(cast(x, dtype), order)
    scanned = cast(Scan(c.name[3:], turned, shape=turned.shape, dtype=dtype), x.dtype)
    return permute(scanned, [order.index(d) for d in range(rank)])
