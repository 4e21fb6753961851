"""Many tasks by agents: the benchmark's command, and the ablation that is made of it."""

from __future__ import annotations

import json
import sys

import pytest

from akg_core import cli
from akg_core.agents.budget import Budget, BudgetSpent, Limits
from akg_core.agents.records import Usage
from akg_core.bench.results import passes
from benchmarks import ablation
from tests.agents.plain_c import REFERENCE, files, sketch
from tests.agents.server import Refuse, Say, Server

COMMAND = ("bench", "tasks", "--plugin", "plain_c", "--engine", "llm", "--model", "toy", "--without", "sketch")


@pytest.fixture
def tasks(tmp_path):
    """Two tasks, of which the second is the first with another factor."""
    folder = tmp_path / "tasks"
    folder.mkdir()
    (folder / "doubled.py").write_text(REFERENCE)
    (folder / "tripled.py").write_text(REFERENCE.replace("a * 2", "a * 3"))
    return folder


def doubling(asked):
    """A model that knows one kernel."""
    return Say(files())


def test_many_tasks_share_a_budget_and_go_on_where_it_ended(akg, tasks, tmp_path):
    out = tmp_path / "out.json"
    words = (*COMMAND, "--baseline", "eager", "--seconds", "0.2", "--out", out)
    with Server(doubling) as server:
        code, said = akg(*words, "--base-url", server.url, "--budget-tokens", 700)
        asked = len(server.requests)
        assert code == 1 and "1 tasks are left" in said, said
        estimate, warning, row = (said.index(text) for text in ("for all 2.", "budget of 700 tokens is spent", "1/2 "))
        assert said.startswith("An estimate: about ") and estimate < warning < row
        assert said.count("estimate") == said.count("of 700 tokens") == 1
        (first,) = json.loads(out.read_text())["rows"]
        assert first["status"] == "correct" and first["speedup"]["eager"][0] > 0
        code, said = akg(*words, "--base-url", server.url, "--budget-tokens", 100_000)
        assert said.count("An estimate: ") == 1 and "for all" not in said and "is spent" not in said
        assert all("a * 3" in each["messages"][1]["content"] for each in server.requests[asked:])
    document = json.loads(out.read_text())
    assert code == 1 and document["finished"] and document["rows"][0] == first
    second = document["rows"][1]
    assert second["status"] == "failed" and "No attempt" in second["reason"]
    assert second["tally"]["correct"] == 0 and second["tally"]["steps"] > 2
    table = next(line for line in said.splitlines() if "pass@1" in line)
    assert "pass@k" in table and "dollars" in table
    assert "50%" in said


def test_an_endpoint_that_is_down_ends_a_benchmark_at_once(akg, tasks):
    with Server(Refuse(401, "who are you?")) as server:
        code, said = akg(*COMMAND, "--base-url", server.url)
        assert code == 2 and "wants a key" in said and len(server.requests) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("bench", "tasks", "--plugin", "plain_c", "--attempts", 2), "--attempts is for models"),
        ((*COMMAND, "--tune", 3), "timed beside eager"),
        ((*COMMAND, "--baseline", "compile"), "timed beside eager"),
    ],
)
def test_what_agents_cannot_do_is_said(akg, tasks, words, said):
    code, text = akg(*words)
    assert code == 2 and said in text


def test_tasks_spend_a_shared_budget_together():
    said = list[str]()
    limits = Limits(dollars=1.0)
    shared = Budget(limits, said.append)
    first, second = Budget(limits, shared=shared), Budget(limits, shared=shared)
    first.add(Usage(read=100), 0.5)
    second.require()
    assert not said
    second.add(Usage(read=300), 0.6)
    assert said == ["110% of the budget of $1.00 is spent."]
    assert (first.dollars, second.usage.total, shared.usage.total) == (0.5, 300, 400)
    with pytest.raises(BudgetSpent):
        first.require()


def test_an_ablation_tabulates_each_setting(akg, tasks, monkeypatch, tmp_path, capsys):
    def reader(asked):
        """A model that knows only what the documents say."""
        told = asked["messages"][0]["content"]
        if told.startswith("You design"):
            return Say(sketch())
        return Say(files() if "Nothing checks an index" in told else "What is C?")

    words = ["ablation", "--plugin", "plain_c", "--model", "toy", "--without", "docs", "tasks/doubled.py"]
    with Server(reader) as server:
        monkeypatch.setattr(sys, "argv", [*words, "--base-url", server.url])
        with pytest.raises(SystemExit) as ended:
            cli.main(ablation.app)
    said = capsys.readouterr().out
    assert not ended.value.code, said
    rows = [line.split()[-6:-3] for line in said.splitlines() if "%" in line]
    assert rows == [["1", "100%", "100%"], ["1", "0%", "0%"]], said
    kept = json.loads((tmp_path / "runs/ablation/without-docs/results.json").read_text())
    assert kept["engine"]["without"] == ["docs"] and kept["finished"]


def test_pass_at_k():
    assert passes(4, 0, 1) == 0
    assert passes(4, 1, 1) == 0.25
    assert passes(4, 1, 4) == 1
    assert passes(4, 2, 2) == pytest.approx(5 / 6)
