"""Every example of the pages compiles, and computes what it says."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

import pytest
import torch

from .conftest import Native

PAGE = (Path(__file__).parent.parent / "docs" / "examples.md").read_text()
EXAMPLES = re.findall(r"```cpp kernel.cpp\n(.*?)```", PAGE, re.S)


def launch(native: Native, name: str, tensors: list[torch.Tensor], *sizes: int) -> None:
    source = next(text for text in EXAMPLES if f"akg_{name}(" in text)
    pointers = (ctypes.c_void_p * len(tensors))(*(tensor.data_ptr() for tensor in tensors))
    getattr(native(source, "native"), f"akg_{name}")(pointers, (ctypes.c_int64 * len(sizes))(*sizes))


def test_gelu(native: Native) -> None:
    x, y = torch.randn(100003), torch.empty(100003)
    launch(native, "gelu", [x, y], len(x))
    torch.testing.assert_close(y, torch.nn.functional.gelu(x))


@pytest.mark.parametrize("columns", [1, 15, 16, 1000])
def test_rows(native: Native, columns: int) -> None:
    x, y, at = torch.randn(37, columns), torch.empty(37, columns), torch.empty(37, dtype=torch.int64)
    launch(native, "softmax", [x, y], *x.shape)
    torch.testing.assert_close(y, x.softmax(1))
    launch(native, "argmax", [x, at], *x.shape)
    assert torch.equal(at, x.argmax(1))


def test_linear(native: Native) -> None:
    x, w, b, y = torch.randn(300, 270), torch.randn(259, 270), torch.randn(259), torch.empty(300, 259)
    launch(native, "linear_relu", [x, w, b, y], 300, 259, 270)
    torch.testing.assert_close(y, torch.relu(torch.nn.functional.linear(x, w, b)), atol=1e-4, rtol=1e-4)


def test_sum(native: Native) -> None:
    torch.manual_seed(0)
    x, partial, y = torch.rand(1000003), torch.empty(8, dtype=torch.float64), torch.empty(())
    launch(native, "partial_sums", [x, partial], len(x), 8)
    launch(native, "total", [partial, y], 8)
    torch.testing.assert_close(y, x.double().sum().float())
