"""Vectors of every dtype at every width against torch: memory, lanes, conversions, reductions, random numbers."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest
import torch

from .conftest import ISAS, Native

NUMPY = {
    "f64": np.float64, "f32": np.float32, "f16": np.float16, "i64": np.int64, "i32": np.int32, "i16": np.int16,
    "i8": np.int8, "u8": np.uint8, "bool": np.bool_,
}  # fmt: skip
TORCH = {name: getattr(torch, np.dtype(kind).name) for name, kind in NUMPY.items()} | {"bf16": torch.bfloat16}
DTYPES = tuple(TORCH)
NUMBERS = tuple(name for name in DTYPES if name != "bool")

DRIVER = (Path(__file__).parent / "drivers" / "vec.cpp").read_text()


def pointer(tensor: torch.Tensor) -> ctypes.c_void_p:
    return ctypes.c_void_p(tensor.data_ptr())


def values(dtype: str, count: int, seed: int = 0) -> torch.Tensor:
    draw = torch.randint(
        0 if dtype in ("u8", "bool") else -6, 7, (count,), generator=torch.Generator().manual_seed(seed)
    )
    return (draw if dtype != "bool" else draw > 3).to(TORCH[dtype])


def same(a: torch.Tensor, b: torch.Tensor) -> bool:
    return torch.equal(a.double().nan_to_num(1e300), b.double().nan_to_num(1e300))


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", NUMBERS)
def test_arithmetic(native: Native, dtype: str, isa: str) -> None:
    library = native(DRIVER, isa)
    n = library.lane_count()
    a, b, y = values(dtype, n), values(dtype, n, 1), torch.empty(9 * n, dtype=TORCH[dtype])
    if dtype[0] in "fb":
        a[1] = b[2] = torch.nan
    getattr(library, f"arithmetic_{dtype}")(pointer(a), pointer(b), pointer(y))
    chosen = torch.where(a == b, 1, torch.where(a >= b, 2, 3)).to(a.dtype)
    sign = torch.where(b.isnan(), torch.zeros_like(b), b.sign()) if dtype[0] in "fb" else b.sign()
    want = [
        a + b,
        a - b,
        a * b,
        torch.maximum(a, b),
        torch.minimum(a, b),
        torch.where(a < b, a, b),
        sign,
        b.abs(),
        chosen,
    ]
    for row, (got, due) in enumerate(zip(y.view(9, n), want, strict=True)):
        assert same(got, due), (row, got, due)


@pytest.mark.parametrize("isa", ISAS)
def test_more_masks_than_there_are_registers_for(native: Native, isa: str) -> None:
    library = native((Path(__file__).parent / "drivers" / "masks.cpp").read_text(), isa)
    tables, y = values("f32", 20) + torch.arange(20), torch.empty(64)
    other = values("f32", 20, 1) + 0.5
    library.many_masks((ctypes.c_void_p * 2)(tables.data_ptr(), other.data_ptr()), pointer(y))
    assert torch.equal(y[:20], tables * other)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", NUMBERS)
def test_memory(native: Native, dtype: str, isa: str) -> None:
    library = native(DRIVER, isa)
    n = library.lane_count()
    for active in (-1, 0, 1, n // 2 + 1, n - 1, n, n + 3):
        for stride in (1, 2, 3, 0):
            x, y = values(dtype, 200), torch.full((600,), 99, dtype=TORCH[dtype])
            getattr(library, f"memory_{dtype}")(pointer(x), pointer(y), ctypes.c_int64(active), ctypes.c_int64(stride))
            m, first, flipped = min(max(active, 0), n), x[:n], x[:n].flip(0)
            on = torch.arange(n) < m
            want = torch.full((600,), 99, dtype=TORCH[dtype])
            want[:m] = first[:m]
            want[64 : 64 + n] = torch.where(on, first, 5)
            want[128 : 128 + n] = torch.where(on, x[torch.arange(n) * stride], 0)
            want[192 : 192 + n] = torch.where(on, flipped, 7)
            want[256 : 256 + n] = flipped
            want[320 : 320 + 2 * m : 2] = first[:m]
            want[384 + n - m : 384 + n] = first[:m].flip(0)
            want[448 : 448 + m] = first[:m]
            want[512 : 512 + m] = first[:m]
            assert same(y, want), (active, stride, (y != want).nonzero().flatten())


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", NUMBERS)
def test_lanes(native: Native, dtype: str, isa: str) -> None:
    library = native(DRIVER, isa)
    n = library.lane_count()
    x, y = values(dtype, n, 2), torch.zeros(11 * n + 4, dtype=TORCH[dtype])
    getattr(library, f"lanes_{dtype}")(pointer(x), pointer(y))
    nine = torch.full((2,), 9, dtype=x.dtype)
    changed = x.clone()
    changed[1] = 1
    want = [torch.cat([nine[:1], x[:-1]]), torch.cat([nine, x[:-2]]), torch.cat([x[1:], nine[:1]]), x.flip(0)]
    want += [(torch.arange(n) + 3).to(x.dtype), changed]
    want += [x.cumsum(0).to(x.dtype), x.cummax(0)[0], x.flip(0).cummin(0)[0].flip(0)]
    want += [x.flip(0).cumsum(0).flip(0).to(x.dtype), -x, torch.stack([x.sum().to(x.dtype), x.max(), x.min(), x[2]])]
    for row, due in enumerate(want):
        got = y[row * n : row * n + len(due)]
        assert same(got, due), (row, got, due)


PLACES = {
    "close": [0, 0, 1, 1, 2, 2, 3, 4, 5, 6, 6, 7, 7, 8, 9, 9],
    "falling": [19, 18, 18, 17, 16, 15, 15, 14, 13, 12, 11, 10, 9, 9, 8, 7],
    "far": [0, 2, 4, 7, 9, 11, 20, 21, 22, 30, 31, 40, 41, 50, 60, 63],
    "one by one": list(range(40, 56)),
    "mirrored": [3, 2, 1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
}


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("name", PLACES)
def test_places_near_each_other(native: Native, dtype: str, isa: str, name: str) -> None:
    library = native(DRIVER, isa)
    x, at = values(dtype, 64), torch.tensor(PLACES[name])
    for n in {1, 3, library.lane_count()}:
        y = torch.zeros(128, dtype=TORCH[dtype])
        getattr(library, f"near_{dtype}")(pointer(x), pointer(at), pointer(y), ctypes.c_int64(n))
        kept = n if name != "mirrored" else 0  # places that rise and fall are no monotone ones
        assert same(y[:kept], x[at[:kept]]) and same(y[64 : 64 + n], x[at[:n]])


@pytest.mark.parametrize("isa", ISAS)
def test_masks(native: Native, isa: str) -> None:
    library = native(DRIVER, isa)
    n = library.lane_count()
    a, b = values("bool", n * n), values("bool", n * n, 1)
    p, q, on = a[:n], b[:n], torch.ones(2, dtype=torch.bool)
    moved = p.clone()
    moved[1] = q[0]
    for active in (0, 1, n - 1, n):
        part = p & (torch.arange(n) < active)
        want = [p == q, p != q, p < q, p <= q, p > q, p >= q, p | q, p & q, ~p, ~q, torch.where(p, q, ~q)]
        want += [torch.cat([on[:1], p[:-1]]), torch.cat([p[2:], on]), p.flip(0), moved, part, part]
        y = torch.zeros((len(want) + n) * n, dtype=torch.bool)
        library.masks(pointer(a), pointer(b), pointer(y), ctypes.c_int64(active))
        for row, (got, due) in enumerate(zip(y.view(-1, n), [*want, *a.view(n, n).T], strict=True)):
            assert torch.equal(got, due), (row, got, due)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", NUMBERS)
def test_transpose(native: Native, dtype: str, isa: str) -> None:
    library = native(DRIVER, isa)
    n = library.lane_count()
    x = values(dtype, n * n).view(n, n)
    y = torch.empty_like(x)
    getattr(library, f"transpose_{dtype}")(pointer(x), pointer(y))
    assert same(y, x.t())


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("source", DTYPES)
def test_convert(native: Native, source: str, isa: str) -> None:
    """To every dtype, with values that fit both; halves also with every rounding case."""
    library = native(DRIVER, isa)
    for target in DTYPES:
        x = values(source, 101)
        if source in ("f64", "f32") and target in ("f16", "bf16", "f32"):
            scale = 2.0 ** torch.randint(-27, 18, (5000,))
            edges = [65519.0, 65520.0, 1e30, 6e-8, 3e-8, 2.9e-8, torch.inf, -torch.inf, torch.nan, -0.0]
            x = torch.cat([torch.randn(5000) * scale, torch.tensor(edges)]).to(x.dtype)
        if source in ("f64", "f32") and target[0] == "i":
            x = x * 1.75
        if target == "u8" and source != "bool":
            x = x.abs()
        y, z = torch.empty(len(x), dtype=TORCH[target]), torch.empty(len(x), dtype=TORCH[target])
        for kind, out in (("convert", y), ("scalar", z)):
            getattr(library, f"{kind}_{source}_{target}")(pointer(x), pointer(out), ctypes.c_int64(len(x)))
            assert same(out, x.to(TORCH[target])), (target, kind)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_arg_reductions(native: Native, dtype: str, isa: str) -> None:
    library = native(DRIVER, isa)
    for n in (1, 3, 17, 100):
        for seed in range(4):
            x = values(dtype, n, seed)
            if dtype[0] in "fb" and seed > 1 and n > 2:
                x[n // 2] = x[-1] = torch.nan
            for name in ("argmax", "argmin"):
                function = getattr(library, f"{name}_{dtype}")
                function.restype = ctypes.c_int64
                array = x.float().numpy() if dtype in ("bf16", "f16") else x.numpy()
                assert function(pointer(x), ctypes.c_int64(n)) == getattr(np, name)(array), (name, x)


@pytest.mark.parametrize("dtype", NUMBERS)
def test_atomic_adds_all_count(native: Native, dtype: str) -> None:
    library = native(DRIVER, "native")
    n = 200 if dtype in ("bf16", "i8", "u8", "f16") else 10001
    at = torch.arange(n) % 7
    x, y = torch.ones(n, dtype=TORCH[dtype]), torch.zeros(7, dtype=TORCH[dtype])
    getattr(library, f"add_at_{dtype}")(pointer(y), pointer(at), pointer(x), ctypes.c_int64(n))
    assert same(y, torch.bincount(at))


@pytest.mark.parametrize("dtype", ["f64", "f32", "i64", "i32"])
@pytest.mark.parametrize("work", [0, 1 << 40])
@pytest.mark.parametrize("join, reduce", [("Add", "sum"), ("Max", "amax"), ("Min", "amin")])
def test_updates_are_joined_in_copies_and_together(
    native: Native, dtype: str, work: int, join: str, reduce: str
) -> None:
    library, size, n = native(DRIVER, "native"), 301, 16 * 4096
    lanes = library.lane_count()
    generator = torch.Generator().manual_seed(0)
    x = torch.randint(-50, 50, (n,), generator=generator).to(TORCH[dtype])
    if dtype[0] == "f" and join != "Add":
        x[5] = torch.nan
    at = torch.randint(0, size, (n,), generator=generator)
    y = torch.full((size,), 3, dtype=TORCH[dtype])
    groups = x.view(-1, lanes)
    places = [at, torch.arange(size - lanes, size - 1).repeat(len(groups)), torch.arange(len(groups)) % size]
    updates = [x, groups[:, :-1].reshape(-1), groups[:, 0]]
    expected = y.scatter_reduce(0, torch.cat(places), torch.cat(updates), reduce)
    run = getattr(library, f"update_{dtype}_{join}")
    run(pointer(y), *map(ctypes.c_int64, (size, work)), pointer(at), pointer(x), ctypes.c_int64(n))
    assert same(y, expected)


@pytest.mark.parametrize("dtype", ["f64", "f32", "i64", "i32"])
@pytest.mark.parametrize("work", [0, 1 << 40])
@pytest.mark.parametrize("join, reduce", [("Add", "sum"), ("Max", "amax"), ("Min", "amin")])
@pytest.mark.parametrize("threads", [2, 16])
def test_rows_of_updates_are_joined_wherever_they_lie(
    native: Native, dtype: str, work: int, join: str, reduce: str, threads: int
) -> None:
    """Some meet in part, and lie across two blocks of memory of which each has a lock."""
    library, size, n = native(DRIVER, "native"), 1301, 16 * 4096
    lanes = library.lane_count()
    generator = torch.Generator().manual_seed(0)
    x = torch.randint(-50, 50, (n,), generator=generator).to(TORCH[dtype])
    if dtype[0] == "f" and join != "Add":
        x[5] = torch.nan
    groups = x.view(-1, lanes)
    at = torch.randint(0, size - lanes, (len(groups),), generator=generator)
    y = torch.full((size,), 3, dtype=TORCH[dtype])
    places = [(at[:, None] + torch.arange(lanes)).view(-1), torch.arange(size - lanes, size - 1).repeat(len(groups))]
    expected = y.scatter_reduce(0, torch.cat(places), torch.cat([x, groups[:, :-1].reshape(-1)]), reduce)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        run = getattr(library, f"update_rows_{dtype}_{join}")
        run(pointer(y), *map(ctypes.c_int64, (size, work)), pointer(at), pointer(x), ctypes.c_int64(n))
    finally:
        torch.set_num_threads(before)
    assert same(y, expected)


@pytest.mark.parametrize("isa", ISAS)
def test_rand_is_the_interpreters(native: Native, isa: str) -> None:
    from akg_core.philox import uniform

    at = torch.cat([torch.arange(1000), torch.tensor([2**40 + 3, -1])])
    y = torch.empty(len(at))
    for seed in (0, 1234567890123456789):
        native(DRIVER, isa).draw(ctypes.c_int64(seed), pointer(at), pointer(y), ctypes.c_int64(len(at)))
        assert torch.equal(y, uniform(torch.tensor(seed), at))


def test_round_to_tf32(native: Native) -> None:
    x = torch.cat([torch.randn(1000), torch.tensor([torch.inf, -torch.inf, torch.nan, 1 + 2.0**-11, 1 + 3 * 2.0**-11])])
    y = torch.empty_like(x)
    native(DRIVER, "native").to_tf32(pointer(x), pointer(y), ctypes.c_int64(len(x)))
    assert y[-2] == 1 + 2.0**-10 and y[-1] == 1 + 2.0**-9  # ties go away from zero
    assert same(y[-5:-2], x[-5:-2])
    assert ((y - x).abs()[:1000] <= x.abs()[:1000] * 2.0**-11).all() and (
        y[:1000].view(torch.int32) % (1 << 13) == 0
    ).all()
