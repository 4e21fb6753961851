"""The tiled matrix product against torch: all edges, orientations and dtypes, and its speed beside torch.mm."""

from __future__ import annotations

import ctypes
import itertools
import time
from pathlib import Path

import pytest
import torch

from .conftest import ISAS, Native

DRIVER = (Path(__file__).parent / "drivers" / "gemm.cpp").read_text()
OPERANDS = {
    "f32": (torch.float32, torch.float32), "f64": (torch.float64, torch.float64), "f16": (torch.float16, torch.float32),
    "bf16": (torch.bfloat16, torch.float32), "i64": (torch.int64, torch.int64), "i32": (torch.int32, torch.int32),
    "u8": (torch.uint8, torch.int64),
}  # fmt: skip


def numbers(*values: int) -> list[ctypes.c_int64]:
    return [ctypes.c_int64(value) for value in values]


def pointers(*tensors: torch.Tensor) -> list[ctypes.c_void_p]:
    return [ctypes.c_void_p(tensor.data_ptr()) for tensor in tensors]


def draw(dtype: torch.dtype, rows: int, columns: int) -> torch.Tensor:
    return (
        torch.randint(0, 9, (rows, columns)).to(dtype)
        if not dtype.is_floating_point
        else torch.randn(rows, columns).to(dtype)
    )


def check(native: Native, isa: str, name: str, m: int, n: int, k: int, step: int, layout: tuple[int, int]) -> None:
    """Multiply with operands stored plainly (0), transposed (1) or with every second element (2)."""
    dtype, wide = OPERANDS[name]
    a, b = draw(dtype, m, k), draw(dtype, k, n)
    held = []
    for matrix, kind in zip((a, b), layout, strict=True):
        if kind == 1:
            matrix = matrix.t().contiguous().t()
        elif kind == 2:
            matrix = matrix.repeat_interleave(2, 1)[:, ::2]
        held.append(matrix)
    ldc = n + 3
    c = torch.full((m, ldc), 77, dtype=wide)
    strides = [*held[0].stride(), *held[1].stride()]
    getattr(native(DRIVER, isa), f"tile_{name}")(*pointers(*held, c), *numbers(m, n, k, *strides, ldc, step))
    assert (c[:, n:] == 77).all(), "wrote beside the tile"
    want = a.double() @ b.double()
    assert (c[:, :n].double() - want).abs().max() <= (1e-5 if wide == torch.float32 else 1e-12) * k, (m, n, k)


@pytest.mark.parametrize("isa", ISAS)
def test_every_edge(native: Native, isa: str) -> None:
    library = native(DRIVER, isa)
    rows, columns = library.row_block(), library.column_block()
    for m in [*range(1, rows + 3), 2 * rows, 3 * rows + 5]:
        for n in (1, columns // 2 - 1, columns // 2, columns - 1, columns, columns + 1, 2 * columns + 3):
            check(native, isa, "f32", m, n, 19, 8, (0, 0))


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("side_by_side", [True, False])
def test_few_rows_and_more(native: Native, isa: str, side_by_side: bool) -> None:
    """Columns that lie side by side are read where they are by few rows, but for the last."""
    library = native(DRIVER, isa)
    rows, columns = library.row_block(), library.column_block()
    for m in (1, 2, 3, 10, 13, rows, rows + 1, 2 * rows - 1, 2 * rows, 2 * rows + 1):
        for n in (1, columns - 1, columns, 3 * columns, 3 * columns + 5):
            for before in (0.0, 1.0):
                a, b, c = torch.randn(m, 150), torch.randn(150, n + 2)[:, :n], torch.full((m, n + 3), before)
                b = b if side_by_side else b.t().contiguous().t()
                strides = [*a.stride(), *b.stride()]
                library.contract_f32(*pointers(a, b, c), *numbers(m, n, 150, *strides, n + 3, int(before)))
                want = before + a.double() @ b.double()
                assert (c[:, :n].double() - want).abs().max() <= 1e-4, (m, n, before)
                assert (c[:, n:] == before).all(), "wrote beside the tile"


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("side_by_side", [True, False])
@pytest.mark.parametrize("accumulate", [True, False])
def test_an_epilogue_takes_each_element_once(native: Native, isa: str, side_by_side: bool, accumulate: bool) -> None:
    """Whether the contraction is empty, in one part or in many, and columns are packed or read where they are."""
    library = native(DRIVER, isa)
    rows, columns = library.row_block(), library.column_block()
    for k in (0, 1, 256, 257, 600):
        for m in (1, 2 * rows, 2 * rows + 1, 8 * rows + 3):
            for n in (1, columns + 3, 33 * columns):
                a, b, d, c = torch.randn(m, k), torch.randn(k, n), torch.randn(k, n), torch.zeros(m, n)
                want = 3 * accumulate + a.double() @ (2 * b.double() + d.double())
                if not side_by_side:
                    b, d = b.t().contiguous().t(), d.t().contiguous().t()
                strides = [n, 1] if side_by_side else [1, k]
                library.followed(*pointers(a, b, d, c), *numbers(m, n, k, *strides, int(accumulate)))
                assert (c.double() - want).abs().max() <= 1e-5 * (k + 1), (m, n, k)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("name", OPERANDS)
def test_every_layout_and_dtype(native: Native, name: str, isa: str) -> None:
    for layout in itertools.product((0, 1, 2), repeat=2):
        check(native, isa, name, 37, 41, 53, 32, layout)


def test_large(native: Native) -> None:
    check(native, "native", "f32", 300, 270, 700, 128, (0, 1))


def test_functors(native: Native) -> None:
    a, b, c = torch.randn(45, 33), torch.randn(33, 70), torch.empty(45, 70)
    native(DRIVER, "native").functors(*pointers(a, b, c), *numbers(45, 70, 33))
    assert torch.allclose(c, a @ b, atol=1e-5)


def test_speed(native: Native) -> None:
    """Within reach of a tuned BLAS on one thread, by the processor time of that thread; it measures near 1."""
    library, threads = native(DRIVER, "native"), torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        a, b, c = torch.randn(512, 512), torch.randn(512, 512), torch.empty(512, 512)
        ours, theirs = [], []
        for _ in range(9):
            began = time.thread_time()
            library.large(*pointers(a, b, c), *numbers(512, 512, 512))
            ours.append(time.thread_time() - began)
            began = time.thread_time()
            torch.mm(a, b, out=c)
            theirs.append(time.thread_time() - began)
        assert min(theirs) / min(ours) > 0.6
    finally:
        torch.set_num_threads(threads)
