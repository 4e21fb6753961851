"""Blocks that values of tensors decide about are all run, and what they leave is chosen; what cannot be is refused."""

from __future__ import annotations

import textwrap

import pytest

from akg_core.design import design
from akg_core.errors import TaskError
from akg_core.task.capture import capture
from akg_core.task.source.load import load_source
from tests.design.judging import SMALL, compare, reference

CHOSEN = {
    "names": "if x.sum() > 0:\n    y, z = x + 1, x\nelse:\n    y = x - 1\n    z = y * 2\nreturn y + z",
    "results": "if x.mean() > 0.2:\n    return x, 1 * x\nelif x.mean() > -0.2:\n    return x * 2, x\nreturn -x, x + 1",
    "written": "y = x.clone()\nif x[0, 0] > 0:\n    y[0] = 2.0\n    y += 1\n    y[1].mul_(3)\nreturn y",
    "nested": (
        "y = x * 1\nif x[0, 0] > 0 and not x[1, 1] > 0:\n    y += 1\n    if x[2, 2] > 0 or x[0, 1] > 0:\n"
        "        y *= 2\n    else:\n        y[0] = 0.0\nreturn y"
    ),
    "numbers": "n, m = 0, 1.5\nfor row in x:\n    if row.sum() > 0:\n        n += 1\n        m = 0.5\nreturn x * n + m",
    "lists": (
        "ys, d = [], {'n': x[0]}\nfor row in x:\n    if row.sum() > 0:\n        ys.append(row)\n        d['n'] = row\n"
        "    else:\n        ys.append(-row)\nreturn torch.stack(ys) + d['n']"
    ),
    "left out": (
        "y = 0 * x[0]\nfor n, row in enumerate(x):\n    if row.sum() < 0:\n        y = y - 1\n        continue\n"
        "    y = y + row * n\nreturn y"
    ),
    "expression": "return (x if x[0, 0] > 0 else -x) + (1 if x[1, 1] > 0 else 2)",
    "mask": "m = x > 0.8\nif not m.any():\n    return x.sum()\nreturn x[m].mean()",
    "turns until one ends": "y = x\nfor row in (x[0], x[1], x[2]):\n    y = y * 2 + row\n    if y.mean() > 0:\n"
    "        break\n    y = y - 1\nreturn y",
    "turns until one is the last": "y, n = x, 0\nfor row in x.unbind():\n    if n == 2:\n        break\n    n += 1\n"
    "    if row.sum() > 0:\n        y = y + row\nreturn y",
    "a negation by name": "gone = not (x > 1).any()\nif gone:\n    x = x + 1\nreturn x",
    "known": "y = x\nif x.shape[0] > 3 and len(x) > 2:\n    y = x.view(-1)\nreturn y",
}
REFUSED = {
    "a list that grows": "ys = [x]\nif x.sum() > 0:\n    ys.append(x)\nreturn sum(ys)",
    "other shapes": "y = x\nif x.sum() > 0:\n    y = x.view(-1)\nreturn y * 2",
    "other results": "if x.sum() > 0:\n    return x[0]\nreturn x",
    "an attribute": "if x.sum() > 0:\n    self.k = 1\nreturn x * getattr(self, 'k', 2)",
    "random numbers": "if x.sum() > 0:\n    x = x + torch.rand(4)\nreturn x",
    "an error": "if x.sum() > 0:\n    raise ValueError\nreturn x",
    "a turn that ends a loop": "for row in x:\n    if row.sum() > 0:\n        break\nreturn row",
}


def source(body: str) -> str:
    return reference(f"    def forward(self, x):\n{textwrap.indent(body, ' ' * 8)}", "[torch.randn(4, 4)]")


@pytest.mark.parametrize("name", CHOSEN)
def test_what_blocks_leave_is_chosen(name: str) -> None:
    text = source(CHOSEN[name])
    sketch = design(capture(load_source(text, "reference", traced=True)), SMALL)[0]
    for seed in range(4):
        compare(load_source(text, "reference"), sketch, seed)


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_chosen_is_refused(name: str) -> None:
    with pytest.raises(TaskError, match=r"reference, line \d+: forward looks at the values of tensors"):
        capture(load_source(source(REFUSED[name]), "reference", traced=True))
