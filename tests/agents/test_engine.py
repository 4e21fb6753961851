"""Whole runs with a scripted model: what it says is compiled, run and judged for real."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from akg_core.agents.budget import Limits
from akg_core.agents.library import Library
from akg_core.agents.records import Tally
from akg_core.agents.stopwatch import Spent
from akg_core.agents.trace import read_trace
from tests.agents.plain_c import CHEAT, KERNEL, MODEL, SKETCH, files, sketch
from tests.agents.server import Refuse, Say, Server

FASTER = files(KERNEL.replace("long i = 0", "long  i = 0"))
WRONG = files(KERNEL.replace("2.0f", "3.0f"))
BROKEN = files(KERNEL.replace("long count", "long counts"))


class Model:
    """Says the next designer's or coder's answer, by who is asked; the last one for ever."""

    def __init__(self, *codes, sketches=(sketch(),)) -> None:
        self.answers = {"design": list(sketches), "write": list(codes)}
        self.prompts: list[str] = []

    def __call__(self, asked):
        self.prompts.append(asked["messages"][-1]["content"])
        turns = self.answers[asked["messages"][0]["content"].split()[1]]
        turn = turns.pop(0) if len(turns) > 1 else turns[0]
        return turn if isinstance(turn, (Say, Refuse)) else Say(turn)


def tally(result) -> Tally:
    return Tally(**json.loads((Path(result.folder) / "agents.json").read_text()))


def actions(result) -> list[str]:
    return [event.decided.action for event in read_trace(Path(result.folder)) if event.decided]


def test_right_at_once_without_an_emitter(work):
    model = Model(files())
    with Server(model) as server:
        result = work(server)
    assert result.exit_code == 0, result.error
    assert result.verdict.correct and result.timing.status == "ok"
    assert actions(result)[:3] == ["design", "code", "faster"]
    assert tally(result).correct == 1
    assert "load(a[m, n]) * 2.0" in model.prompts[1]
    spent = sum((event.spent for event in read_trace_of(result) if event.spent), Spent())
    assert spent.compile and spent.judge and spent.rest < 5, "the framework itself takes little"


@pytest.mark.parametrize(
    ("first", "told"),
    [
        (BROKEN, ["`for (long i = 0; i < count; i++)", "Declare what is used."]),
        (WRONG, ["elements are wrong (", "The largest errors", "It is wrong in every case."]),
        (files(KERNEL.replace("i < count", "i < count - 5")), ["at the end: a partial tile"]),
        (files(model=CHEAT), ["rewrite", "does not compute by itself"]),
        (Say(files(), ending="length"), ["cut off at its limit"]),
        (Say("", refusal="I would rather not."), ["It is an ordinary programming task"]),
        ("First one should think about caches.", ["holds no fenced block", "```c model_new.py"]),
        (files(model=MODEL.replace("class ModelNew", "class Modell")), ["ModelNew"]),
        (files(KERNEL.replace("y[i] =", "y[i == 7 ? 1L << 40 : i] =")), ["crashed", "Check every index."]),
    ],
    ids=["compile", "numeric", "tail", "cheat", "cut off", "refusal", "prose", "no ModelNew", "crash"],
)
def test_a_fault_is_told_and_mended(work, first, told):
    model = Model(first, files())
    with Server(model) as server:
        result = work(server, without=frozenset({"sketch"}))
    assert result.exit_code == 0, result.error
    said = model.prompts[1] + " ".join(actions(result)) + str([*map(str, read_trace_of(result))])
    assert all(words in said for words in told), said


def read_trace_of(result):
    return read_trace(Path(result.folder))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (SKETCH.replace("load(b[m, n])", "load(c[m, n])"), "SK"),
        (SKETCH.replace("* 2.0", "* 3.0"), "at small sizes, is off by"),
        (SKETCH.replace("grid(M, 4):", "grid(M, 4)"), "SK"),
    ],
    ids=["unknown name", "wrong", "syntax"],
)
def test_a_sketch_is_put_right_before_any_code(work, text, told):
    model = Model(files(), sketches=(sketch(text), sketch()))
    with Server(model) as server:
        result = work(server)
    assert result.exit_code == 0, result.error
    assert actions(result)[:3] == ["design", "redesign", "code"]
    assert "What is wrong with it:" in model.prompts[1] and told in model.prompts[1]


def test_the_same_wrong_answer_for_ever_comes_to_an_end(work):
    model = Model(WRONG)
    with Server(model) as server:
        result = work(server)
    assert result.exit_code == 1
    assert "No attempt ended with a correct kernel" in result.error.message
    assert len(model.prompts) < 20


def test_attempts_run_side_by_side_and_the_best_counts(work):
    with Server(Model(WRONG, files(), "prose", files())) as server:
        result = work(server, attempts=3, without=frozenset({"sketch"}))
    assert result.exit_code == 0, result.error
    assert tally(result).attempts == 3
    assert tally(result).correct >= 1


def test_a_budget_ends_a_run_and_keeps_what_was_found(work):
    with Server(Model(files(), FASTER)) as server:
        result = work(server, limits=Limits(tokens=1500), without=frozenset({"sketch"}))
    assert result.exit_code == 0, result.error
    assert "budget of 1500 tokens is spent" in tally(result).ends[0]
    assert any(stage.name == "budget" for stage in result.stages)


def test_a_budget_that_is_spent_before_a_kernel_is_right(work):
    with Server(Model(WRONG)) as server:
        result = work(server, limits=Limits(tokens=1000), without=frozenset({"sketch"}))
    assert result.exit_code == 1
    assert "budget of 1000 tokens is spent" in result.error.message


def test_an_endpoint_that_stays_down_ends_a_run_with_a_sentence(work):
    with Server(Refuse(503, "maintenance")) as server:
        result = work(server)
    assert result.exit_code == 1
    assert "maintenance" in result.error.message


def test_a_run_goes_on_where_it_was_ended(work, tmp_path):
    with Server(Model(WRONG, Refuse(400, "stopped here"))) as server:
        ended = work(server, tmp_path / "run")
        assert ended.exit_code == 2 and "stopped here" in ended.error.message
    model = Model(files())
    with Server(model) as server:
        result = work(server, tmp_path / "run")
    assert result.exit_code == 0, result.error
    assert actions(result)[:3] == ["design", "code", "fix"]
    assert "The largest errors" in model.prompts[0], "what was asked before is not asked again"


def test_a_run_is_repeated_exactly_without_an_endpoint(work, tmp_path):
    with Server(Model(WRONG, files(), FASTER)) as server:
        first = work(server, tmp_path / "first")
    with Server(Refuse(500)) as server:
        again = work(server, tmp_path / "again", replay=tmp_path / "first")
        assert not server.requests
    assert first.exit_code == again.exit_code == 0, again.error
    assert actions(first) == actions(again)
    assert tally(again).tokens == 0


def test_what_was_verified_is_an_example_for_the_next_run_unless_it_is_left_out(work, tmp_path):
    with Server(Model(files())) as server:
        work(server, tmp_path / "first")
        model = Model(files())
        server.turns = [model]
        work(server, tmp_path / "second", without=frozenset({"sketch"}))
        assert "Verified kernels of tasks like this one" in model.prompts[0]
        model = Model(files())
        server.turns = [model]
        work(server, tmp_path / "third", without=frozenset({"sketch"}), memory=False)
        assert "Verified kernels" not in model.prompts[0]
    assert Library().search("plain_c", "bounds")


@pytest.mark.parametrize(("part", "words"), [("docs", "Nothing checks an index"), ("examples", "A loop over all")])
def test_a_part_can_be_left_out(work, part, words):
    with Server(Model(files())) as server:
        work(server, without=frozenset({"sketch", part}))
        assert words not in server.requests[0]["messages"][0]["content"]
    with Server(Model(files())) as server:
        work(server, without=frozenset({"sketch"}))
        assert words in server.requests[0]["messages"][0]["content"]
