"""Which divisions may be an ulp off."""

from __future__ import annotations

import pytest

from akg_core.lower.approximable import approximable, read_elsewhere
from akg_core.lower.build import body_of
from akg_core.lower.specialise import instances
from akg_core.records import Schedule
from akg_core.sketch.ast import Binary, Call, walk
from akg_core.sketch.check import require
from akg_core.sketch.parse import parse
from akg_core.sketch.schedule import bind

HEAD = """
@kernel
def first(x: In["f32", 6, 40], y: InOut["f32", 6, 40], at: InOut["i64", 6, 40]):
    for m in grid(6, 1):
        n = whole(40)
        x_t = load(x[m, n])
        {lines}


@kernel
def second(x: In["f32", 6, 40], z: Out["f32", 6, 40]):
    for m in grid(6, 1):
        n = whole(40)
        store(z[m, n], load(x[m, n]) + 1)


@program
def model(x: In["f32", 6, 40]):
    y = zeros("f32", 6, 40)
    at = zeros("i64", 6, 40)
    z = empty("f32", 6, 40)
    first(x, y, at)
    {then}
    return y, at, z
"""


def divisions(lines: str, then: str = "second(x, z)") -> list[bool]:
    """Of each division of the first kernel, in the order of its text, whether it may be an ulp off."""
    tree = bind(require(parse(HEAD.format(lines="\n        ".join(lines.split("; ")), then=then))), Schedule())
    instance = next(instance for _, instance in instances(tree) if instance.kernel.name == "first")
    body = body_of(instance)
    read = {instance.kernel.tensors[number].name for number in read_elsewhere(tree).get("first", ())}
    loose = approximable(body, read)
    every = [node for op in body.ops() for expr in op.expressions() for node in walk(expr)]
    every += [node for value in body.values.values() if value.definition for node in walk(value.definition)]
    found = [node for node in every if isinstance(node, (Binary, Call)) and node.op in ("/", "reciprocal")]
    return [id(node) in loose for node in {id(node): node for node in found}.values()]


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("store(y[m, n], x_t / 3)", True),
        ("store(y[m, n], exp(reciprocal(x_t)) * x_t)", True),
        ("s = reduce_sum(x_t / 3, n); store(y[m, n], x_t - s)", True),
        ("store(y[m, n], floor(x_t / 3))", False),
        ("store(y[m, n], acos(x_t / 3))", False),
        ("q = x_t / 3; r = q * 2; store(at[m, n], cast(r, 'i64'))", False),
        ("q = reciprocal(x_t); store(y[m, n], where(q > 1, x_t, 2 * x_t))", False),
        ("q = x_t / 3; store(y[m, n], where(x_t > 1, q, 2 * q))", True),
        ("q = x_t / 3; store(at[m, n], argmax(q, n))", False),
        ("s = reduce_max(x_t, (m, n)) / 3; if s > 1:;     store(y[m, n], x_t)", False),
        ("store(y[m, cast(x_t / 3, 'i64')], x_t)", False),
    ],
)
def test_by_what_is_made_of_it(lines: str, found: bool) -> None:
    assert divisions(lines.replace("'", '"')) == [found]


def test_what_others_read_is_exact() -> None:
    """They may round it to a whole number."""
    lines = "store(y[m, n], x_t / 3)"
    assert divisions(lines, then="second(y, z)") == [False]
    assert divisions(lines, then="w = reshape(y, 240)\n    v = reshape(w, 6, 40)\n    second(v, z)") == [False]


def test_in_a_loop_what_becomes_of_the_next_turn_counts() -> None:
    turns = 's = zeros([m, n], "f32"); for k in range(0, 4):;     {}; {}'
    step, kept = "    s = s + x_t / 3", 'store(at[m, n], cast(x_t + s, "i64"))'
    assert divisions(turns.format(kept, step)) == [False]
    assert divisions(turns.format("store(y[m, n], x_t + s)", step)) == [True]
