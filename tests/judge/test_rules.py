"""What the Python text of a kernel may name, and what not."""

from __future__ import annotations

from pathlib import Path

import pytest

from akg_core.judge.rules import broken_rule


@pytest.mark.parametrize(
    "line",
    [
        "y = np.matmul(a, b)",
        "from numpy import dot",
        "from numpy.linalg import norm",
        "y = a.numpy() @ b.numpy()",
        "y = a.__array__()",
        "import scipy.special",
        "__import__('scipy')",
        "held = torch._C._DisableTorchDispatch()",
        "getattr(torch._C._autograd, '_disable_profiler')()",
        "getattr(torch._C._autograd, '_dis' + 'able_' + 'profiler')()",
        "y = getattr(a, 'num' + 'py')() * 2",
    ],
)
def test_a_library_or_a_switch_is_named_with_its_line(line: str, tmp_path: Path) -> None:
    (tmp_path / "model_new.py").write_text(f"import numpy as np\nimport torch\n{line}\n")
    assert "model_new.py, line 3" in broken_rule(tmp_path, "")


@pytest.mark.parametrize(
    "line",
    [
        "pointer = x.numpy().ctypes.data_as(ctypes.c_void_p)",
        "kind = np.ctypeslib.ndpointer(np.float32)",
        "from numpy import float32, int64",
        "y = torch.empty(3)",
        "text = 'as numpy does'",
        "def broken(:",
    ],
)
def test_addresses_and_types_are_no_work(line: str, tmp_path: Path) -> None:
    (tmp_path / "model_new.py").write_text(f"import numpy as np\nimport ctypes, torch\n{line}\n")
    assert broken_rule(tmp_path, "") == ""


def test_a_copy_of_the_reference_is_not_the_kernel(tmp_path: Path) -> None:
    text = "import scipy\n"
    (tmp_path / "reference.py").write_text(text)
    assert broken_rule(tmp_path, text) == "" != broken_rule(tmp_path, "")
