"""The pages: every example compiles and computes what it says, messages are the compiler's, functions exist."""

from __future__ import annotations

import ctypes
import re
import shlex
import subprocess
from pathlib import Path

import pytest
import torch
from akg_plugin_cpp_cpu import plugin, probe
from akg_plugin_cpp_cpu.explain import explain

from akg_core.agents.library import Library

from .conftest import HEADERS, Native

DOCS = Path(__file__).parent.parent / "docs"
PAGE = (DOCS / "examples.md").read_text()
EXAMPLES = re.findall(r"```cpp kernel.cpp\n(.*?)```", PAGE, re.S)

WRONG = {
    "store(y, load(x) * foo);": "'foo' was not declared in this scope",
    "store(y, std::exp(load(x)));": "'exp' is not a member of 'std'",
    "Vec<f32> v = load(i);": "conversion from 'Vec<long int>' to non-scalar type 'Vec<float>' requested",
    "store(y, load(x) + load(i));": (
        "no match for 'operator+' (operand types are 'akg::Vec<float>' and 'akg::Vec<long int>')"
    ),
    "if (load(x) > 0.0f) *y = 1;": "from 'akg::Mask' {aka 'akg::Vec<bool>'} to 'bool'",
    "*y = load(x) + load(x);": "cannot convert 'akg::Vec<float>' to 'akg::f32' {aka 'float'} in assignment",
    "*y = load(x)[0];": "no match for 'operator[]' (operand types are 'akg::Vec<float>' and 'int')",
    "store(y, load(h));": "no matching function for call to 'store(akg::f32*&, akg::Vec<akg::f16>)'",
    "store(y, select(load(x) > 0.0f, load(x), 0));": (
        "no matching function for call to 'select(akg::Mask, akg::Vec<float>, int)'"
    ),
    "store(y, load(x) % load(x));": "invalid operands of types",
    "*y = exp(1);": "static assertion failed: cast integers to f32 first",
    "x[0] = *y;": "assignment of read-only location",
    "parallel_for(3, [=](int a, int b) {});": "<lambda(int, int)>) (akg::i64&)'",
    "*y = 1 ": "expected ';' before '}' token",
}

QUESTIONS = {
    "masked load of a strided tile": "api: Memory",
    "transpose a tile": "api: Lanes and masks",
    "matrix product tiles": "hardware: Matrix products",
    "page faults of fresh memory": "hardware: Memory decides most kernels",
    "error: 'foo' was not declared in this scope": "pitfalls: Messages of the compiler",
    "no match for operator": "pitfalls: Messages of the compiler",
    "reduce a vector to its maximum": "api: Horizontal: reduce or scan a vector",
    "argmax": "examples: Argmax of every row",
    "prefix sum": "api: Horizontal: reduce or scan a vector",
    "gather with indices": "api: Memory",
    "atomic add from several programs": "hardware: Threads",
    "scratch buffer for a program": "api: Threads (`parallel.hpp`)",
    "random numbers": "api: Random (`philox.hpp`)",
    "NaN in maximum": "pitfalls: Wrong results without a message",
    "variance cancellation": "pitfalls: Wrong results without a message",
    "how to launch from Python": "language: The Python side",
    "negative modulo": "pitfalls: Wrong results without a message",
    "segmentation fault": "pitfalls: When it does not load, crashes or hangs",
    "non-temporal stores": "api: Memory",
    "undefined symbol": "pitfalls: When it does not load, crashes or hangs",
}


def launch(native: Native, name: str, tensors: list[torch.Tensor], *sizes: int) -> None:
    source = next(text for text in EXAMPLES if f"akg_{name}(" in text)
    pointers = (ctypes.c_void_p * len(tensors))(*(tensor.data_ptr() for tensor in tensors))
    getattr(native(source, "native"), f"akg_{name}")(pointers, (ctypes.c_int64 * len(sizes))(*sizes))


def test_messages_are_those_of_the_compiler_and_explained(tmp_path: Path) -> None:
    page = (DOCS / "pitfalls.md").read_text()
    bodies = "".join(
        f"void f{n}(const f32* x, const i64* i, const f16* h, f32* y) {{ {b} }}\n" for n, b in enumerate(WRONG)
    )
    (tmp_path / "kernel.cpp").write_text(f'#include "akg/akg.hpp"\nnamespace akg {{\n{bodies}}}\n')
    tools = probe.toolchain()
    command = [
        *shlex.split(tools.compiler),
        "-std=gnu++20",
        "-fsyntax-only",
        "-fmax-errors=99",
        f"-I{HEADERS}",
        "kernel.cpp",
    ]
    log = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stderr
    advice = explain(log)
    for message in WRONG.values():
        assert message in page
        about = [each for each in advice if message in each.problem]
        assert about and all(each.advice != "Correct the generated line." for each in about), message


def test_a_question_finds_its_section_first(tmp_path: Path) -> None:
    library = Library(tmp_path / "library.sqlite")
    library.file_pages("cpp_cpu", plugin.akg_docs())
    found = {words: library.search("cpp_cpu", words, most=1)[0].section for words in QUESTIONS}
    assert {words: f"{section.page}: {section.path[-1]}" for words, section in found.items()} == QUESTIONS


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
