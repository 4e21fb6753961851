"""What an expression computes several times is computed once, to the same value."""

from __future__ import annotations

import pytest
from akg_plugin_tilelang.once import each_once


@pytest.mark.parametrize(
    ("text", "once"),
    [
        ("a[i] + b", "a[i] + b"),
        ("f(a + 1, a + 1)", "f((once_0 := (a + 1)), once_0)"),
        ("(a + 1) // 7 + (a + 1) // 7 * (a + 1)", "(once_1 := ((once_0 := (a + 1)) // 7)) + once_1 * once_0"),
        ("f((g := (a + 1 < 3)), h(g, a + 1))", "f((g := ((once_0 := (a + 1)) < 3)), h(g, once_0))"),
    ],
)
def test_each_once(text: str, once: str) -> None:
    assert each_once(text) == once


def test_values_stay() -> None:
    text = "((a + 1) % 5 - (a + 1) // 2) * ((a + 1) % 5 - (a + 1))"
    assert eval(each_once(text), {"a": 18}) == eval(text, {"a": 18})
