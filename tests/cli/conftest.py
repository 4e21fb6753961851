from __future__ import annotations

import shutil
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from akg_core import cli
from akg_core.worker import pool as pools

PLUGIN = "cpp_cpu"
ADD = """
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, a, b):
        return a + b


def get_inputs():
    return [torch.randn(1000, 37), torch.randn(1000, 37)]


def get_init_inputs():
    return []
"""


@dataclass
class Ended:
    """How a command ended: its exit code and what it printed."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        return self.out + self.err


@pytest.fixture(scope="session")
def warm_pool():
    """One warm parent for all tests; every job is a process of its own all the same."""
    from akg_core.stages.warm import WARM

    with pools.Pool(warm=WARM) as pool:
        yield pool


@pytest.fixture
def akg(warm_pool, monkeypatch, capsys, tmp_path):
    """Run `akg-core` in this process, in an empty folder, on the shared pool: akg("run", "ref.py") → Ended."""

    @contextmanager
    def shared(*_, **__):
        yield warm_pool

    monkeypatch.setattr(pools, "Pool", shared)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*words: object) -> Ended:
        monkeypatch.setattr(sys, "argv", ["akg-core", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        code = ended.value.code
        said = capsys.readouterr()
        assert "Traceback" not in said.out + said.err
        return Ended(0 if code is None else code, said.out, said.err)

    return call


@pytest.fixture
def reference(tmp_path) -> Path:
    """A small reference file: the sum of two matrices."""
    path = tmp_path / "add.py"
    path.write_text(ADD)
    return path


needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler on this machine")
