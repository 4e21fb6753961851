"""Each weakness of a task is named, and a sound task has none."""

from __future__ import annotations

import pytest
import torch

from akg_core.task.examination import Examination
from akg_core.task.examine import examine, examine_job, same
from tests.task.replay import reference_text

SOUND = reference_text("return torch.relu(self.fc(x))", "self.fc = nn.Linear(6, 6)")

WEAK = {
    "TK101": reference_text("return torch.full((4, 6), 0.25) + 0 * x"),
    "TK102": reference_text("return torch.softmax(x, -1)", inputs="torch.rand(2, 100000)"),
    "TK103": reference_text("return torch.arange(6.0) + 1e-6 * x"),
    "TK104": reference_text("return x + 1e-6 * y", inputs="torch.rand(4), torch.rand(4)", arguments="x, y"),
    "TK105": reference_text("return x + 1e-9 * self.fc(x)", "self.fc = nn.Linear(6, 6)"),
    "TK106": reference_text(
        "return self.a(x) + 1e-9 * self.b(x)", "self.a = nn.Linear(6, 6)\nself.b = nn.Linear(6, 6)"
    ),
    "TK107": reference_text("return self.n(x)", "self.n = nn.LayerNorm(6)"),
    "TK108": reference_text("return x + torch.poisson(torch.ones(6))"),
    "TK109": reference_text("return self.n(x)", "self.n = nn.BatchNorm1d(6)"),
    "TK110": reference_text("return x.sum(1, keepdim=True).expand(4, 6)"),
    "TK111": reference_text("return torch.log(x - 100)"),
    "TK112": reference_text("return 0.002 * x"),
    "TK113": reference_text("return x + 1", inputs="torch.arange(6.0)"),
    "TK114": reference_text("self.n.add_(1)\nreturn x + self.n", "self.register_buffer('n', torch.zeros(1))"),
}


@pytest.mark.parametrize("code", WEAK)
def test_a_weakness_is_named(code):
    result = examine(WEAK[code], "weak")
    assert code in [f.code for f in result.findings]
    assert all("\n" not in f.message and f.message.endswith(".") for f in result.findings)


@pytest.mark.parametrize("source", [SOUND, reference_text("return x.argmax(1)", inputs="torch.randn(40, 6)")])
def test_a_sound_task_has_no_findings(source):
    result = examine(source, "sound")
    assert result.findings == ()


def test_what_is_written_to_arguments_is_an_output():
    step = reference_text(
        "y.mul_(0.9).add_(x)\nz.sub_(y)\nreturn w + 1",
        inputs="torch.randn(4, 5), torch.randn(4, 5), torch.randn(4, 5), torch.tensor(3.0)",
        arguments="x, y, z, w",
    )
    assert [f.code for f in examine(step, "step").findings] == []
    idle = step.replace("z.sub_(y)", "z.sub_(1e-9 * y)").replace("y.mul_(0.9).add_(x)", "y.mul_(0.9)")
    assert [f.message[:14] for f in examine(idle, "idle").findings if f.code == "TK104"] == ["The argument x"]


def test_an_output_without_elements_weakens_nothing():
    found = examine(reference_text("return x * 2, x[:0, 0], (x * 2).long()[:0]"), "empty").findings
    assert found == ()


def test_a_stateful_task_is_examined_from_one_state():
    codes = [f.code for f in examine(WEAK["TK114"], "stateful").findings]
    assert codes == ["TK114"], "not random, and every other probe starts from the module as it was made"
    drawing = reference_text(
        "self.n.add_(1)\nreturn x + torch.poisson(torch.ones(6)) + self.n", "self.register_buffer('n', torch.zeros(1))"
    )
    assert [f.code for f in examine(drawing, "random").findings] == ["TK108"]


def test_eval_mode_is_examined_when_asked():
    dropout = reference_text("return self.d(x)", "self.d = nn.Dropout(0.5)")
    assert [f.code for f in examine(dropout, "d").findings] == ["TK109"], "random numbers of a known seed hide nothing"
    assert [f.code for f in examine(dropout, "d", eval=True).findings] == ["TK109"]


def test_what_the_budget_left_out_is_said():
    result = examine(SOUND, "sound", budget=0.0)
    assert result.findings == ()
    assert any("Not examined within 0 s" in note and "weights" in note for note in result.notes)


def test_a_large_task_is_examined_smaller_and_it_is_said():
    source = "batch = 1 << 0\n".replace("1 << 0", "65536 * 16") + reference_text(
        "return torch.tanh(x)", inputs="torch.randn(batch, 512)"
    )
    result = examine(source, "large")
    assert result.findings == ()
    assert any("batch 1048576 -> " in note for note in result.notes)


def test_a_large_task_whose_values_ask_for_its_sizes_is_examined_as_it_is():
    source = reference_text(
        "return self.bags(x, y)",
        "self.bags = nn.EmbeddingBag(100000, 64, mode='sum')",
        inputs="torch.randint(0, 100000, (8192 * 20,)), torch.randint(0, 40, (8192,)).cumsum(0).clamp(max=8192 * 20)",
        arguments="x, y",
    ).replace("clamp", "sub(39).clamp_(min=0).clamp")
    result = examine(source, "bags")
    assert result.findings == () and not any("smaller" in note for note in result.notes)


def test_the_worker_job_takes_a_path_or_a_source(tmp_path):
    path = tmp_path / "weak.py"
    path.write_text(WEAK["TK102"])
    by_path = Examination.model_validate(examine_job({"path": str(path)}))
    by_source = Examination.model_validate(examine_job({"source": WEAK["TK102"], "name": "weak"}))
    assert by_path.findings == by_source.findings != ()
    assert by_path.name == "weak"


def test_sameness_is_kernelbenchs():
    x = torch.ones(3)
    assert same([x + 1e-4], [x]) and not same([x + 3e-4], [x])
    assert same([(x + 0.015).half()], [x.half()])
    assert not same([torch.tensor([1, 2])], [torch.tensor([1, 3])])
    assert not same([x], [x[:2]])
