"""A run's kernel as one file or as a package, each of which is used like the folder that it came from."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from akg_core.built_from import digests
from akg_core.records import Argument, Graph, Interface, Task

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
    (folder / "result.json").write_text(CORRECT)
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


def test_what_the_evaluator_makes_floating_is_turned_back(akg, run, tmp_path):
    kernel = (
        "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x, mask):\n        return x[mask]\n"
    )
    (run / "kernel/model_new.py").write_text(kernel)
    arguments = (
        Argument(name="x", kind="tensor", dtype="f32", shape=(3,)),
        Argument(name="mask", kind="tensor", dtype="bool", shape=(3,)),
    )
    task = Task(
        name="masked", source="", interface=Interface(arguments=arguments), graph=Graph(values={}, nodes=(), outputs=())
    )
    (run / "task.json").write_text(json.dumps(task.model_dump(mode="json") | {"left": "by an earlier version"}))
    assert akg("export", str(run), "--out", "masked.py").code == 0
    script = "import torch, masked; print(masked.ModelNew()(torch.arange(3.0), torch.tensor([1.0, 0.0, 1.0])).tolist())"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "[0.0, 2.0]\n", done.stderr


BESIDE = """from factor import FACTOR
from reference import Model


class ModelNew(Model):
    def forward(self, x):
        return FACTOR * x
"""
CORRECT = '{"verdict": {"status": "correct"}}'
REFERENCE = "import torch\n\n\nclass Model(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"


def test_two_kernels_in_one_process_are_two(akg, tmp_path):
    """By the names of their packages, each with its own files, of which both have the same names."""
    for name, factor in (("doubled", 2), ("tripled", 3)):
        kernel = tmp_path / "runs" / name / "kernel"
        kernel.mkdir(parents=True)
        (kernel / "model_new.py").write_text(BESIDE)
        (kernel.parent / "result.json").write_text(CORRECT)
        (kernel / "reference.py").write_text(f"{REFERENCE}        self.times = {factor}\n")
        (kernel / "factor.py").write_text(f"FACTOR = {factor}\n")
        assert akg("export", f"runs/{name}", "--format", "package", "--out", f"{name}_new").code == 0
        assert akg("export", f"runs/{name}", "--out", f"{name}_file.py").code == 0
    (tmp_path / "factor.py").write_text("FACTOR = 5\n")
    script = (
        "import factor, sys, torch\nbefore = {*sys.modules}, [*sys.path]\n"
        "from doubled_new import ModelNew as A\nfrom tripled_new import ModelNew as B\n"
        "from doubled_file import ModelNew as C\nfrom tripled_file import ModelNew as D\n"
        "models = [kind() for kind in (A, B, C, D)]\nleft = {'reference', 'model_new'} & {*sys.modules}\n"
        "print(*(int(model(torch.tensor(1))) for model in models), *(model.times for model in models))\n"
        "print(factor.FACTOR, sys.modules['factor'] is factor, left or 'apart')\n"
        "assert sys.path == before[1]\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "2 3 2 3 2 3 2 3\n5 True apart\n", done.stderr


def test_a_kernel_that_is_a_file_of_its_own_is_exported_too(akg, tmp_path):
    (tmp_path / "alone").mkdir()
    (tmp_path / "alone/kernel.py").write_text(KERNEL)
    assert akg("export", str(tmp_path / "alone/kernel.py"), "--out", "exported.py").code == 0
    assert KERNEL in (tmp_path / "exported.py").read_text()


def test_it_lies_in_the_run_unless_told_otherwise(akg, run):
    ended = akg("export", str(run), "--json")
    assert json.loads(ended.out) == {"format": "kernelbench", "path": str(run / "kernelbench.py")}
    assert (run / "kernelbench.py").exists()


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (
            '{"verdict": {"status": "incorrect", "reason": "y is wrong."}}',
            "its verdict is 'incorrect'. y is wrong. Mend the kernel",
        ),
        ('{"verdict": {"status": "cheating"}}', "its verdict is 'cheating'. Mend the kernel"),
        ('{"verdict": null}', "was never judged. Judge it with `akg-core verify`"),
        (None, "was never judged."),
        ("{", "result.json' is damaged"),
        ("[]", "result.json' is damaged"),
    ],
)
def test_what_was_not_judged_correct_is_refused(akg, run, result, said):
    (run / "result.json").unlink() if result is None else (run / "result.json").write_text(result)
    for form in ("kernelbench", "package"):
        ended = akg("export", str(run), "--format", form, "--out", "left_out")
        assert ended.code == 2 and said in " ".join(ended.err.split()) and not Path("left_out").exists(), ended.text


def test_what_has_changed_since_it_was_judged_is_refused(akg, run):
    judged = digests(run / "kernel")
    (run / "result.json").write_text(json.dumps(json.loads(CORRECT) | {"judged": judged}))
    assert akg("export", str(run), "--out", "as_judged.py").code == 0
    with (run / "kernel" / "model_new.py").open("a") as file:
        file.write("# a word more\n")
    ended = akg("export", str(run), "--out", "changed.py")
    assert ended.code == 2 and "is not what was judged: model_new.py has changed" in " ".join(ended.err.split())
    assert akg("export", str(run / "kernel"), "--out", "as_it_is.py").code == 0


@pytest.mark.parametrize(
    ("prepare", "words", "said"),
    [
        (lambda run: (run / "kernel/kernel.so").touch(), ["--format", "kernelbench"], "it needs kernel.so"),
        (lambda run: (run / "task.json").write_text("{"), [], "task.json' is damaged"),
        (lambda run: None, ["--format", "zip"], "There is no format 'zip'"),
        (lambda run: None, ["--format", "package", "--out", "not-a-name"], "not-a-name cannot be imported"),
        (lambda run: Path("there").mkdir(), ["--format", "package", "--out", "there"], "there exists"),
        (lambda run: (run / "kernel/model_new.py").unlink(), [], "is not the folder of a kernel"),
    ],
)
def test_what_cannot_be_exported_is_refused(akg, run, prepare, words, said):
    prepare(run)
    ended = akg("export", str(run), *words)
    assert ended.code == 2 and said in ended.err, ended.text


def test_a_kernel_whose_source_or_library_is_not_what_was_judged_is_refused(akg, run):
    source = run / "kernel/kernel.cpp"
    source.write_text("int f() { return 1; }\n")
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    (run / "kernel/built_from.json").write_text(json.dumps({"kernel.cpp": digest}))
    (run / "kernel/model_new.py").write_text(KERNEL + "\n\nLIBRARY = 'kernel.so'\n")
    ended = akg("export", str(run), "--format", "package")
    assert ended.code == 2 and "is not built" in ended.err and "needs kernel.so" in ended.err
    (run / "kernel/kernel.so").write_bytes(b"")
    assert akg("export", str(run), "--format", "package").code == 0
    source.write_text("int f() { return 2; }\n")
    ended = akg("export", str(run), "--format", "package", "--out", "other")
    assert ended.code == 2 and "was not built from this kernel.cpp" in ended.err


def test_a_run_that_is_not_there_is_said_with_near_names(akg, run):
    ended = akg("export", "runs/double")
    assert (
        ended.code == 2 and "There is no run 'runs/double'." in ended.err and "Did you mean runs/doubled?" in ended.err
    )
    ended = akg("export", "runs/nosuch")
    assert ended.code == 2 and "Give the folder that a run names at its end" in ended.err
