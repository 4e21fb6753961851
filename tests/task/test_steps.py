"""Loops that run as often as values say, or until values end them: one turn is captured, and does for all."""

from __future__ import annotations

import ast
import textwrap

import pytest

from akg_core.design import design
from akg_core.errors import TaskError, UnsupportedOperator
from akg_core.records import Task
from akg_core.task.capture import capture
from akg_core.task.source.load import load_source
from akg_core.task.source.steps import one_turn
from tests.design.judging import SMALL, USUAL, compare, reference

SUPPRESSION = """\
kept = x[:, 0] > -0.8
x, at = x[kept], torch.where(kept)[0]
order = torch.argsort(x[:, 1], descending=True)
x, at = x[order], at[order]
n = x.shape[0]
gone, found = torch.zeros(n, dtype=torch.bool), []
for i in range(n):
    if gone[i]:
        continue
    found.append(at[i].item())
    if len(found) >= 3:
        break
    rest = torch.arange(i + 1, n)
    if rest.numel() == 0:
        break
    rest = rest[~gone[rest]]
    near = (x[i] - x[rest]).abs().sum(1) < 2
    gone[rest[near]] = True
out, number = torch.full((5,), -1, dtype=torch.int32), len(found)
if number > 0:
    out[:number] = torch.tensor(found, dtype=torch.int32)
return out, torch.tensor(number)
"""
LOOPS = {
    "suppression": SUPPRESSION,
    "a known end": (
        "gone, found = torch.zeros(6, dtype=torch.bool), []\nfor i in range(x.shape[0]):\n    if gone[i]:\n"
        "        continue\n    found.append(i)\n    gone[i + 1 :] |= (x[i + 1 :] - x[i]).abs().sum(1) < 2\n"
        "return x[torch.tensor(found)]"
    ),
    "numbers": (
        "n, most, last = (x > 0.5).sum(), -9.0, 0\ny = x[x > 0.5]\nfor i in range(len(y)):\n"
        "    if y[i] > most:\n        most, last = y[i].item(), i\nreturn x * most + last"
    ),
    "a tensor that is another": (
        "y, state = x[x[:, 0] > 0], torch.zeros(4)\nfor i in range(y.shape[0]):\n"
        "    state = torch.tanh(state + y[i])\nreturn state"
    ),
    "a tensor that is written to": (
        "y, m = x[x[:, 0] > 0], torch.zeros(4, 4)\nfor i in range(1, len(y)):\n    if y[i, 1] > 0:\n"
        "        m[0] += y[i]\n    else:\n        m[1:3] = m[1:3] + y[i - 1]\nreturn m"
    ),
    "as often as something holds": "x = x + 0\nfor i in range((x > 0).sum()):\n    x[i % 6] *= 2\nreturn x + 1",
    "until something holds": (
        "total, turns = x[0] * 0, 0\nfor i in range(len(x)):\n    total = total + x[i]\n    turns = i + 1\n"
        "    if total.sum() > 1:\n        break\nreturn total, torch.tensor(turns)"
    ),
    "what converges": (
        "y, p = x, x\nfor _ in range(12):\n    y = y - p * 0.3\n    if y.norm() < 1:\n        break\n"
        "    p = y * 0.9\nreturn y"
    ),
    "several are appended": (
        "found = []\nfor i in range(len(x)):\n    if x[i].sum() > 0:\n        found.append(x[i, 0])\n"
        "    if x[i, 1] > 0:\n        found.append(x[i, 1])\n    if x[i, 2] > 1:\n        break\n"
        "return torch.stack([x.sum(), torch.tensor(len(found))])"
    ),
    "a block that may jump": (
        "total = x[0] * 0\nfor i in range(len(x)):\n    if x[i, 0] > 0:\n        total = total - 1\n"
        "        if x[i, 1] > 0:\n            break\n    total = total + x[i]\nreturn total"
    ),
}
REFUSED = {
    "other shapes": "y, s = x[x > 0], x[0]\nfor i in range(len(y)):\n    s = torch.cat([s, y[i : i + 1]])\nreturn s",
    "what has another name": (
        "y, m = x[x > 0], torch.zeros(4)\nv = m[1:]\nfor i in range(len(y)):\n    m[i % 4] = y[i] + v[0]\nreturn m"
    ),
    "a list that is read": (
        "y, ys = x[x > 0], []\nfor i in range(len(y)):\n    ys.append(y[i])\n    x = x + ys[-1]\nreturn x"
    ),
    "random numbers": "y = x[x > 0]\nfor i in range(len(y)):\n    x = x + torch.rand(4) * y[i]\nreturn x",
}


def captured(body: str) -> tuple[str, Task]:
    text = reference(f"    def forward(self, x):\n{textwrap.indent(body, ' ' * 8)}", "[torch.randn(6, 4)]")
    return text, capture(load_source(text, "reference", traced=True))


@pytest.mark.parametrize("name", LOOPS)
def test_one_turn_does_for_all(name: str) -> None:
    text, task = captured(LOOPS[name])
    assert any("ended" in node.op for node in task.graph.nodes)
    sketch = design(task, SMALL)[0]
    for seed in range(5):
        compare(load_source(text, "reference"), sketch, seed)


def test_what_is_no_part_of_a_turn_is_made_before_the_loop() -> None:
    _, task = captured(SUPPRESSION)
    sketch = design(task, USUAL)[0].text
    program = sketch[sketch.index("@program") :]
    assert program.count("for t in range(6)") == 1
    _, _, turns = program.partition("for t in range")
    assert "sort" not in turns
    assert len([line for line in turns.splitlines() if line.startswith(" " * 8) and " = " not in line]) <= 5


def test_as_many_turns_as_an_argument_has_rows() -> None:
    text = reference(f"    def forward(self, x):\n{textwrap.indent(SUPPRESSION, ' ' * 8)}", "[torch.randn(6, 4)]")
    task = capture(load_source(text, "reference", traced=True), dynamic=True)
    assert task.symbols
    compare(load_source(text, "reference"), design(task, SMALL)[0], 0)


@pytest.mark.parametrize("name", REFUSED)
def test_what_turns_do_to_others_is_refused(name: str) -> None:
    with pytest.raises(TaskError, match="forward looks at the values of tensors"):
        captured(REFUSED[name])


def test_a_loop_within_such_a_loop_has_no_kernels() -> None:
    turn = "    for j in range(len(y)):\n        s = s + y[i] * y[j]\n"
    body = f"y, s = x[x > 0], x[0] * 0\nfor i in range(len(y)):\n{turn}return s"
    _, task = captured(body)
    with pytest.raises(UnsupportedOperator, match="no loop within a loop"):
        design(task, SMALL)


def test_a_turn_hands_on_what_it_reads_before_it_assigns_it() -> None:
    (function,) = ast.parse(
        "def f(x, n, s):\n    for i in range(n):\n        t = x[i] + s\n        if t > 0:\n            s = t\n"
        "            break\n        u = t\n    return u\n"
    ).body
    assert isinstance(function, ast.FunctionDef) and isinstance(function.body[0], ast.For)
    turn = one_turn(function.body[0], function, "stop")
    assert turn is not None
    assert (turn.names, turn.needed, turn.stop) == (("s", "stop", "u"), ("s",), "stop")
