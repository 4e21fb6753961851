"""Answers of every kind that a reference may give are right, however a kernel holds them, and state is what it is."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent, indent

import pytest

from akg_core.judge.records import Verdict
from akg_core.judge.reference.prepare import prepare
from akg_core.judge.verify import verify
from akg_core.records import Artifact, Target, Task
from akg_core.worker.pool import Pool

REFERENCE = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
{init}

    def forward(self, x):
{forward}


def get_inputs():
    return [torch.rand(5, 4)]


def get_init_inputs():
    return []
"""

KERNEL = """
import ctypes
from collections import OrderedDict

import torch
from reference import Model


def each(x, f):
    return torch.tensor([[f(v) for v in row] for row in x.tolist()])


def put(tensor, f):
    flat = (ctypes.c_float * tensor.numel()).from_address(tensor.data_ptr())
    flat[:] = [f(v) for v in flat]


class ModelNew(Model):
    def forward(self, x):
{forward}
"""

MAX = """
rows = x.tolist()
values, at = torch.tensor([max(r) for r in rows]), torch.tensor([r.index(max(r)) for r in rows])
"""
HONEST = {
    "a named tuple": ("return torch.max(x, dim=1)", f"{MAX}return torch.return_types.max((values, at))", ""),
    "a dict": (
        "return {'b': x + 1, 'a': x * 2}",
        "return {'b': each(x, lambda v: v + 1), 'a': each(x, lambda v: v * 2)}",
        "",
    ),
    "an ordered dict": ("return {'b': x + 1}", "return OrderedDict(b=each(x, lambda v: v + 1))", ""),
    "a list": ("return [x + 1, x * 2]", "return [each(x, lambda v: v + 1), each(x, lambda v: v * 2)]", ""),
    "None beside it": ("return x + 1, None", "return each(x, lambda v: v + 1), None", ""),
    "one number": (
        "return x.amax()",
        "v = sum(x.tolist(), [])\nreturn torch.tensor(next((e for e in v if e != e), max(v)))",
        "",
    ),
    "nothing in it": ("return x + 1, x[:0] * 2", "return each(x, lambda v: v + 1), torch.empty(0, 4)", ""),
    "transposed": ("return (x + 1).t()", "return each(x, lambda v: v + 1).t()", ""),
    "parts of one": ("y = x + 1\nreturn y[:2], y[2:]", "y = each(x, lambda v: v + 1)\nreturn y[:2], y[2:]", ""),
    "expanded": ("return (x[:, :1] + 1).expand(5, 4)", "return each(x[:, :1], lambda v: v + 1).expand(5, 4)", ""),
    "a parameter": (
        "return x * self.scale, self.scale",
        "return each(x, lambda v: v * self.scale.item()), self.scale",
        "self.scale = nn.Parameter(torch.ones(()))",
    ),
    "its input": ("return x, x + 1", "return x, each(x, lambda v: v + 1)", ""),
    "truths": ("return x > 0.5", "return each(x, lambda v: v > 0.5)", ""),
    "state that is updated": (
        "self.seen += 1\nreturn x + self.seen",
        "put(self.seen, lambda v: v + 1)\nreturn each(x, lambda v: v + self.seen.item())",
        "self.register_buffer('seen', torch.zeros(()))",
    ),
    "state that no state dict holds": (
        "self.seen += x.mean()\nreturn x + self.seen",
        "mean = sum(sum(x.tolist(), [])) / 20\nput(self.seen, lambda v: v + mean)\n"
        "return each(x, lambda v: v + self.seen.item())",
        "self.register_buffer('seen', torch.zeros(()), persistent=False)",
    ),
    "state that rounds to what it was": (
        "self.seen.copy_(self.seen * 3 / 3)\nreturn x + self.seen",
        "put(self.seen, lambda v: v * (1 + 2**-23))\nreturn each(x, lambda v: v + self.seen.item())",
        "self.register_buffer('seen', torch.ones(()))",
    ),
    "state that is put in place": (
        "self.seen += 1\nreturn x + self.seen",
        "self.seen = torch.tensor(self.seen.item() + 1)\nreturn each(x, lambda v: v + self.seen.item())",
        "self.register_buffer('seen', torch.zeros(()))",
    ),
    "an attribute that is replaced": (
        "self.last = self.last * 2 + x.mean()\nreturn x + self.last",
        "mean = sum(sum(x.tolist(), [])) / 20\nput(self.last, lambda v: 2 * v + mean)\n"
        "return each(x, lambda v: v + self.last.item())",
        "self.last = torch.ones(())",
    ),
    "an attribute that is replaced by a kernel, too": (
        "self.last = self.last + 1\nreturn x + self.last",
        "self.last = torch.tensor(self.last.item() + 1)\nreturn each(x, lambda v: v + self.last.item())",
        "self.last = torch.ones(())",
    ),
    "a table that no state dict holds": (
        "return x + self.inner.table",
        "return each(x, lambda v: v + 3)",
        "self.inner = nn.Module()\nself.inner.register_buffer('table', torch.full((), 3.0), persistent=False)",
    ),
    "an argument that is updated": (
        "x += 1\nreturn x * 2",
        "put(x, lambda v: v + 1)\nreturn each(x, lambda v: v * 2)",
        "",
    ),
    "state that is as it was but for rounding": (
        "self.seen += (x + 1e4 - 1e4 - x).sum().nan_to_num()\nreturn x + 1",
        "return each(x, lambda v: v + 1)",
        "self.register_buffer('seen', torch.zeros(()))",
    ),
}


@pytest.fixture
def judged(pool: Pool, capture: Callable[..., Task], toy: Path, tmp_path: Path) -> Callable[[str, str, str], Verdict]:
    def judge(forward: str, answer: str, init: str = "") -> Verdict:
        source = REFERENCE.format(init=indent(init, " " * 8), forward=indent(forward, " " * 8))
        folder = tmp_path / "kernel"
        folder.mkdir()
        (folder / "reference.py").write_text(source)
        (folder / "model_new.py").write_text(KERNEL.format(forward=indent(dedent(answer), " " * 8)))
        with prepare(pool, capture(source), tmp_path / "cases") as prepared:
            return verify(pool, prepared, "toy", Artifact(folder=folder), Target(backend="cpu"), seconds=60.0)

    return judge


@pytest.mark.parametrize("name", HONEST)
def test_an_unusual_answer_is_right(judged: Callable[..., Verdict], name: str) -> None:
    verdict = judged(*HONEST[name])
    assert verdict.correct, verdict.reason


WRONG = {
    "a truth of other bytes": (
        "return x > 0.5",
        "y = each(x, lambda v: v > 0.5)\nctypes.memset(y.data_ptr(), 255, 1)\nreturn y",
        r"where (True|False) is due",
    ),
    "nothing more": (
        "return x + 1, x * 2",
        "return each(x, lambda v: v + 1), each(x, lambda v: v * 2), []",
        "where a tuple",
    ),
    "a key that stands for more": ("return {'a': x + 1}", "return {'a[0]': each(x, lambda v: v + 1)}", "is due"),
    "state that is not updated": (
        "self.seen += 1\nreturn x + 1",
        "return each(x, lambda v: v + 1)",
        "state seen: it is not updated",
    ),
    "an attribute that is not replaced": (
        "self.last = self.last + 1\nreturn x + 1",
        "return each(x, lambda v: v + 1)",
        "state last: it is not updated",
    ),
    "an attribute that is replaced by something else": (
        "self.last = self.last + 1\nreturn x + 1",
        "put(self.last, lambda v: v + 2)\nreturn each(x, lambda v: v + 1)",
        "state last",
    ),
    "an attribute that counts calls elsewhere": (
        "self.last = self.last + 1\nreturn x + self.last",
        "self.calls = getattr(self, 'calls', 1) + 1\nput(self.last, lambda v: self.calls)\n"
        "return each(x, lambda v: v + self.calls)",
        "differ|wrong|off|due",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_answer_of_another_kind_is_wrong(judged: Callable[..., Verdict], name: str) -> None:
    forward, answer, reason = WRONG[name]
    init = "self.register_buffer('seen', torch.zeros(()))" if "seen" in forward else ""
    init = "self.last = torch.zeros(())" if "last" in forward else init
    verdict = judged(forward, answer, init)
    assert verdict.status == "incorrect"
    assert re.search(reason, verdict.reason), verdict.reason
