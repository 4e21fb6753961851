from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from akg_core.stages import stages
from tests.cli.conftest import PLUGIN, needs_compiler
from tests.cli.test_start import COMMAND

pytestmark = needs_compiler


@pytest.fixture(scope="module")
def earlier(tmp_path_factory):
    """Where the one run of this file that is looked at from several sides keeps its folder and how it ended."""
    return {"folder": tmp_path_factory.mktemp("earlier") / "out"}


@pytest.fixture
def done(akg, reference, earlier, tmp_path):
    """A finished run of the main job, in `out`."""
    if "ended" not in earlier:
        earlier["ended"] = akg(
            "run", "--plugin", PLUGIN, "--no-baseline", "--out", earlier["folder"], reference, "--json"
        )
    (tmp_path / "out").symlink_to(earlier["folder"])
    return earlier["ended"]


def test_the_main_job(done, tmp_path):
    assert done.code == 0, done.text
    result = json.loads(done.out)
    assert [stage["name"] for stage in result["stages"]] == ["capture", "design", "emit", "compile", "verify", "time"]
    assert {stage["status"] for stage in result["stages"]} == {"done"}
    assert result["verdict"]["status"] == "correct" and result["timing"]["status"] == "ok"
    assert {m["name"] for m in result["timing"]["measurements"]} >= {"kernel", "eager"}
    names = ("task.json", "reference.py", "sketch.py", "schedule.json", "build.log", "verdict.json", "timing.json")
    for name in (*names, "result.json", "kernel/model_new.py", "kernel/reference.py"):
        assert (tmp_path / "out" / name).stat().st_size, name
    assert json.loads((tmp_path / "out" / "result.json").read_text()) == result


def test_the_kernel_runs_in_a_python_without_akg(done, tmp_path):
    script = """
import sys
sys.path.insert(0, "out/kernel")
import torch
from model_new import ModelNew
a, b = torch.randn(1000, 37), torch.randn(1000, 37)
assert torch.equal(ModelNew()(a, b), a + b)
assert not [name for name in sys.modules if name.startswith("akg_core")]
"""
    subprocess.run([sys.executable, "-c", script], check=True, cwd=tmp_path)


def test_the_report_for_a_person(akg, reference):
    ended = akg("run", "--plugin", PLUGIN, "--no-baseline", reference)
    assert ended.code == 0
    for word in (
        "capture",
        "compile",
        "verdict correct",
        "nearest to its limit",
        "median",
        "95 % interval",
        "eager",
        "runs/add-",
    ):
        assert word in ended.out, ended.out


UPDATES = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, rate, kind=torch.float32, more=None):
        super().__init__()
        self.rate, self.kind = rate, kind

    def forward(self, x, held, n, scale=2.0):
        held["mean"].mul_(self.rate).add_(x)
        return x.to(self.kind) * n, [each * scale for each in held["others"]][0]


def get_inputs():
    return [torch.randn(64, 32), {"mean": torch.randn(64, 32), "others": (torch.randn(5), torch.randn(7))}, 3]


def get_init_inputs():
    return [0.9, torch.float32, None]
"""


def test_arguments_of_all_kinds_some_of_them_updated(akg, tmp_path):
    (tmp_path / "updates.py").write_text(UPDATES)
    ended = akg(
        "run", "--plugin", PLUGIN, "--no-baseline", "--out", tmp_path / "out", tmp_path / "updates.py", "--json"
    )
    assert ended.code == 0, ended.text
    result = json.loads(ended.out)
    assert result["verdict"]["status"] == "correct" and result["timing"]["status"] == "ok"
    assert "forward updates held['mean']." in result["notes"]


def test_a_kernel_made_earlier_is_verified_and_profiled(done, akg, reference):
    ended = akg("verify", "--plugin", PLUGIN, reference, "out/kernel")
    assert ended.code == 0 and "verdict correct" in ended.out
    ended = akg("profile", "--plugin", PLUGIN, "--no-baseline", reference, "out/kernel")
    assert ended.code == 0 and "unverified" in ended.out and "median" in ended.out


def test_a_kernel_that_does_not_compile(akg, reference, monkeypatch, tmp_path):
    """The compiler's message stands on the generated line, beside the sketch's."""
    emit = stages.emit

    def spoilt(*arguments):
        source, findings = emit(*arguments)
        name = next(iter(source.line_map)).rpartition(":")[0]
        last = max(int(place.rpartition(":")[2]) for place in source.line_map)
        lines = source.files[name].splitlines()
        lines[last - 1] = "there_is_no_such_function();"
        return source.model_copy(update={"files": {**source.files, name: "\n".join(lines)}}), findings

    monkeypatch.setattr(stages, "emit", spoilt)
    ended = akg("run", "--plugin", PLUGIN, "--out", "out", reference)
    assert ended.code == 1 and "there_is_no_such_function" in ended.out, ended.out
    assert "of the sketch" in ended.out and "build.log" in ended.out
    assert "there_is_no_such_function" in (tmp_path / "out" / "build.log").read_text()
    assert json.loads((tmp_path / "out" / "result.json").read_text())["error"]["type"] == "KernelFailed"


def test_an_interrupt_ends_everything_and_keeps_what_was_done(reference, tmp_path):
    reference.write_text(reference.read_text() + "\nimport time\ntime.sleep(600)\n")
    command = [COMMAND, "run", "--plugin", PLUGIN, "--out", tmp_path / "out", reference]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    until = time.monotonic() + 120
    while not (tmp_path / "out").exists() and time.monotonic() < until:
        time.sleep(0.1)
    time.sleep(2)  # in which the reference begins to sleep
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=120)  # less than the reference sleeps
    assert process.returncode == 130
    assert "Traceback" not in out + err and "KeyboardInterrupt" not in out + err
    assert f"what was done until then is in {tmp_path / 'out'}" in err, err
    assert json.loads((tmp_path / "out" / "result.json").read_text())["error"]["type"] == "Interrupted"
