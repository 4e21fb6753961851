"""Calls of builtins that are replayed give what the interpreter gives, bit by bit, types and layout included."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

CODE = """
import json, sys

import numpy as np
from akg_triton import replay, simulate

beside = {}  # how often a builtin was called, and what it gave otherwise than the interpreter
recorded, operations = [], []
quick, record, write = replay._Calls.quick, replay._Calls._record, replay._Replay._write


def counted(self, *given):
    recorded.append(given[1])
    return record(self, *given)


def written(self, operation, *rest):
    before = len(self.lines)
    write(self, operation, *rest)
    by_builder = any("(builder" in line for line in self.lines[before:])
    operations.append((operation.name, by_builder))


def compared(self, name, member, plain):
    replayed = quick(self, name, member, plain)

    def call(*arguments, **options):
        made = replayed(*arguments, **options)
        if self.log is None and name != "atomic_add":
            self.log = []  # nothing is replayed within
            due = plain(*arguments, **options)
            self.log = None
            told = beside.setdefault(name, [0, 0])
            told[0] += 1
            told[1] += any(map(differs, replay._parts(made), replay._parts(due)))
        return made

    return call


def differs(made, due):
    if not hasattr(due, "handle") or due.handle is None:
        return False
    a, b = made.handle.data, due.handle.data
    same = a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    laid = a.strides == b.strides or due.dtype.is_ptr()
    return not (same and laid and str(made.type) == str(due.type) and made.handle.dtype == due.handle.dtype)


replay._Calls._record, replay._Replay._write = counted, written
if sys.argv[1] == "compared":
    replay._Calls.quick = compared
elif sys.argv[1] == "plain":
    simulate.replay_calls = lambda *_: None
simulate.prepare()
import torch
import triton
import triton.language as tl


@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def k(x, z, i, y, total, n, m, B: tl.constexpr):
    rows = tl.program_id(0) * B + tl.arange(0, B)
    sums = tl.zeros([B], tl.float32)
    acc = tl.full([B, B], 0.0, tl.float32)
    for begin in tl.range(0, m, B):  # numbers that differ at each turn, of which the first is zero
        columns = begin + tl.arange(0, B)
        inside = (rows < n)[:, None] & (columns < m)[None, :]
        t = tl.load(x + (rows * m)[:, None] + columns[None, :], mask=inside, other=0.0)
        u = tl.load(z + columns % 7, mask=columns < m, other=float("-inf"))
        v = tl.where(inside & (t == t), larger(t, u[None, :]) * 1.5 - t / 3, 0.0)
        w = tl.where(rows[:, None] // 2 == columns[None, :] // 2, v * v, -v)
        sums += tl.sum(w, axis=1) + tl.max(tl.trans(w), axis=0)
        acc = tl.dot(t.to(tl.float16), tl.trans(w).to(tl.float16), acc)
        tl.store(y + (rows * m)[:, None] + columns[None, :], w.to(tl.float16).to(tl.float32), mask=inside)
    sums += tl.sum(tl.exp(acc * 0.01), axis=0) + tl.cumsum(sums, axis=0)
    at = tl.load(i + rows, mask=rows < n, other=0).to(tl.int64) * 3 - 1 + (1 - rows)
    tl.atomic_add(total + at % 5 * 0, sums, mask=rows < n)
    tl.store(i + rows, at.to(tl.int32), mask=rows < n)


torch.manual_seed(0)
x, z = torch.randn(13, 21), torch.randn(7)
x[2, 3], x[5, 7] = float("nan"), float("inf")
i, y, total = torch.arange(13, dtype=torch.int32), torch.zeros(13, 21), torch.zeros(1)
k[(4,)](x, z, i, y, total, 13, 21, 4)
bits = [t.contiguous().view(torch.int32).flatten().tolist() for t in (i, y, total)]
print(json.dumps({"bits": bits, "beside": beside, "recorded": len(recorded), "operations": operations}))
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    """What three processes say: one that replays, one that does not, and one that holds each call beside the other."""
    (file := tmp_path_factory.mktemp("replay") / "kernel_of_many.py").write_text(CODE)
    ended = {
        how: subprocess.run([sys.executable, str(file), how], capture_output=True, text=True)
        for how in ("replayed", "plain", "compared")
    }
    assert not any(process.returncode for process in ended.values()), [p.stderr[-1500:] for p in ended.values()]
    return {how: json.loads(process.stdout) for how, process in ended.items()}


def test_results_are_the_same_bits(said: dict[str, dict]) -> None:
    assert said["replayed"]["bits"] == said["plain"]["bits"]


def test_each_call_gives_what_the_interpreter_gives(said: dict[str, dict]) -> None:
    beside = said["compared"]["beside"]
    assert {"load", "where", "__radd__", "__eq__", "__getitem__", "dot", "arange"} <= {*beside}
    assert {name: wrong for name, (_, wrong) in beside.items() if wrong} == {}


def test_calls_are_replayed(said: dict[str, dict]) -> None:
    """Most calls of a kernel never reach the front end."""
    calls = sum(count for count, _ in said["compared"]["beside"].values())
    assert 0 < said["compared"]["recorded"] < calls / 3


def test_what_numpy_says_as_well_is_not_asked_of_the_builder(said: dict[str, dict]) -> None:
    operations = said["replayed"]["operations"]
    by_numpy = {name for name, by_builder in operations if not by_builder}
    assert {"create_addptr", "create_fp_trunc", "create_splat"} <= by_numpy
    assert {"create_dot", "create_masked_load"} <= {name for name, by_builder in operations if by_builder} - by_numpy
