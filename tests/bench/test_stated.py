"""A forward that calls a chip's library is replaced by what the docstring states in plain PyTorch."""

from __future__ import annotations

import torch

from akg_core.bench.stated import in_plain_torch
from akg_core.task.source.load import load_source

METHOD = '''import torch
import torch_npu


class Model(torch.nn.Module):
    """Scales rows.

    def forward(self, x, scale=2.0):
        rows = [each * scale for each in x]

        return torch.stack(rows)

    Of the operator in torch_npu.
    """

    def __init__(self):
        super().__init__()

    def forward(self, x, scale=2.0):
        return torch_npu.npu_scale(x, scale)


def get_inputs():
    return [torch.ones(2, 3)]


def get_init_inputs():
    return []
'''

FUNCTION = METHOD.replace("def forward(self, x, scale=2.0):\n        rows", "def scaled(x, scale):\n        rows", 1)

WITH_HELPER = METHOD.replace("def forward", "def scaled", 1).replace(
    "    Of the operator",
    "    def forward(self, x, scale=2.0):\n        return self.scaled(x, scale)\n\n    Of the operator",
)


def answer(source: str) -> torch.Tensor:
    model = load_source(in_plain_torch(source), "scale.py")
    return model.Model()(torch.ones(2, 3))


def test_a_forward_in_the_docstring_is_taken():
    assert "torch_npu.npu_scale" not in in_plain_torch(METHOD)
    assert torch.equal(answer(METHOD), torch.full((2, 3), 2.0))


def test_a_function_of_the_same_arguments_becomes_forward_with_its_defaults():
    assert torch.equal(answer(FUNCTION), torch.full((2, 3), 2.0))


def test_what_the_stated_forward_calls_comes_with_it():
    assert torch.equal(answer(WITH_HELPER), torch.full((2, 3), 2.0))


def test_an_import_that_nothing_calls_goes():
    source = METHOD.replace("torch_npu.npu_scale(x, scale)", "x * scale")
    assert "import torch_npu" not in in_plain_torch(source)
    assert torch.equal(answer(source), torch.full((2, 3), 2.0))


def test_a_reference_without_the_library_stays_as_it_is():
    source = METHOD.replace("import torch_npu\n", "").replace("torch_npu.npu_scale(x, scale)", "x * scale")
    source = source.replace("    Of the operator in torch_npu.\n", "")
    assert in_plain_torch(source) is source


def test_without_a_forward_in_words_of_python_the_source_stays():
    for stated in ("def forward(self, x, scale=2.0):\n        rows = [each *", "def other(self, y):\n        rows"):
        source = METHOD.replace("def forward(self, x, scale=2.0):\n        rows", stated, 1)
        assert in_plain_torch(source) == source


def test_what_is_no_python_stays():
    assert in_plain_torch("import torch_npu\nclass Model(") == "import torch_npu\nclass Model("


def test_the_inside_of_a_function_is_taken_though_its_first_and_last_line_have_lost_their_depth():
    lines = [
        "In plain PyTorch:",
        "if scale > 1:",
        "        x = x * scale",
        "    else:",
        "        x = 0",
        "return 1 + x",
    ]
    inside = "\n    ".join(lines) + "\n"
    stated = METHOD.index("    def forward"), METHOD.index('    """\n')
    source = METHOD[: stated[0]] + "    " + inside + METHOD[stated[1] :]
    assert torch.equal(answer(source), torch.full((2, 3), 3.0))
