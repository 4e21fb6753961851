"""Coverage of outputs, races and index ranges: what is certain is reported, what is not is left alone."""

from __future__ import annotations

import pytest

from akg_core.sketch import ast
from akg_core.sketch.check import check, coverage
from akg_core.sketch.check.program import ProgramCheck
from akg_core.sketch.check.shapes import sized
from akg_core.sketch.check.sites import Walk
from akg_core.sketch.parse import parse
from akg_core.sketch.program import program_of


def sketch(body: str, dims: str = '"M", "N"', more: str = "") -> ast.SketchFile:
    lines = "\n".join("    " + line for line in body.strip("\n").splitlines())
    return parse(f'@kernel\ndef k(x: In["f32", "M", "N"]{more}, y: Out["f32", {dims}]):\n{lines}\n')


def codes(tree: ast.SketchFile) -> list[str]:
    return [found.code for found in check(tree).findings]


def covered(tree: ast.SketchFile) -> bool:
    """Whether the checker is certain that all of y is written."""
    program = ProgramCheck(tree, program_of(tree))
    program.run()
    (launched,) = program.launched
    walk = Walk(launched.kernel, launched.values)
    dims = tuple(map(sized, launched.tensors["y"].dims or ()))
    return coverage.covered([coverage.Write(site, dims, walk.atoms, True) for site in walk.sites if site.tensor == "y"])


COMPLETE = {
    "axes": ("for m in grid(M, 4):\n    for n in tiles(N, 8):\n        store(y[m, n], 1.0)", '"M", "N"'),
    "transposed": ("for m in grid(M, 4):\n    n = whole(N)\n    store(y[n, m], 1.0)", '"N", "M"'),
    "digits": ("for p in grid(M * N, 4):\n    m, n = split(p, (M, N))\n    store(y[m, n], 1.0)", '"M", "N"'),
    "divided": ("for p in grid(M * N, 4):\n    store(y[p // N, p % N], 1.0)", '"M", "N"'),
    "three digits": (
        "for p in grid(M * N * 6, 4):\n    a, b, c = split(p, (M, N, 6))\n    store(y[c, a, b], 1.0)",
        '6, "M", "N"',
    ),
    "flattened": ("for m in grid(M, 4):\n    n = whole(N)\n    store(y[m * N + n], 1.0)", '"M*N"'),
    "phases": (
        "for m in grid(M, 4):\n    for s in range(2):\n        n = whole(N)\n        store(y[2 * m + s, n], 1.0)",
        '"2*M", "N"',
    ),
    "side by side": (
        "for m in grid(M, 4):\n    n = whole(N)\n    store(y[m, n], 1.0)\n    store(y[m, n + N], 2.0)",
        '"M", "2*N"',
    ),
    "through variables": (
        "for m in grid(M, 4):\n    for n in grid(N, 4):\n        a = m * N\n        store(y[a + n], 1.0)",
        '"M*N"',
    ),
    "more than enough": ("for m in grid(M, 4):\n    n = whole(N + 3)\n    store(y[m, n], 1.0)", '"M", "N"'),
}


@pytest.mark.parametrize("case", COMPLETE)
def test_complete(case: str) -> None:
    body, dims = COMPLETE[case]
    tree = sketch(body, dims)
    assert codes(tree) == [] and covered(tree)


INCOMPLETE = {
    "one column": ("for m in grid(M, 4):\n    store(y[m, 0], 1.0)", '"M", "N"'),
    "all but the last": ("for m in grid(M, 4):\n    n = whole(N - 1)\n    store(y[m, n], 1.0)", '"M", "N"'),
    "all but the first": ("for m in grid(M, 4):\n    n = whole(N)\n    store(y[m, n + 1], 1.0)", '"M", "N"'),
    "half": ("for m in grid(M, 4):\n    n = whole(N)\n    store(y[m, n], 1.0)", '"M", "2*N"'),
    "diagonal": ("for m in grid(M, 4):\n    store(y[m, m], 1.0)", '"M", "M"'),
    "fixed sizes": ("for m in grid(M, 4):\n    n = whole(63)\n    store(y[m, n], 1.0)", '"M", 64'),
}


@pytest.mark.parametrize("case", INCOMPLETE)
def test_incomplete(case: str) -> None:
    body, dims = INCOMPLETE[case]
    assert codes(sketch(body, dims)) == ["SK602"]


UNDECIDED = {
    "strided": ("for m in grid(M, 4):\n    n = whole(N)\n    store(y[m, 2 * n], 1.0)", '"M", "2*N - 1"'),
    "part of a loop": (
        "for m in grid(M, 4):\n    for n in tiles(N, 4, start=begin(m)):\n        store(y[m, n], 1.0)",
        '"M", "N"',
    ),
    "under a condition": (
        "for m in grid(M, 4):\n    n = whole(N)\n    if begin(m) > 3:\n        store(y[m, n], 1.0)",
        '"M", "N"',
    ),
    "loaded": (
        "for m in grid(M, 4):\n    n = whole(N)\n    store(y[m, i64(load(x[m, n]))], 1.0)",
        '"M", "N"',
    ),
    "other sizes": ("for m in grid(M, 4):\n    n = whole(N)\n    store(y[m, n], 1.0)", '"M", "N // 2 * 2"'),
}


@pytest.mark.parametrize("case", UNDECIDED)
def test_undecided_is_not_reported(case: str) -> None:
    body, dims = UNDECIDED[case]
    tree = sketch(body, dims)
    assert codes(tree) == [] and not covered(tree)


def test_two_launches_fill_one_output() -> None:
    text = """
@kernel
def part(x: In["f32", "M", "N"], y: Out["f32", "M", "W"], AT: Const):
    for m in grid(M, 4):
        n = whole(N)
        store(y[m, n + AT], load(x[m, n]))

@program
def main(a: In["f32", "M", "A"], b: In["f32", "M", "B"]):
    y = empty("f32", M, A + B)
    part(a, y, AT=0)
    part(b, y, AT=A)
    return y
"""
    assert codes(parse(text)) == []
    assert codes(parse(text.replace("    part(b, y, AT=A)\n", ""))) == ["SK602"]


def test_filled_outputs_need_not_be_covered() -> None:
    text = """
@kernel
def k(x: In["f32", "M", "N"], y: Out["f32", "M", "N"]):
    for m in grid(M, 4):
        atomic_add(y[m, 0], 1.0)

@program
def main(x: In["f32", "M", "N"]):
    y = zeros("f32", M, N)
    k(x, y)
    return y
"""
    assert codes(parse(text)) == []
    assert codes(parse(text.replace("zeros(", "empty("))) == ["SK804"]


@pytest.mark.parametrize(
    "value, code",
    [
        ("reduce_sum(load(x[m, n]), n)", ["SK603"]),
        ("f32(begin(n))", ["SK603"]),
        ("all_reduce_sum(reduce_sum(load(x[m, n]), n), n)", ["SK603"]),
    ],
)
def test_races(value: str, code: list[str]) -> None:
    body = f"for m in grid(M, 4):\n    for n in grid(N, 8, cooperative=True):\n        store(y[m, 0], {value})"
    found = check(sketch(body, '"M", 1')).findings
    assert [f.code for f in found] == code
    assert found[0].severity == ("warning" if "all_reduce" in value else "error")


def test_no_race_under_a_guard_or_in_one_program() -> None:
    guarded = (
        "for m in grid(M, 4):\n    for n in grid(N, 8):\n        if begin(n) == 0:\n            store(y[m, 0], 1.0)"
    )
    assert codes(sketch(guarded, '"M", 1')) == []
    alone = "for m in grid(M, 4):\n    for n in grid(N, N):\n        store(y[m, 0], reduce_sum(load(x[m, n]), n))"
    assert codes(sketch(alone, '"M", 1')) == []


MEETING = """
for m in grid(M, 1):
    for p in grid(N, 8, cooperative=True):
        n = whole(N)
        store(s[0, m, p], load(x[m, p]))
        barrier(p)
        for t in range(3):
            store(s[t + 1, m, p], reduce_sum(load(s[t, m, n]), n) + begin(p))
            barrier(p)
        store(y[m, p], load(s[3, m, N - 1 - p]))
"""
SCRATCH = ', s: Scratch["f32", 4, "M", "N"]'


def test_programs_read_what_others_wrote_before_a_barrier() -> None:
    assert codes(sketch(MEETING, more=SCRATCH)) == []
    for old, new, reads in (
        ("        barrier(p)\n        for", "        for", ["SK606"]),  # the first turn
        ("            barrier(p)\n", "", ["SK606"]),  # in the loop: what a turn wrote, the next reads
        ("s[t, m, n]", "s[t + 1, m, n]", ["SK606"]),  # in the same turn
        ("s[t, m, n]", "s[t, 0, n]", ["SK606"]),  # of another m, whose programs do not meet with these
        ("barrier(p)", "barrier(m)", ["SK307"]),
    ):
        assert old in MEETING
        assert sorted(set(codes(sketch(MEETING.replace(old, new), more=SCRATCH)))) == sorted(set(reads)), new


@pytest.mark.parametrize(
    "around", ["if begin(p) == 0:", "for i in range(begin(p)):", "for i in range(i64(load(x[0, begin(p)]))):"]
)
def test_a_barrier_to_which_not_all_programs_come(around: str) -> None:
    body = MEETING.replace("            barrier(p)", f"            {around}\n                barrier(p)")
    found = check(sketch(body, more=SCRATCH)).findings
    assert [f.code for f in found] == ["SK307"] and "depends on where it stands along `p`" in found[0].message
    uniform = MEETING.replace(
        "            barrier(p)", "            if begin(m) == 0 or N > 3:\n                barrier(p)"
    )
    assert codes(sketch(uniform, more=SCRATCH)) == [], "programs that meet agree on it"


def test_a_carried_value_keeps_what_it_depends_on() -> None:
    body = """
for m in grid(M, 4):
    for n in grid(N, 8):
        t = zeros([m])
        for i in range(3):
            t = t + reduce_sum(load(x[m, n]), n)
        store(y[m, 0], t)"""
    found = check(sketch(body, '"M", 1')).findings
    assert [(f.code, f.severity) for f in found] == [("SK603", "error")]


@pytest.mark.parametrize(
    "index, code",
    [
        ("n", []),
        ("n - 1", []),
        ("n - N", ["SK701"]),
        ("n + N", ["SK701"]),
        ("N", ["SK701"]),
        ("-1", ["SK701"]),
        ("2 * n", []),
    ],
)
def test_index_ranges(index: str, code: list[str]) -> None:
    body = f"for m in grid(M, 4):\n    n = whole(N)\n    store(y[m, n], load(x[m, {index}]))"
    assert codes(sketch(body)) == code


def test_scratch_read_by_its_own_program() -> None:
    body = "for m in grid(M, 4):\n    n = whole(N)\n    store(s[m, n], load(x[m, n]))\n"
    body += "    store(y[m, n], load(s[m, N - 1 - n]))"
    assert codes(sketch(body, more=', s: Scratch["f32", "M", "N"]')) == []
    other = body.replace("load(s[m, N - 1 - n])", "load(s[0, n])")
    assert codes(sketch(other, more=', s: Scratch["f32", "M", "N"]')) == ["SK606"]
