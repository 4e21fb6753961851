"""What the command line says of files that cannot be what they are given as, before anything of them runs."""

from __future__ import annotations

import os

import pytest

from akg_core.cli.files import is_sketch
from tests.cli.conftest import ADD, PLUGIN
from tests.cli.test_bad_reference import SKETCH

TAKERS = {
    "run": ["run", "FILE"],
    "profile": ["profile", "FILE", "kernel.py"],
    "verify": ["verify", "FILE", "kernel.py"],
    "verify a kernel": ["verify", "ref.py", "FILE"],
    "profile a kernel": ["profile", "ref.py", "FILE"],
    "tune": ["tune", "FILE"],
    "sketch": ["sketch", "FILE"],
    "task check": ["task", "check", "FILE"],
    "--sketch": ["run", "ref.py", "--sketch", "FILE"],
    "sketch --sketch": ["sketch", "ref.py", "--check", "--sketch", "FILE"],
}


@pytest.fixture
def given(akg, tmp_path):
    """Give a file where TAKERS says FILE: given("run", "x.py") → what was said, after exit code 2."""
    (tmp_path / "kernel.py").write_text("class ModelNew: ...\n")
    (tmp_path / "ref.py").write_text(ADD)

    def call(taker: str, file: str) -> str:
        ended = akg(*(file if word == "FILE" else word for word in TAKERS[taker]))
        assert ended.code == 2 and not ended.out and len(ended.err.splitlines()) <= 2, ended.text
        assert not (tmp_path / "runs").exists()
        return ended.err

    return call


@pytest.mark.parametrize("taker", TAKERS)
def test_no_text(given, tmp_path, taker):
    (tmp_path / "binary.py").write_bytes(b"\x7fELF\xff\xfe\x00")
    assert "'binary.py' is not UTF-8 text" in given(taker, "binary.py")
    (tmp_path / "blank.py").write_text("\n")
    assert "'blank.py' is empty" in given(taker, "blank.py")


@pytest.mark.parametrize("taker", [taker for taker in TAKERS if not taker.endswith("a kernel")])
def test_a_folder(given, taker):
    assert "'.' is a folder" in given(taker, ".")


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unreadable to root")
@pytest.mark.parametrize("taker", TAKERS)
def test_a_file_that_may_not_be_read(given, tmp_path, taker):
    (tmp_path / "secret.py").write_text(ADD)
    (tmp_path / "secret.py").chmod(0)
    assert "secret.py' cannot be read: Permission denied" in given(taker, "secret.py")


@pytest.mark.parametrize("taker", TAKERS)
def test_a_missing_file_and_the_near_ones_that_would_do(given, tmp_path, taker):
    for name, text in {"adds": ADD, "addk": "class ModelNew: ...\n", "addx": SKETCH}.items():
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "addz.py").mkdir()
    (tmp_path / "addy.py").write_bytes(b"\xff")
    due = "addk" if taker.endswith("a kernel") else "addx" if "--sketch" in taker else "adds"
    others = {"adds", "addk", "addx", "addy", "addz"} - {due} - ({"addx"} if taker == "sketch" else set())
    said = given(taker, "addq.py")
    assert "'addq.py'" in said and f"{due}.py" in said.partition("Did you mean")[2], said
    assert not [name for name in others if name in said], said


@pytest.mark.parametrize("command", ["verify", "profile"])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import torch\n\nclass ModelNew(:\n", "mine/bad.py, line 3: the file is not Python"),
        ("class Other: ...\n", "mine/bad.py defines no ModelNew"),
        ("# ModelNew\nprint(1)\n", "mine/bad.py defines no ModelNew"),
    ],
)
def test_a_kernel_that_is_none(akg, reference, tmp_path, command, text, said):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "bad.py").write_text(text)
    ended = akg(command, reference, "mine/bad.py")
    assert ended.code == 2 and said in ended.err, ended.text


@pytest.mark.parametrize("text", ["from torch.nn import Identity as ModelNew\n", "ModelNew = object\n"])
def test_a_kernel_may_get_its_modelnew_from_elsewhere(text, tmp_path):
    from akg_core.cli import files

    (tmp_path / "kernel.py").write_text(text)
    assert files.kernel(tmp_path).entry == "kernel.py"


def test_a_folder_without_a_kernel(akg, reference, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "data.py").write_bytes(b"\xff\xfe")
    ended = akg("verify", "--plugin", PLUGIN, reference, "empty")
    assert ended.code == 2 and "No .py file in it defines ModelNew" in ended.err


def test_a_sketch_is_told_from_a_reference():
    assert is_sketch(SKETCH) and is_sketch("# a note\n@program\ndef p(): ...\n") and is_sketch(SKETCH + "(")
    assert not is_sketch(ADD) and not is_sketch("import torch\n" + ADD + "\n@kernel\ndef f(): ...\n")
