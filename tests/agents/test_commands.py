"""The commands around agents: run, trace and migrate, against a scripted model."""

from __future__ import annotations

import json
import re

import pytest

from akg_core.storage import sole_use
from tests.agents.plain_c import files
from tests.agents.server import Say, Server


def test_a_run_and_its_trace(akg, tmp_path):
    options = ("--plugin", "plain_c", "--engine", "llm", "--without", "sketch", "--model", "toy", "--no-baseline")
    with Server(Say(files())) as server:
        code, said = akg("run", *options, "--base-url", server.url, "--out", "there", "scaled.py")
    assert code == 0, said
    assert "estimate" in said and "attempt 1" in said and "correct in all" in said
    code, said = akg("trace", "there")
    assert code == 0 and "conductor" in said and "correct" in said
    assert re.search(r"model [\d.]+ m?s, compiler [\d.]+ m?s, judge [\d.]+ m?s, rest [\d.]+ m?s", said), said
    assert akg("trace", "there", "--html")[0] == 0
    page = (tmp_path / "there" / "trace.html").read_text()
    assert "You write kernels in C" in page and "void scaled" in page and ", rest " in page
    code, said = akg("trace", "there", "--json")
    assert json.loads(said)[0]["decided"]["action"] == "code"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "--engine", "magic", "scaled.py"), "no engine 'magic'"),
        (("run", "--model", "m", "scaled.py"), "--model is for models"),
        (("run", "--engine", "llm", "scaled.py"), "No model is named"),
        (("run", "--engine", "llm", "--model", "m", "--without", "luck", "scaled.py"), "no part 'luck'"),
        (("run", "--engine", "llm", "--model", "m", "--resume", "nowhere", "scaled.py"), "nowhere holds no answers"),
        (("trace", "nowhere"), "nowhere holds no trace"),
    ],
)
def test_what_cannot_be_asked_is_said(akg, words, said):
    code, text = akg(*words)
    assert code == 2
    assert said in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--resume", "built"), "built holds no answers"),
        (("--resume", "there", "--replay", "there"), "--resume and --replay exclude each other"),
        (("--resume", "there", "--out", "new"), "--resume and --out name two folders"),
        (("--resume", "there"), "Another akg-core works in there"),
        (("--out", "scaled.py/x"), "Not a directory"),
        (("--budget-usd", "nan"), "A budget of nan is none"),
        (("--budget-minutes", "-1"), "A budget of -1 is none"),
        (("--base-url", "localhost:8000"), "no address that begins with http://"),
    ],
)
def test_a_run_that_cannot_be_is_refused_before_it_begins(akg, tmp_path, words, said):
    (tmp_path / "built").mkdir()
    (tmp_path / "there" / "answers").mkdir(parents=True)
    (tmp_path / "there" / "verdict.json").write_text("{}")
    with sole_use(tmp_path / "there"):
        code, text = akg("run", "--engine", "llm", "--plugin", "plain_c", "--model", "m", *words, "scaled.py")
    assert code == 2
    assert said in text
    assert (tmp_path / "there" / "verdict.json").exists()


def test_an_endpoint_that_is_not_there_is_said_once(akg, monkeypatch):
    monkeypatch.setenv("AKG_LLM_RETRIES", "0")
    code, text = akg(
        *("run", "--engine", "llm", "--plugin", "plain_c", "--model", "m", "--no-baseline", "--attempts", "2"),
        *("--base-url", "http://127.0.0.1:9/v1", "scaled.py"),
    )
    assert code == 2, text
    assert text.count("cannot be reached") == 1 and text.count("--base-url") == 1, text


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{\n{}\n", "Line 1 of there/trace.jsonl is damaged"),
        ('{"at": 1', "there was ended before anything happened"),
        ("\u00e9", "there holds no trace"),
    ],
)
def test_a_trace_that_cannot_be_read(akg, tmp_path, content, said):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "trace.jsonl").write_text(content, encoding="latin-1")
    code, text = akg("trace", "there")
    assert code == 2
    assert said in text


def test_a_kernel_is_carried_over(akg, tmp_path):
    (tmp_path / "kernel").mkdir()
    (tmp_path / "kernel" / "kernel.py").write_text("the original")
    (tmp_path / "kernel" / "kernel.so").write_bytes(b"\xff\xfe")
    with Server(Say(files())) as server:
        options = ("--from", "cpp_cpu", "--to", "plain_c", "--reference", "scaled.py", "--model", "toy")
        code, said = akg("migrate", *options, "--base-url", server.url, "--no-baseline", "kernel")
        assert code == 0, said
        assert "the original" in server.requests[0]["messages"][1]["content"]
    code, said = akg("migrate", *options, "--base-url", server.url, "nothing")
    assert code == 2 and "cannot be read" in said


TRITON = """
import triton
import triton.language as tl


@triton.jit
def scaled(a, b, y, N, BLOCK: tl.constexpr):
    n = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = n < N
    tl.store(y + n, tl.load(a + n, mask=inside) * 2.0 + tl.load(b + n, mask=inside), mask=inside)
"""
LAUNCH = """
import torch
import triton
from kernel import scaled
from reference import Model


class ModelNew(Model):
    def forward(self, a, b):
        y = torch.empty_like(a)
        scaled[(triton.cdiv(a.numel(), 1024),)](a, b, y, a.numel(), BLOCK=1024)
        return y
"""


def test_a_kernel_for_a_gpu_is_mended_by_simulation(akg):
    def said(launch: str) -> Say:
        return Say(f"```python kernel.py\n{TRITON}```\n\n```python model_new.py\n{launch}```\n")

    options = ("--plugin", "triton_cuda", "--engine", "llm", "--without", "sketch", "--model", "toy", "--no-memory")
    with Server(said(LAUNCH.replace("1024", "1000")), said(LAUNCH)) as server:
        code, shown = akg("run", *options, "--base-url", server.url, "scaled.py")
        told = server.requests[1]["messages"][1]["content"]
    assert code == 0 and "simulat" in shown, shown
    assert re.search(r"scaled +on its first call: registers, spills and occupancy are not known before", shown), shown
    assert "arange's range must be a power of 2" in told and "take triton.next_power_of_2" in told
    assert "H200" in server.requests[0]["messages"][0]["content"]
