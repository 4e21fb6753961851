"""An attempt whose budget runs out in each phase. What the verifier finds is scripted here; who asks is real."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import dataclass
from typing import Any

import pytest

from akg_core.agents.attempt import Attempt, Desk
from akg_core.agents.budget import Budget, BudgetSpent, Limits
from akg_core.agents.client import Client
from akg_core.agents.knowledge import Knowledge
from akg_core.agents.library import Library
from akg_core.agents.settings import Price, Settings
from akg_core.agents.trace import Trace, read_trace
from akg_core.agents.verifier import Judged
from akg_core.records import PluginInfo, Target
from akg_core.task.capture import capture_file
from tests.agents.plain_c import KERNEL, REFERENCE, files, sketch
from tests.agents.server import Say, Server

SKETCHES = ("refused", "accepted")
KERNELS = ("incorrect", "incorrect", "incorrect", "correct", "correct")
PHASES = ["design", "redesign", "code", "fix", "fix", "decide", "rewrite", "faster"]
WISHES = {"Write the kernels": "code", "Repair it": "fix", "Write the code anew": "rewrite", "Make it faster": "faster"}
PRICE, SECONDS = Price(read=1e3, written=1e3), 3600  # of an answer
PLUGIN = PluginInfo(name="plain_c", dsl="C", backends=("cpu",), dtypes=("f32",), source_suffix=".c")


@dataclass(frozen=True)
class Ended:
    """An attempt that came to an end: what was asked, what had been spent after so many answers, what was said."""

    attempt: Attempt
    asked: list[str]
    spent: dict[int, Limits]
    warnings: list[str]
    said: str


class Verifier:
    """Finds what a script says, another fault each time."""

    def __init__(self) -> None:
        self._sketches, self._kernels, self._number = iter(SKETCHES), iter(KERNELS), itertools.count()

    def sketch(self, *_) -> Judged:
        return self._judged(next(self._sketches))

    def kernel(self, *_) -> Judged:
        return self._judged(next(self._kernels))

    def _judged(self, outcome: str) -> Judged:
        fault = "" if outcome in ("accepted", "correct") else f"fault {next(self._number)}"
        return Judged(outcome=outcome, feedback=fault, error=fault, seconds=1.0 if outcome == "correct" else None)


def _phase(asked: dict[str, Any]) -> str:
    """What a question is for."""
    head, said = asked["messages"][0]["content"], asked["messages"][-1]["content"]
    if head.startswith("You lead"):
        return "decide"
    if head.startswith("You design"):
        return "redesign" if "What is wrong with it:" in said else "design"
    return next(phase for wish, phase in WISHES.items() if wish in said)


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    path = tmp_path_factory.mktemp("task") / "scaled.py"
    path.write_text(REFERENCE)
    return capture_file(path)


@pytest.fixture
def go(task, tmp_path, monkeypatch):
    """Make an attempt until the budget is spent or the script is at its end: go(limits) → Ended."""
    clock = [0.0]
    monkeypatch.setattr("akg_core.agents.budget.time.monotonic", lambda: clock[0])

    def go(limits: Limits) -> Ended:
        numbers, warnings, spent = itertools.count(), list[str](), dict[int, Limits]()

        def answer(asked) -> Say:
            clock[0] += SECONDS
            head = asked["messages"][0]["content"]
            if head.startswith("You lead"):
                return Say(json.dumps({"action": "rewrite", "reason": "It is hard to read."}))
            return Say(sketch() if head.startswith("You design") else files(f"// {next(numbers)}\n{KERNEL}"))

        with Server(answer) as server:
            budget = Budget(limits, warnings.append)
            with Client(Settings(base_url=server.url, model="toy", prices={"toy": PRICE}), budget) as client:
                known = Knowledge(PLUGIN, Target(backend="cpu"), (), Library(tmp_path / "library"), 12_000)
                attempt = Attempt(0, Desk(task, client, Verifier(), known, Trace(tmp_path)))
                attempt.tell = lambda: spent.update(
                    {budget.answers: Limits(budget.dollars, budget.usage.total, budget.minutes)}
                )
                with pytest.raises((BudgetSpent, StopIteration)) as caught:
                    attempt.go()
            return Ended(attempt, [*map(_phase, server.requests)], spent, warnings, str(caught.value))

    return go


@pytest.mark.parametrize("kind", ["dollars", "tokens", "minutes"])
@pytest.mark.parametrize("answers", range(1, len(PHASES)), ids=PHASES[1:])
def test_a_budget_that_runs_out_in_each_phase(go, kind, answers, tmp_path):
    begun = kind == "minutes"  # whether one answer more begins, in the middle of which the time is up
    limit = getattr(go(Limits()).spent[answers], kind) + begun * SECONDS / 60 / 2
    ended = go(Limits(**{kind: limit}))
    assert ended.asked == PHASES[: answers + begun], "nothing more is asked"
    assert re.match(r"The budget of \$?[\d.]+( \w+)? is spent. --resume goes on", ended.said)
    assert ended.warnings and len(ended.warnings) == 1
    assert (ended.attempt.best is not None) == (answers == len(PHASES) - 1), "what is correct is kept"
    written = [event.done.outcome for event in read_trace(tmp_path) if event.done]
    assert written == [step.outcome for step in ended.attempt.steps]


def test_without_a_limit_every_phase_comes(go):
    ended = go(Limits())
    assert ended.asked[: len(PHASES)] == PHASES and not ended.warnings
