"""Tensors that a kernel fills and then updates by atomics: each program its own part, all of it, and before."""

from __future__ import annotations

import pytest
import torch

from akg_core.sketch import ast
from akg_core.sketch.check import check
from akg_core.sketch.interpret import interpret
from akg_core.sketch.parse import parse

STORE = "n = whole(N)\n        store(y[m, n], load(x[m, n]))"
TILES = "for n in tiles(N, 8):\n            store(y[m, n], load(x[m, n]))"
ADD = "k = whole(K)\n        atomic_add(y[m, load(i[m, k])], load(s[m, k]))"


def sketch(body: str, fill: str = 'empty("f32", M, N)') -> ast.SketchFile:
    given = ['x: In["f32", "M", "N"]', 'i: In["i64", "M", "K"]', 's: In["f32", "M", "K"]']
    return parse(f"""
@kernel
def f({", ".join(given)}, y: Out["f32", "M", "N"], BN: Tune[4, 8] = 8):
    {body}

@program
def p({", ".join(given)}):
    y = {fill}
    f(x, i, s, y)
    return y
""")


FILLED = {
    "whole": f"for m in grid(M, 1):\n        {STORE}\n        {ADD}",
    "tiles": f"for m in grid(M, 4):\n        {TILES}\n        {ADD}",
    "tiles of a free size": f"for m in grid(M, 4):\n        {TILES}\n        {ADD}".replace("(N, 8)", "(N, BN)"),
    "several updates": f"for m in grid(M, 1):\n        {STORE}\n        {ADD}\n        atomic_max(y[m, 0], 1.0)",
    "side by side": f"for m in grid(M, 1):\n        {STORE}\n        {ADD}".replace("whole(N)", "whole(N - 1)").replace(
        "\n        k", "\n        store(y[m, N - 1], load(x[m, N - 1]))\n        k"
    ),
    "under a condition": f"for m in grid(M, 1):\n        {STORE}\n        if N > 3:\n            {ADD}".replace(
        "\n        atomic", "\n            atomic"
    ),
    "one program": "n = whole(N)\n    m = whole(M)\n    k = whole(K)\n    store(y[m, n], load(x[m, n]))\n"
    "    atomic_add(y[load(i[m, k]) // 8, load(i[m, k])], load(s[m, k]))",
    "both": "for m in grid(M, 2):\n        for n in grid(N, 2):\n            store(y[m, n], load(x[m, n]))\n"
    "            k = whole(K)\n            picked = where(load(i[m, k]) == n, load(s[m, k]), 0.0)\n"
    "            atomic_add(y[m, n], reduce_sum(picked, k))",
}
NOT_FILLED = {
    "no store": (f"for m in grid(M, 1):\n        {ADD}", "nothing has filled it"),
    "after": (f"for m in grid(M, 1):\n        {ADD}\n        {STORE}", "nothing has filled it"),
    "rows of others": (
        f"for m in grid(M, 1):\n        {STORE}\n        {ADD}".replace("y[m, load(i[m, k])]", "y[load(i[m, k]), 0]"),
        "another program along `m`",
    ),
    "the next row": (
        f"for m in grid(M, 1):\n        {STORE}\n        {ADD}".replace("y[m, load", "y[m + 1, load"),
        "another program along `m`",
    ),
    "the first row": (
        f"for m in grid(M, 1):\n        {STORE}\n        {ADD}".replace("y[m, load", "y[0, load"),
        "another program along `m`",
    ),
    "half a row": (
        "for m in grid(M, 1):\n        for n in grid(N, 8):\n            store(y[m, n], load(x[m, n]))\n"
        "            k = whole(K)\n            atomic_add(y[m, load(i[m, k])], load(s[m, k]))",
        "another program along `n`",
    ),
    "rows that overlap": (
        f"for m in grid(M, 1):\n        {STORE}\n        {ADD}".replace("y[m, ", "y[0 * m, "),
        "another program along `m`",
    ),
    "another grid": (
        f"for m in grid(M, 1):\n        {STORE}\n    for m in grid(M, 1):\n        {ADD}",
        "another grid fills",
    ),
    "an inner grid": (
        f"for m in grid(M, 1):\n        {STORE}\n        for k in grid(K, 8):\n"
        "            atomic_add(y[m, load(i[m, k])], load(s[m, k]))",
        "another grid fills",
    ),
    "not all": (
        f"for m in grid(M, 1):\n        {STORE}\n        {ADD}".replace("whole(N)", "whole(N - 1)"),
        "may not have stored all",
    ),
    "tiles from one on": (
        f"for m in grid(M, 1):\n        {TILES}\n        {ADD}".replace("(N, 8)", "(N, 8, start=1)"),
        "may not have stored all",
    ),
    "sometimes": (
        f"for m in grid(M, 1):\n        n = whole(N)\n        if begin(m) > 0:\n"
        f"            store(y[m, n], load(x[m, n]))\n        {ADD}",
        "may not have stored all",
    ),
    "in turns that there may not be": (
        f"for m in grid(M, 1):\n        n = whole(N)\n        for t in range(N - 1):\n"
        f"            store(y[m, n], load(x[m, n]))\n        {ADD}",
        "may not have stored all",
    ),
    "tile after tile": (
        "for m in grid(M, 1):\n        k = whole(K)\n        for n in tiles(N, 8):\n"
        "            store(y[m, n], load(x[m, n]))\n            atomic_add(y[m, load(i[m, k])], load(s[m, k]))",
        "may not have stored all",
    ),
    "places that are read": (
        f"for m in grid(M, 1):\n        {STORE}\n        {ADD}".replace("y[m, n]", "y[m, i64(load(x[m, n]))]"),
        "may not have stored all",
    ),
    "a diagonal": (
        "for m in grid(M, 1):\n        k = whole(K)\n        store(y[m, m], 0.0)\n"
        "        atomic_add(y[m, load(i[m, k])], load(s[m, k]))",
        "may not have stored all",
    ),
}


@pytest.mark.parametrize("body", FILLED.values(), ids=FILLED)
def test_programs_that_fill_what_they_update(body: str) -> None:
    tree = sketch(body)
    assert [f for f in check(tree).findings if f.severity == "error"] == []
    x, s, i = torch.randn(5, 13), torch.randn(5, 30), torch.randint(-2, 15, (5, 30))
    found, filled = (interpret(t, [x, i, s], {}).outputs[0] for t in (tree, sketch(body, 'zeros("f32", M, N)')))
    assert torch.equal(found, filled) and not found.isnan().any()


@pytest.mark.parametrize(("body", "why"), NOT_FILLED.values(), ids=NOT_FILLED)
def test_programs_that_may_not_have_filled_what_they_update(body: str, why: str) -> None:
    found = [f for f in check(sketch(body)).findings if f.severity == "error" and f.code != "SK603"]
    assert [f.code for f in found] == ["SK804"] and why in found[0].message
    filled = check(sketch(body, 'zeros("f32", M, N)')).findings
    assert "SK804" not in [f.code for f in filled]
