"""What bad input gets, before there is a kernel: one clear sentence and exit code 2."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from tests.cli.conftest import ADD, PLUGIN, needs_compiler
from tests.cli.test_start import COMMAND


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import torch\n", "add.py: the file defines no Model"),
        (
            "import torch\nprint('hello')\nx = torch.zeros(3)[7]\n",
            "add.py, line 3: importing the file raises IndexError",
        ),
        ("import sys\nsys.exit(0)\n", "raises SystemExit"),
        (ADD.replace("[torch.randn(1000, 37), torch.randn(1000, 37)]", "[torch.randn(3)]"), "do not fit forward"),
        (ADD.replace("1000, 37)]", "38, 999)]"), "add.py, line"),
        (ADD.replace("def get_inputs", "def inputs"), "defines no get_inputs"),
        ("import os\nos._exit(0)\n", "exited with code 0"),
        (ADD.replace("        return ", "        c = "), "forward returns nothing."),
    ],
    ids=[
        "no Model",
        "raises",
        "exits",
        "wrong count",
        "wrong shape",
        "no get_inputs",
        "leaves",
        "returns nothing",
    ],
)
def test_a_file_that_cannot_be_used(akg, reference, tmp_path, source, said):
    reference.write_text(source)
    ended = akg("run", "--plugin", PLUGIN, reference, "--out", "out")
    assert ended.code == 2 and said in ended.text, ended.text
    assert json.loads((tmp_path / "out" / "result.json").read_text())["error"]["message"]


@pytest.mark.parametrize(
    ("line", "said", "cure"),
    [
        ("{'w': a}['scale'] + b", "raises KeyError: 'scale'.", "Mend the file, so that `Model("),
        (
            "a @ b",
            "line 8: forward, given what get_inputs gives, raises RuntimeError",
            "Mend the file, so that `Model(",
        ),
        ("__import__('a_module.part')", "No module named 'a_module'", "Install what has the module a_module ("),
    ],
    ids=["key", "shapes", "module"],
)
def test_an_exception_of_forward_comes_with_what_to_do(akg, reference, line, said, cure):
    reference.write_text(ADD.replace("a + b", line))
    for words in (["run", "--plugin", PLUGIN, reference], ["task", "check", reference]):
        ended = akg(*words)
        plain = " ".join(ended.text.split())
        assert ended.code == 2 and said in plain and cure in plain, ended.text


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("x = 1 +\n", "add.py, line 1: the file is not Python"),
        ("x = '\0'\n", "the file is not Python: source code"),
        (f"x = {'(' * 300}1{')' * 300}\n", "add.py, line 1: the file is not Python: too many nested parentheses"),
        (f"x = {'-' * 20000}1\n", "the file is not Python: it nests too deeply"),
    ],
    ids=["syntax", "null", "parentheses", "signs"],
)
def test_what_is_not_python_is_said_before_anything_starts(akg, reference, tmp_path, monkeypatch, source, said):
    monkeypatch.setattr("akg_core.worker.pool.Pool", lambda *_, **__: pytest.fail("a worker was asked"))
    reference.write_text(source)
    for words in (["run", "--plugin", PLUGIN], ["task", "check"]):
        ended = akg(*words, reference)
        assert ended.code == 2 and said in ended.err and "Mend the file" in ended.err, ended.text
    assert not (tmp_path / "runs").exists()


def test_a_byte_order_mark_and_windows_line_ends_change_nothing(akg, reference):
    reference.write_bytes(b"\xef\xbb\xbf" + ADD.replace("\n", "\r\n").encode())
    assert akg("task", "check", reference).code == 0


def test_a_file_that_hangs_is_ended(akg, reference, monkeypatch):
    from akg_core.stages import stages

    monkeypatch.setattr(stages, "CAPTURE_SECONDS", 3)
    reference.write_text("while True: pass\n")
    ended = akg("run", "--plugin", PLUGIN, reference)
    assert ended.code == 2 and "longer than 3 s" in ended.text


SKETCH = """@kernel
def add(a: In["f32", "M", "N"], b: In["f32", "M", "N"], y: Out["f32", "M", "N"]):
    for m in grid(M, 1):
        for n in tiles(N, 64):
            store(y[m, n], load(a[m, n]) + load(b[m, n]))
"""


@pytest.mark.parametrize(
    ("text", "place", "code"),
    [
        (SKETCH.replace("in tiles(N, 64):", "in tiles(N, 64)"), "4:", "SK1"),
        (SKETCH.replace("load(b[m, n])", "load(b[m, k])"), "5:54", "SK2"),
        (SKETCH.replace("load(b[m, n])", "reduce_sum(load(b[m, n]), k)"), "5:", "SK3"),
        (SKETCH.replace("store(y[m, n],", "store(y[m, m],"), "5:", "SK3"),
    ],
    ids=["syntax", "name", "unknown axis", "axes"],
)
def test_a_sketch_with_an_error(akg, reference, tmp_path, text, place, code):
    (tmp_path / "mine.py").write_text(text)
    ended = akg("run", "--plugin", PLUGIN, "--sketch", "mine.py", reference)
    assert ended.code == 2 and place in ended.text and code in ended.text, ended.text
    ended = akg("sketch", "mine.py", "--check")
    assert ended.code == 2 and place in ended.text and code in ended.text, ended.text


@pytest.mark.parametrize("command", [["run", "--plugin", PLUGIN], ["sketch"], ["sketch", "--check"]])
def test_errors_name_the_file_as_it_was_given(akg, reference, tmp_path, command):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "add.py").write_text(SKETCH.replace("load(b[m, n])", "load(b[m, k])"))
    ended = akg(*command, "--sketch", "mine/add.py", "add.py")
    assert ended.code == 2 and "mine/add.py:5" in ended.text, ended.text
    (tmp_path / "mine" / "reference.py").write_text("import torch\nclass Model(:\n# get_inputs")
    for words in (command, ["task", "check"]):
        ended = akg(*words, "mine/reference.py")
        assert ended.code == 2 and "mine/reference.py, line 2: the file is not Python" in ended.text, ended.text


def test_a_sketch_for_something_else(akg, reference, tmp_path):
    (tmp_path / "mine.py").write_text(SKETCH.replace('"f32", "M", "N"', '"f16", "M", "N"'))
    ended = akg("run", "--plugin", PLUGIN, "--sketch", "mine.py", reference)
    assert ended.code == 2 and "mine.py:2:" in ended.text
    assert "argument a as f16, but it is f32" in ended.text


def test_an_unknown_plugin_names_the_near_ones(akg, reference):
    ended = akg("run", "--plugin", PLUGIN[:-1], reference)
    assert ended.code == 2 and f"Did you mean {PLUGIN}?" in ended.err and f"Installed: {PLUGIN}" in ended.err


def test_an_operator_without_a_rule(akg, reference):
    reference.write_text(ADD.replace("a + b", "torch.special.bessel_j0(a) + b"))
    ended = akg("run", "--plugin", PLUGIN, reference)
    assert ended.code == 2 and "bessel_j0" in ended.text and "--sketch" in ended.text and "line 8" in ended.text, (
        ended.text
    )


@needs_compiler
def test_a_plugin_without_its_compiler(reference):
    environment = {**os.environ, "CXX": "a-compiler-that-is-not-there"}
    command = [COMMAND, "run", "--plugin", PLUGIN, "--out", reference.with_name("out"), reference]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert ended.returncode == 2 and "a-compiler-that-is-not-there" in ended.stdout and "g++" in ended.stdout
    assert "Traceback" not in ended.stdout + ended.stderr


def test_a_folder_that_cannot_be_made(akg, reference, tmp_path):
    (tmp_path / "taken").write_text("a file")
    ended = akg("run", "--plugin", PLUGIN, "--out", "taken", reference)
    assert ended.code == 2 and "taken' cannot be used" in ended.err and "--out" in ended.err
