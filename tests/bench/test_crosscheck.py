"""The cross-check with another judge, here one that only looks whether outputs are equal."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from benchmarks import crosscheck

REFERENCE = """
    import torch


    class Model(torch.nn.Module):
        def forward(self, x):
            return x + 1


    def get_inputs():
        return [torch.rand(8)]


    def get_init_inputs():
        return []
"""
EVALUATOR = """
    from types import SimpleNamespace


    def eval_kernel_against_ref(original_model_src, custom_model_src, num_correct_trials, backend):
        theirs, ours = {}, {"__name__": "kernel"}
        exec(original_model_src, theirs)
        exec(custom_model_src, ours)
        inputs = theirs["get_inputs"]()
        equal = bool((theirs["Model"]()(*inputs) == ours["ModelNew"]()(*inputs)).all())
        return SimpleNamespace(compiled=True, correctness=equal, metadata={} if equal else {"error": "unequal"})
"""


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.path", [*sys.path])
    for name in ("kernelbench", "kernelbench.eval"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    package = tmp_path / "checkout" / "src" / "kernelbench"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "eval.py").write_text(dedent(EVALUATOR))
    return tmp_path / "checkout"


def run(folder: Path, added: int, status: str = "correct") -> Path:
    """A run's folder with a kernel that adds a number."""
    (folder / "kernel").mkdir(parents=True)
    (folder / "reference.py").write_text(dedent(REFERENCE))
    (folder / "verdict.json").write_text(json.dumps({"status": status}))
    body = "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n"
    (folder / "kernel" / "model_new.py").write_text(f"{body}        return x + {added}\n")
    return folder


def check(checkout: Path, *runs: Path) -> tuple[int, list[dict[str, str]]]:
    out = checkout / "out.json"
    asked = ["--kernelbench", str(checkout), "--device", "cpu", "--out", str(out), *map(str, runs)]
    return crosscheck.main(asked), json.loads(out.read_text()) if out.exists() else []


def test_judges_that_agree(checkout, tmp_path, capsys):
    code, rows = check(checkout, run(tmp_path / "right", 1), run(tmp_path / "wrong", 2, "incorrect"))
    assert code == 0
    assert [row["theirs"] for row in rows] == ["correct", "incorrect"]
    assert "2 of 2 verdicts agree" in capsys.readouterr().out


def test_judges_that_disagree(checkout, tmp_path, capsys):
    code, rows = check(checkout, run(tmp_path / "wrong", 2))
    assert code == 1
    assert rows[0]["said"] == {"error": "unequal"}
    assert "DISAGREE wrong" in capsys.readouterr().out


def test_a_verdict_beyond_their_tolerance_is_expected(checkout, tmp_path, capsys):
    """An answer may be right and as far from eager's as eager's is from the truth."""
    far = run(tmp_path / "far", 2)
    output = {"name": "output", "ok": True, "kernelbench": False}
    case = {"name": "drawn", "kind": "drawn", "ok": True, "outputs": [output]}
    (far / "verdict.json").write_text(json.dumps({"status": "correct", "cases": [case]}))
    code, rows = check(checkout, far)
    assert code == 0 and rows[0]["close"] is False
    assert "further from eager than KernelBench allows, KernelBench's incorrect" in capsys.readouterr().out


def test_a_reference_that_they_refuse_is_none_that_they_judge(checkout, tmp_path, capsys):
    refused, right = run(tmp_path / "refused", 1), run(tmp_path / "right", 1)
    text = (refused / "reference.py").read_text().replace("x + 1", "torch.rand_like(x)")
    (refused / "reference.py").write_text(text)
    code, rows = check(checkout, refused, right)
    assert code == 0 and [row["theirs"] for row in rows] == ["refuses the reference itself", "correct"]
    assert "1 of 1 verdicts agree; 1 references are refused themselves" in capsys.readouterr().out
    assert check(checkout, refused)[0] == 1, "nothing was compared"


def test_a_folder_without_a_verdict_is_no_agreement(checkout, tmp_path):
    assert check(checkout, tmp_path)[0] == 1
