"""What a bad kernel gets: its own verdict, a sentence, exit code 1, and a folder that keeps what was found."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import subprocess
import sys

import pytest

from tests.cli.conftest import PLUGIN, needs_compiler

pytestmark = needs_compiler

REFERENCE = """
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, a, b):
        return a + b


def get_inputs():
    return [torch.randn(100_000), torch.randn(100_000)]


def get_init_inputs():
    return []
"""
SOURCE = """
void add(const float* a, const float* b, float* y, long n) { for (long i = 0; i < n; i++) y[i] = a[i] + b[i]; }
void crash(void) { *(volatile int*)0 = 1; }
"""
KERNEL = """
import ctypes
import os
import sys
import time
from pathlib import Path

import torch
from torch import nn

library = ctypes.CDLL(str(Path(__file__).with_name("add.so")))


class ModelNew(nn.Module):
    def forward(self, a, b):
        y = torch.empty(a.shape, dtype=a.dtype)
        library.add(*(ctypes.c_void_p(t.data_ptr()) for t in (a, b, y)), ctypes.c_long(a.numel()))
        # here
        return y


# gone
"""
POKE = "ctypes.c_float.from_address(y.data_ptr() + 4 * (y.numel() * 7 // 9)).value"


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("library")
    (folder / "add.c").write_text(SOURCE)
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", folder / "add.so", folder / "add.c"], check=True)
    return (folder / "add.so").read_bytes()


@pytest.fixture
def judge(akg, tmp_path, library):
    """Verify a kernel with one line more: judge("os._exit(0)") → how it ended, and verdict.json."""

    def call(line: str = "", instead_of: str = "# here"):
        (tmp_path / "ref.py").write_text(REFERENCE)
        (tmp_path / "kernel").mkdir(exist_ok=True)
        (tmp_path / "kernel" / "add.so").write_bytes(library)
        (tmp_path / "kernel" / "kernel.py").write_text(KERNEL.replace(instead_of, line))
        ended = akg("verify", "--plugin", PLUGIN, "ref.py", "kernel", "--out", "out")
        return ended, json.loads((tmp_path / "out" / "verdict.json").read_text())

    return call


def test_a_kernel_written_by_hand_that_is_right(judge):
    ended, verdict = judge()
    assert (ended.code, verdict["status"]) == (0, "correct"), ended.text


def test_one_wrong_element(judge):
    ended, verdict = judge(f"{POKE} += 0.01")
    assert (ended.code, verdict["status"]) == (1, "incorrect"), ended.text
    assert "77777" in ended.out or "77778" in ended.out, "the place is named"


@pytest.mark.parametrize(
    ("line", "status", "said"),
    [
        ("library.crash()", "crashed", "SIGSEGV"),
        ("os._exit(0)", "crashed", "exited with code 0"),
        ("sys.exit(0)", "crashed", "exit"),
        ("raise ValueError('no such tile')", "incorrect", "no such tile"),
        ("return y[:-1]", "incorrect", "shape"),
        ("return y.to(torch.float64)", "cheating", "_to_copy"),
        (f"{POKE} = float('nan')", "incorrect", "nan"),
        ("return a + b", "cheating", "add"),
        ("ctypes.memset(a.data_ptr(), 0, 4)", "cheating", "changes"),
        ("while True: sys.stdout.write('x' * 1000000)", "crashed", "printed more than"),
    ],
    ids=["segfault", "_exit", "exit", "raises", "shape", "dtype", "nan", "library", "input", "gigabyte"],
)
def test_a_bad_kernel(judge, line, status, said):
    ended, verdict = judge(line)
    assert (ended.code, verdict["status"]) == (1, status), ended.text
    assert said.lower() in ended.out.lower(), ended.out


def test_who_computes_with_the_library_is_told_what_a_kernel_does(judge):
    ended, verdict = judge("return a + b")
    asked = "A kernel computes by itself, in the plugin's language"
    assert verdict["cure"].startswith(asked) and asked in " ".join(ended.out.split())
    assert f"akg-core docs search --plugin {PLUGIN}" in verdict["cure"] and "docs/verification.md" in verdict["cure"]
    _, verdict = judge("ctypes.memset(a.data_ptr(), 0, 4)")
    assert "docs/verification.md" in verdict["cure"] and asked not in verdict["cure"]
    assert judge()[1]["cure"] == ""


def test_a_kernel_that_hangs(judge, monkeypatch):
    from akg_core.judge.candidate import session

    monkeypatch.setattr(session, "_GRACE_SECONDS", 3.0)
    monkeypatch.setattr(session, "_SLOWER", 1.0)
    ended, verdict = judge("time.sleep(1000)")
    assert (ended.code, verdict["status"]) == (1, "timed out"), ended.text


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("import a_package_that_nobody_has", "ModuleNotFoundError: No module named 'a_package_that_nobody_has'"),
        ("import sys; 1 / 0", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_kernel_that_does_not_import(judge, line, said):
    ended, verdict = judge(line, instead_of="import sys")
    assert (ended.code, verdict["status"]) == (1, "crashed")
    assert f"kernel.py, line 4: importing the file raises {said}" in " ".join(ended.out.split()), ended.out


def test_a_kernel_whose_modelnew_is_gone_after_its_import(judge):
    ended, verdict = judge("del ModelNew", instead_of="# gone")
    assert (ended.code, verdict["status"]) == (1, "crashed")
    assert "kernel.py defines no ModelNew" in ended.out and "akg_kernel" not in ended.out


PAINT = r"\x1b[2K\x1b[1A\r\x1b[32mPAINTED correct\x1b[0m\u202e\x08 [bold]verdict[/] \ud800\x9b1A"


def test_what_a_kernel_says_paints_no_verdict_on_a_terminal(library, tmp_path):
    (tmp_path / "ref.py").write_text(REFERENCE)
    (tmp_path / "add.so").write_bytes(library)
    says = f"os.write(2, b'\\x1b[2K\\r\\x1b[32mPAINTED\\n'); raise ValueError('{PAINT}')"
    (tmp_path / "kernel.py").write_text(KERNEL.replace("# here", says))
    ours, theirs = pty.openpty()
    command = ["verify", "--plugin", PLUGIN, "ref.py", "kernel.py", "--out", "out"]
    process = subprocess.Popen(
        [sys.executable, "-c", "from akg_core.cli import main; main()", *command],
        cwd=tmp_path,
        stdout=theirs,
        stderr=theirs,
        env=os.environ | {"TERM": "xterm-256color", "COLUMNS": "200"},
    )
    os.close(theirs)
    said = b""
    with contextlib.suppress(OSError):  # at the end
        while piece := os.read(ours, 1 << 16):
            said += piece
    os.close(ours)
    text = said.decode()
    assert process.wait() == 1
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    assert (
        r"it raised ValueError: \x1b[2K\x1b[1A \x1b[32mPAINTED correct\x1b[0m\u202e\x08 [bold]verdict[/] \ud800"
        in plain
    )
    assert "\x1b[32mPAINTED" not in text and not {"\u202e", "\x08", "\x9b"} & set(text)
    kept = (tmp_path / "out" / "verdict.json").read_text()
    assert json.loads(kept)["log"].count(r"\x1b[2K") and "\\u001b" not in kept
