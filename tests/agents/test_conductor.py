"""What the conductor decides, and that it always comes to an end."""

from __future__ import annotations

import itertools
import random

import pytest

from akg_core.agents.conductor import Decision, Step, decide

_number = itertools.count()


def coder(outcome, action="fix", error="", digest="", **fields) -> Step:
    """A step of the coder, which wrote something new unless told otherwise."""
    digest = digest or f"d{next(_number)}"
    error = "" if outcome == "correct" else error or digest
    return Step(actor="coder", action=action, outcome=outcome, error=error, digest=digest, **fields)


def designer(outcome, action="design", error="") -> Step:
    digest = f"d{next(_number)}"
    return Step(actor="designer", action=action, outcome=outcome, digest=digest, error=error or digest)


def action(*steps: Step, **how) -> str:
    found = decide(steps, **how)
    assert found.reason.endswith(".")
    return found.action


def test_a_sketch_comes_first_unless_it_is_left_out():
    assert action() == "design"
    assert action(sketches=False) == "code"


def test_a_sketch_that_holds_becomes_code():
    assert action(designer("accepted")) == "code"


def test_a_sketch_that_fails_is_designed_again_and_then_done_without():
    steps = [designer("refused")]
    assert action(*steps) == "redesign"
    steps += [designer("incorrect", "redesign"), designer("refused", "redesign")]
    assert action(*steps) == "code"


@pytest.mark.parametrize("outcome", ["build failed", "incorrect", "crashed", "timed out", "refused"])
def test_code_that_fails_is_repaired(outcome):
    assert action(coder(outcome, "code")) == "fix"


def test_repairs_that_do_not_help_lead_to_new_code_then_to_a_new_design():
    steps = [designer("accepted"), coder("incorrect", "code")]
    taken = []
    while (found := decide(steps)).action != "give up":
        taken.append(found.action)
        if found.action in ("design", "redesign"):
            steps.append(designer("accepted", found.action))
        else:
            steps.append(coder("incorrect", found.action))
    short = [name for name, _ in itertools.groupby(taken)]
    assert short == ["fix", "rewrite", "fix", "rewrite", "fix", "redesign", "code", *["fix", "rewrite"] * 2, "fix"]


def test_the_same_source_again_is_no_repair():
    steps = [coder("incorrect", "code", digest="same"), coder("incorrect", digest="same")]
    assert action(*steps) == "rewrite"


def test_the_same_fault_three_times_is_no_progress():
    steps = [coder("build failed", name, error="no type") for name in ("code", "fix")]
    assert action(*steps) == "fix"
    assert action(*steps, coder("build failed", error="no type")) == "rewrite"


def test_answers_that_cannot_be_read_end_it():
    steps = [Step(actor="coder", action="code", outcome="unreadable", error=f"e{n}") for n in range(3)]
    assert action(*steps[:2]) == "fix"
    assert action(*steps) == "give up"


def test_cheating_is_told_once():
    assert action(coder("cheating", "code")) == "rewrite"
    assert action(coder("cheating", "code"), coder("cheating", "rewrite")) == "give up"


def test_a_correct_kernel_is_made_faster_until_that_brings_nothing():
    steps = [coder("correct", "code", seconds=1.0)]
    assert action(*steps) == "faster"
    steps += [coder("correct", "faster", seconds=0.5), coder("correct", "faster", seconds=0.499)]
    assert action(*steps) == "faster"
    assert action(*steps, coder("correct", "faster", seconds=0.7)) == "accept"


def test_near_the_roofline_nothing_is_left_to_gain():
    assert action(coder("correct", "code", seconds=1.0, roofline=0.95)) == "accept"


def test_without_a_clock_the_first_correct_kernel_is_taken():
    assert action(coder("correct", "code")) == "accept"


def test_a_faster_version_that_fails_is_repaired_then_left():
    steps = [coder("correct", "code", seconds=1.0), coder("incorrect", "faster")]
    assert action(*steps) == "fix"
    assert action(*steps, coder("crashed"), coder("incorrect")) == "accept"


def test_a_model_is_asked_where_rules_leave_several_ways():
    asked = []

    def ask(actions, steps):
        asked.append(tuple(actions))
        return Decision(action="redesign", reason="The axes are wrong.", by="model")

    steps = [designer("accepted"), coder("incorrect", "code"), coder("incorrect"), coder("incorrect")]
    found = decide(steps, ask=ask)
    assert asked == [("fix", "rewrite", "redesign")]
    assert (found.action, found.by) == ("redesign", "model")
    assert decide(steps, ask=lambda *_: None).action == "fix"


@pytest.mark.parametrize("seed", range(40))
def test_every_chain_of_events_comes_to_an_end(seed):
    draw = random.Random(seed)
    failures = ["refused", "unreadable", "build failed", "incorrect", "crashed", "timed out", "cheating"]
    steps: list[Step] = []

    def ask(actions, _):
        return Decision(action=draw.choice(actions), reason="A guess.", by="model")

    for _ in range(80):
        found = decide(steps, ask=ask)
        if found.action in ("accept", "give up"):
            break
        if found.action in ("design", "redesign"):
            steps.append(designer(draw.choice(["accepted", "refused", "incorrect"]), found.action))
        else:
            outcome = draw.choice([*failures, "correct"] if seed % 2 else failures)
            seconds = draw.uniform(1, 2) if outcome == "correct" else None
            steps.append(coder(outcome, found.action, seconds=seconds))
    assert found.action in ("accept", "give up")
    assert (found.action == "accept") == any(step.outcome == "correct" for step in steps)
