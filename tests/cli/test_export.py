"""A run's kernel as one file, which is used like the folder that it came from."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

KERNEL = '''"""A kernel of two files."""

from pathlib import Path

import torch

SOURCE = Path(__file__).with_name("factor.py").read_text()
TWICE = r"""'\\n' and 'x' stay"""


class ModelNew(torch.nn.Module):
    def __init__(self, offset):
        super().__init__()
        self.offset = offset

    def forward(self, x):
        return x * eval(SOURCE) + self.offset
'''


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "runs/doubled"
    (folder / "kernel/inner").mkdir(parents=True)
    (folder / "kernel/model_new.py").write_text(KERNEL)
    (folder / "kernel/factor.py").write_text("2")
    (folder / "kernel/inner/quoted.py").write_text("TEXT = '''three'''\n")
    (folder / "kernel/build.log").write_text("nothing was built")
    return folder


def test_the_file_does_what_the_kernel_does(akg, run, tmp_path):
    ended = akg("export", str(run), "--format", "kernelbench", "--out", "alone.py")
    assert ended.code == 0 and "written to alone.py" in ended.out
    (tmp_path / "alone.py").rename(tmp_path / "elsewhere.py")
    script = "import torch, elsewhere; print(elsewhere.ModelNew(1)(torch.tensor(20.0)).item())"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "41.0\n", done.stderr
    text = (tmp_path / "elsewhere.py").read_text()
    assert KERNEL in text  # readable: the files stand there as they are
    assert "nothing was built" not in text


def test_it_lies_in_the_run_unless_told_otherwise(akg, run):
    ended = akg("export", str(run), "--json")
    assert json.loads(ended.out) == {"format": "kernelbench", "path": str(run / "kernelbench.py")}
    assert (run / "kernelbench.py").exists()


@pytest.mark.parametrize(
    ("prepare", "words", "said"),
    [
        (lambda run: (run / "kernel/kernel.so").touch(), ["--format", "kernelbench"], "it needs kernel.so"),
        (lambda run: None, ["--format", "zip"], "There is no format 'zip'"),
        (lambda run: (run / "kernel/model_new.py").unlink(), [], "is not the folder of a kernel"),
    ],
)
def test_what_cannot_be_exported_is_refused(akg, run, prepare, words, said):
    prepare(run)
    ended = akg("export", str(run), *words)
    assert ended.code == 2 and said in ended.err, ended.text
