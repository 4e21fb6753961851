"""The pages: examples compile and compute what they say, messages are the compiler's, functions exist."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import triton.language as tl
from akg_plugin_triton_cuda import plugin
from akg_plugin_triton_cuda.compile import compiled
from akg_plugin_triton_cuda.explain import explain

from akg_core.agents.library import Library

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
PAGES = "".join((DOCS / f"{page}.md").read_text() for page in ("examples", "language"))
EXAMPLES = re.findall(r"```python(?: kernel.py)?\n(.*?)```", PAGES, re.S)
BLOCKS = {"BLOCK": 256, "BM": 32, "BN": 32, "BK": 32}
WRONG = {
    "arange's range must be a power of 2": "tl.store(y + tl.arange(0, 100), 1.0)",
    "arange's arguments must be of type tl.constexpr": "tl.store(y + tl.arange(0, N), 1.0)",
    "numel (2097152) exceeds triton maximum tensor numel (1048576)": "t = tl.zeros([2048, 1024], tl.float32)",
    "Cannot make_shape_compatible: incompatible dimensions at index 0: 16 and 32": (
        "t = tl.arange(0, 16) + tl.arange(0, 32)"
    ),
    "reshape() cannot change total number of elements in tensor": "t = tl.reshape(tl.arange(0, 16), [32])",
    "Value argument cannot be block type if pointer argument is not a block": "tl.store(y, tl.arange(0, 16))",
    "unsupported tensor index": "t = tl.load(x + tl.arange(0, 16))[3]",
    "__setitem__ is not supported in triton": "t = tl.arange(0, 16)\nt[0] = 1",
    "Input shapes should have M >= 1, N >= 1 and K >= 16": (
        "a = tl.zeros([16, 8], tl.float32)\nc = tl.dot(a, tl.trans(a))"
    ),
    "Both operands must be same dtype. Got fp16 and fp32": (
        "a = tl.zeros([16, 16], tl.float32)\nc = tl.dot(a.to(tl.float16), a)"
    ),
    "Loop-carried variable acc has initial type int32 but is re-assigned to fp32 in loop": (
        "acc = 0\nfor i in tl.range(0, N):\n    acc += tl.load(x + i)"
    ),
    "Mismatched type for t between then block": (
        "if N > 3:\n    t = tl.arange(0, 16)\nelse:\n    t = tl.zeros([16], tl.float32)"
    ),
    "Boolean value of Tensor with more than one value is ambiguous": "if tl.arange(0, 16) < N:\n    tl.store(y, 1.0)",
    "unsupported AST node type: Break": "for i in tl.range(0, N):\n    break",
    "Cannot have `return` statements inside `while` or `for` statements": (
        "for i in tl.range(0, N):\n    if i > 3:\n        return"
    ),
    "Cannot access global variable EPS from within @jit'ed function": "tl.store(y, EPS)",
    "Unsupported function referenced: <function helper": "tl.store(y, helper(N))",
    "module 'triton.language' has no attribute 'tanh'": "tl.store(y, tl.tanh(tl.load(x)))",
    "Unsupported ptr type triton.language.int32 in `tl.load`": "t = tl.load(N)",
    "`other` cannot be provided without `mask`": "t = tl.load(x, other=0.0)",
}
QUESTIONS = {
    "masked load of a strided tile": "language: Memory: masked loads and stores of strided tiles",
    "out of shared memory": "pitfalls: Messages at the launch and on the GPU",
    "tl.dot precision": "language: Loops on tensor cores",
    "tf32 or ieee for f32 products": "language: Loops on tensor cores",
    "error: arange's range must be a power of 2": "pitfalls: Messages of the compiler about shapes",
    "error: expected pointer": "pitfalls: Messages of the compiler about names, branches and loops",
    "NameError: name is not defined": "pitfalls: Messages of the compiler about names, branches and loops",
    "Loop-carried variable acc has initial type": "pitfalls: Messages of the compiler about names, branches and loops",
    "break inside a loop": "pitfalls: Messages of the compiler about names, branches and loops",
    "illegal memory access": "pitfalls: Messages at the launch and on the GPU",
    "softmax over rows": "examples: Rows: softmax",
    "sum over columns": "examples: Columns: sums that stay apart until the end",
    "matrix multiplication with bias": "examples: A matrix product with bias and ReLU",
    "NaN in maximum": "pitfalls: Wrong results without a message",
    "memory bandwidth of an H200": "hardware: NVIDIA GPUs",
    "integer division of negative numbers": "pitfalls: Wrong results without a message",
    "prefix sum": "api: Along an axis",
    "atomic add": "api: Memory",
    "how to launch a kernel": "language: The launch",
    "offsets beyond 2**31 elements": "pitfalls: Wrong results without a message",
    "max pooling window": "hardware: Bytes, rows and windows",
    "registers spill": "pitfalls: Slow without a message",
}
HEAD = """import triton
import triton.language as tl

EPS = 1e-5


def helper(t):
    return t


@triton.jit
def wrong(x, y, N):
"""


@pytest.mark.parametrize("text", EXAMPLES, ids=lambda text: re.search(r"def (\w+)", text)[1])
def test_it_compiles(text: str, tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(text)
    ((name, parameters),) = re.findall(r"@triton\.jit\ndef (\w+)\((.*)\)", text)
    names = [parameter.partition(":")[0] for parameter in parameters.split(", ")]
    launch = {
        "kernel": name,
        "tensors": {n: "f32" for n in names if len(n) == 1 and n.islower()},
        "sizes": [n for n in names if n in ("M", "N", "K", "sm", "sn")],
        "constants": {n: BLOCKS[n] for n in names if n in BLOCKS},
        "num_warps": 4,
        "num_stages": 3,
    }
    ((said,),) = compiled([(tmp_path, [launch])], 90)
    assert "error" not in said, said


def test_they_compute_what_they_say(tmp_path: Path) -> None:
    path = os.pathsep.join([str(HERE), str(HERE.parents[2]), *sys.path])
    command = [sys.executable, str(HERE / "examples.py"), str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    assert ended.returncode == 0, ended.stderr[-2000:]


def test_messages_are_those_of_the_compiler_and_explained(tmp_path: Path) -> None:
    page, jobs = (DOCS / "pitfalls.md").read_text(), []
    launch = {
        "kernel": "wrong",
        "tensors": {"x": "f32", "y": "f32"},
        "sizes": ["N"],
        "constants": {},
        "num_warps": 4,
        "num_stages": 3,
    }
    for number, body in enumerate(WRONG.values()):
        (folder := tmp_path / str(number)).mkdir()
        (folder / "kernel.py").write_text(HEAD + textwrap.indent(body, "    ") + "\n")
        jobs.append((folder, [launch]))
    for message, (said,) in zip(WRONG, compiled(jobs, 90), strict=True):
        assert message in page
        assert message in said["error"].replace("\\'", "'"), (message, said)
        assert "Read the message" not in explain(said["error"])[0].advice, message


def test_a_question_finds_its_section_first(tmp_path: Path) -> None:
    library = Library(tmp_path / "library.sqlite")
    library.file_pages("triton_cuda", plugin.akg_docs())
    found = {words: library.search("triton_cuda", words, most=1)[0].section for words in QUESTIONS}
    assert {words: f"{section.page}: {section.path[-1]}" for words, section in found.items()} == QUESTIONS


def test_what_is_named_exists() -> None:
    named = {name for page in DOCS.glob("*.md") for name in re.findall(r"\btl\.(\w+)", page.read_text())}
    assert not [name for name in named if not hasattr(tl, name)]
