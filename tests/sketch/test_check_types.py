"""The types that the checker fills in: axes, dtypes, what is weak and what is known at launch."""

from __future__ import annotations

import pytest

from akg_core.dtypes import DTYPES, promote
from akg_core.errors import SketchError
from akg_core.sketch import ast
from akg_core.sketch.ast import Type
from akg_core.sketch.check import check, require
from akg_core.sketch.parse import parse

HEAD = """
@kernel
def k(x: In["f32", "M", "N"], h: In["f16", "M", "N"], d: In["f64", "M", "N"], i: In["i32", "M", "N"],
      b: In["bool", "M", "N"], y: Out["f32", "M", "N"], I: Const = 3, F: Const = 0.5, T: Tune[4, 8] = 4):
    for m in grid(M, T):
        for n in tiles(N, 8):
            t = {}
            store(y[m, n], 0.0)
"""
BOTH = frozenset("mn")


def type_of(expression: str) -> Type | None:
    tree = check(parse(HEAD.format(expression))).tree
    (assign,) = (node for node in ast.walk(tree) if isinstance(node, ast.Assign))
    return assign.value.type


@pytest.mark.parametrize(
    "expression, expected",
    [
        ("load(x[m, n])", Type(BOTH, "f32")),
        ("load(x[m, 0])", Type(frozenset("m"), "f32")),
        ("load(x[begin(m), end(n) - 1])", Type(frozenset(), "f32")),
        ("m", Type(frozenset("m"), "i64")),
        ("m + n", Type(BOTH, "i64")),
        ("M * N", Type(frozenset(), "i64", uniform=True)),
        ("1", Type(frozenset(), "i64", uniform=True, weak=True)),
        ("T", Type(frozenset(), "i64", uniform=True, weak=True)),
        ("I", Type(frozenset(), "i64", uniform=True)),
        ("F", Type(frozenset(), "f32", uniform=True, weak=True)),
        ("1 / N", Type(frozenset(), "f32", uniform=True, weak=True)),
        ("rsqrt(N)", Type(frozenset(), "f32", uniform=True, weak=True)),
        ("f32(N)", Type(frozenset(), "f32")),
        ("load(d[m, n]) / N", Type(BOTH, "f64")),
        ("load(h[m, n]) * 0.5", Type(BOTH, "f16")),
        ("load(h[m, n]) * F", Type(BOTH, "f16")),
        ("load(h[m, n]) * N", Type(BOTH, "f16")),
        ("load(h[m, n]) * load(x[m, n])", Type(BOTH, "f32")),
        ("load(i[m, n]) * 2", Type(BOTH, "i32")),
        ("load(i[m, n]) * N", Type(BOTH, "i64")),
        ("load(i[m, n]) * 0.5", Type(BOTH, "f32")),
        ("load(i[m, n]) / 2", Type(BOTH, "f32")),
        ("load(i[m, n]) // 2", Type(BOTH, "i32")),
        ("load(b[m, n]) + 1", Type(BOTH, "i64")),
        ("load(b[m, n]) * load(x[m, n])", Type(BOTH, "f32")),
        ("load(b[m, n]) & (n < m)", Type(BOTH, "bool")),
        ("exp(load(i[m, n]))", Type(BOTH, "f32")),
        ("abs(load(i[m, n]))", Type(BOTH, "i32")),
        ("where(n < m, load(h[m, n]), 0.0)", Type(BOTH, "f16")),
        ("where(load(i[m, n]), 1, 0)", Type(BOTH, "i64")),
        ("maximum(load(h[m, n]), -inf)", Type(BOTH, "f16")),
        ("isnan(load(x[m, n]))", Type(BOTH, "bool")),
        ("reduce_sum(load(h[m, n]), n)", Type(frozenset("m"), "f16")),
        ("reduce_sum(load(b[m, n]), (m, n))", Type(frozenset(), "i64")),
        ("reduce_max(load(i[m, n]), [n])", Type(frozenset("m"), "i32")),
        ("reduce_any(load(x[m, n]), n)", Type(frozenset("m"), "bool")),
        ("argmax(load(x[m, n]), n)", Type(frozenset("m"), "i64")),
        ("scan_sum(load(i[m, n]), n, reverse=True)", Type(BOTH, "i64")),
        ("last(load(h[m, n]), n)", Type(frozenset("m"), "f16")),
        ("dot(load(h[m, n]), load(h[m, n]), over=n)", Type(frozenset("m"), "f32")),
        ("dot(load(i[m, n]), load(i[m, n]), over=n)", Type(frozenset("m"), "i64")),
        ("dot(load(i[m, n]), load(i[m, n]), over=n, into=zeros([m], 'i32'))", Type(frozenset("m"), "i32")),
        ("dot(load(x[m, n]), load(d[m, n]), over=(m, n))", Type(frozenset(), "f64")),
        ("full([], 1, 'f64')", Type(frozenset(), "f64")),
        ("round_to(load(x[m, n]), 'tf32')", Type(BOTH, "f32")),
        ("rand(7, m * N + n)", Type(BOTH, "f32")),
        ("-load(h[m, n])", Type(BOTH, "f16")),
        ("not load(x[m, n])", Type(BOTH, "bool")),
        ("-inf", Type(frozenset(), "f32", uniform=True, weak=True)),
    ],
)
def test_types(expression: str, expected: Type) -> None:
    assert type_of(expression) == expected


@pytest.mark.parametrize(
    "expression, code",
    [
        ("load(b[m, n]) + load(b[m, n])", "SK402"),
        ("load(x[m, n]) & 1", "SK402"),
        ("load(x[m, n]) << 1", "SK402"),
        ("floor(load(b[m, n]))", "SK402"),
        ("bits(load(i[m, n]))", "SK402"),
        ("from_bits(load(x[m, n]))", "SK402"),
        ("sort(load(x[m, n]), n)", "SK402"),
        ("sort(load(i[m, n]), (m, n))", "SK110"),
        ("round_to(load(i[m, n]), 'tf32')", "SK402"),
        ("round_to(load(x[m, n]), 'tf23')", "SK110"),
        ("where(load(x[m, n]), 1, 0)", "SK404"),
        ("dot(load(b[m, n]), load(b[m, n]), over=n)", "SK402"),
        ("dot(load(x[m, n]), load(x[m, n]))", "SK110"),
        ("dot(load(x[m, n]), load(x[m, 0]), over=n)", "SK302"),
        ("dot(load(x[m, n]), load(x[m, n]), over=n, into=zeros([n]))", "SK302"),
        ("dot(load(x[m, n]), load(x[m, n]), over=n, precision='exact')", "SK110"),
        ("scan_sum(load(x[m, n]), (m, n))", "SK110"),
        ("reduce_sum(load(x[m, n]), M)", "SK301"),
        ("zeros([m, M])", "SK301"),
        ("full([m], m)", "SK306"),
        ("split(m, (2, 2))", "SK110"),
        ("load(x[m, load(x[m, n])])", "SK403"),
        ("load(q[m, n])", "SK201"),
        ("x + 1", "SK201"),
        ("'f32'", "SK110"),
        ("[m]", "SK110"),
        ("exp(x=1.0)", None),
        ("rand(0.5, m)", "SK403"),
        ("all_reduce_sum(load(x[begin(m), n]), m)", "SK307"),
        ("end(t)", "SK301"),
    ],
)
def test_refused(expression: str, code: str | None) -> None:
    errors = check(parse(HEAD.format(expression))).errors
    assert [found.code for found in errors] == ([code] if code else [])


def test_carried_literals_become_strong() -> None:
    text = """
@kernel
def k(x: In["f32", "N"], y: Out["f32"]):
    total = 0.0
    count = 0
    for i in range(N):
        total = total + load(x[i])
        count = count + 1
    store(y, total / count)
"""
    checked = check(parse(text))
    assert checked.findings == ()
    store = next(node for node in ast.walk(checked.tree) if isinstance(node, ast.Effect))
    assert store.call.args[1].type == Type(frozenset(), "f32")


def test_a_whole_axis_may_be_said_again() -> None:
    text = """
@kernel
def k(x: In["f32", "N"], y: Out["f32", "N"]):
    n = whole(N)
    t = load(x[n])
    n = whole({})
    store(y[n], t)
"""
    assert check(parse(text.format("N"))).findings == ()
    assert [found.code for found in check(parse(text.format("N + 1"))).errors] == ["SK303"]


def test_const_is_a_float_when_a_launch_says_so() -> None:
    text = """
@kernel
def k(x: In["i64", "N"], y: Out["f32", "N"], S: Const = 1):
    for n in grid(N, 8):
        store(y[n], load(x[n]) * S)

@program
def main(x: In["i64", "N"]):
    y = empty("f32", N)
    k(x, y, S=0.5)
    return y
"""
    checked = check(parse(text))
    store = next(node for node in ast.walk(checked.tree) if isinstance(node, ast.Effect))
    assert store.call.args[1].type == Type(frozenset("n"), "f32")


def test_require_raises_with_every_finding() -> None:
    text = '@kernel\ndef k(x: In["f32", "N"], y: Out["f32", "N"]):\n    for n in grid(N, 8):\n'
    text += "        a = exp(q)\n        store(y[n], load(x[k]))\n"
    with pytest.raises(SketchError, match=r"file\.py:4:17: SK201 There is no `q` here\. \(1 more\)") as caught:
        require(parse(text), "file.py")
    assert len([f for f in caught.value.findings if f.severity == "error"]) == 2


@pytest.mark.parametrize("first", DTYPES)
@pytest.mark.parametrize("second", DTYPES)
def test_promotion_is_that_of_torch(first: str, second: str) -> None:
    torch = pytest.importorskip("torch")
    from akg_core.sketch.interpret.tiles import TORCH

    assert TORCH[promote(first, second)] == torch.promote_types(TORCH[first], TORCH[second])
