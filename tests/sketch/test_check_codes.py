"""Every code of the table, each with a sketch that makes it, where it points, and what it suggests."""

from __future__ import annotations

import pytest

from akg_core.errors import SketchError
from akg_core.records import Finding
from akg_core.sketch.check import check
from akg_core.sketch.codes import CODES
from akg_core.sketch.parse import parse


def findings(text: str) -> tuple[Finding, ...]:
    try:
        return check(parse(text)).findings
    except SketchError as error:
        return error.findings


def rows(body: str, parameters: str = "", dims: str = '"M", "N"') -> str:
    """A kernel from x to y with `body` in it."""
    lines = "\n".join("    " + line for line in body.strip("\n").splitlines())
    return f'@kernel\ndef rows(x: In["f32", {dims}], y: Out["f32", {dims}]{parameters}):\n{lines}\n'


COPY = """
for m in grid(M, 1):
    for n in tiles(N, 8):
        store(y[m, n], load(x[m, n]))
"""
PROGRAM = '\n@program\ndef main(a: In["f32", "M", "N"]):\n'


def program(body: str, kernel: str = "") -> str:
    lines = "\n".join("    " + line for line in body.strip("\n").splitlines())
    return (kernel or rows(COPY)) + PROGRAM + lines + "\n"


# code: (a sketch with a § before the place that the finding names, a word of the message or of the suggestion)
BAD: dict[str, tuple[str, str]] = {
    "SK101": ("@kernel\ndef rows(x §In):\n    pass\n", "x In"),
    "SK102": ("§import torch\n", "@kernel"),
    "SK103": ("@kernel\ndef rows(§x):\n    pass\n", 'In["f32", "M"]'),
    "SK104": (rows("§while x:\n    pass"), "for loops"),
    "SK105": (rows("t = §x.sum()"), "reduce_max(t, n)"),
    "SK106": (rows("for m in §tiles(M):\n    pass"), "tiles(N, BN)"),
    "SK107": (rows(COPY, ", BM: §Tune[1, 1]"), "different choices"),
    "SK108": (rows("t = load(§1)"), "x[m, n]"),
    "SK109": (program("y = §rows(a)\nreturn y"), "gives no result"),
    "SK110": (rows("t = §exp(1.0, 2.0)"), "exp(x)"),
    "SK201": (rows("for row in grid(M, 1):\n    store(y[row, 0], §rwo)"), "'row'"),
    "SK202": (rows("t = §convolve(1.0)"), "docs/sketch.md"),
    "SK203": (rows("§M = 4"), "`M`"),
    "SK204": (rows(COPY, ", BM: Tune[1, 2] = §3"), "Choices: 1, 2"),
    "SK205": (
        rows("for m in grid(M, 1):\n    for n in tiles(N, 8):\n        t = 1.0\n    store(y[m, 0], §t)"),
        "before",
    ),
    "SK301": (rows("for m in grid(M, 1):\n    t = zeros(§[n])\n    store(y[m, 0], 1.0)"), "Axes here: m"),
    "SK302": (
        rows("for m in grid(M, 1):\n    n = whole(N)\n    t = load(x[m, 0])\n    store(y[m, n], reduce_sum(t, §n))"),
        "only m",
    ),
    "SK303": (rows("for m in grid(M, 1):\n    §for m in tiles(N, 8):\n        store(y[m, m], 1.0)"), "another name"),
    "SK304": (rows("for m in grid(M, 1):\n    n = whole(N)\n    §store(y[m, 0], load(x[m, n]))"), "Reduce over n"),
    "SK305": (rows("for m in grid(M, 1):\n    store(§y[m], 1.0)"), "2 dimensions and 1 indices"),
    "SK306": (rows("for m in grid(M, 4):\n    if §m > 2:\n        store(y[m, 0], 1.0)"), "begin(axis)"),
    "SK307": (
        rows(
            "for m in grid(M, 4):\n    n = whole(N)\n"
            "    t = §all_reduce_sum(reduce_sum(load(x[m, n]), (m, n)), m)\n    store(y[m, n], t)"
        ),
        "cooperative=True",
    ),
    "SK401": (rows('t = full([], 0, §"f23")'), "'f32'"),
    "SK402": (rows("for m in grid(M, 4):\n    store(y[m, 0], §-(m > 2))"), "f32(t)"),
    "SK403": (rows("for m in grid(M, 4):\n    store(y[§m / 2, 0], 1.0)"), "//"),
    "SK404": (rows("for m in grid(M, 1):\n    if §load(x[begin(m), 0]):\n        store(y[m, 0], 1.0)"), "s > 0"),
    "SK501": (
        rows(
            "for m in grid(M, 1):\n    t = 0.0\n    for n in tiles(N, 8):\n"
            "        §t = t + reduce_sum(load(x[m, n]), n)\n    store(y[m, 0], t)"
        ),
        'zeros([m], "f32")',
    ),
    "SK502": (
        rows("t = 0\nfor i in range(3):\n    §t = t + 0.5\nfor m in grid(M, 1):\n    store(y[m, 0], t)"),
        '"f32"',
    ),
    "SK503": (rows("t = 0.0\nfor m in grid(M, 1):\n    §t = t + 1.0\n    store(y[m, 0], t)"), "atomic_add"),
    "SK504": (
        rows("for m in grid(M, 1):\n    t = zeros([m])\n    if begin(m) > 0:\n        §t = 1.0\n    store(y[m, 0], t)"),
        "in it",
    ),
    "SK505": (rows("for m in grid(M, 1):\n    for n in grid(§begin(m), 8):\n        store(y[m, n], 1.0)"), "stop="),
    "SK506": (rows("for m in grid(M, §0):\n    store(y[m, 0], 1.0)"), "positive"),
    "SK601": (rows("for m in grid(M, 1):\n    pass").replace("y:", "§y:"), "store(y"),
    "SK602": (rows("for m in grid(M, 1):\n    §store(y[m, 0], load(x[m, 0]))"), "Dimension 1"),
    "SK603": (
        rows(
            "for m in grid(M, 1):\n    for n in grid(N, 8):\n        j = whole(N)\n"
            "        §store(y[m, j], reduce_sum(load(x[m, n]), n))"
        ),
        "atomic_add",
    ),
    "SK604": (rows("for m in grid(M, 1):\n    n = whole(N)\n    store(§x[m, n], 1.0)"), "InOut"),
    "SK605": (rows("for m in grid(M, 1):\n    n = whole(N)\n    store(y[m, n], load(§y[m, n]))"), "Scratch"),
    "SK606": (
        rows(
            "for m in grid(M, 1):\n    n = whole(N)\n    store(s[m], reduce_sum(load(x[m, n]), n))\n"
            "for m in grid(M, 1):\n    n = whole(N)\n    store(y[m, n], §load(s[m]))",
            ', s: Scratch["f32", "M"]',
        ),
        "second kernel",
    ),
    "SK701": (rows("for m in grid(M, 1):\n    n = whole(N)\n    store(y[m, n], load(x[m, §n + N]))"), "past the end"),
    "SK704": (rows("for m in grid(M, 1):\n    for n in tiles(N, 8):\n        store(y[§m // 0, n], 1.0)"), "`//`"),
    "SK705": (rows("for m in grid(§10**23, 1):\n    store(y[m, 0], 1.0)"), "64 bits"),
    "SK703": (rows("for m in grid(M, 1):\n    for n in tiles(§0, 8):\n        store(y[m, n], load(x[m, n]))"), "never"),
    "SK801": (rows(COPY) + rows(COPY).replace("def rows", "§def again"), "@program"),
    "SK802": (program('y = empty("f32", M, N)\n§rows(a)\nreturn y'), "given 1"),
    "SK803": (program('y = empty("f32", M, N)\nrows(a, y)').replace("def main", "§def main"), "return"),
    "SK804": (program('y = empty("f32", M, N)\nz = empty("f32", M, N)\n§rows(y, z)\nreturn z'), "nothing has written"),
    "SK805": (program("§rows(a, a)\nreturn a"), "an input must stay"),
    "SK806": (program('y = empty("f32", M, §K)\nrows(a, y)\nreturn y'), "Sizes here: M, N"),
    "SK807": (program('y = empty("f32", N, M)\n§rows(a, y)\nreturn y'), "Dimension 0"),
    "SK808": (program('b = narrow(a, 1, 0, N)\ny = empty("f32", M, N)\n§rows(b, y)\nreturn y'), "not contiguous"),
    "SK809": (
        program(
            'y = empty("f32", M, N)\nagain(a, y)\nreturn y',
            rows(COPY).replace("def rows", "§def rows") + rows(COPY).replace("def rows", "def again"),
        ),
        "never launched",
    ),
    "SK810": (program('y = empty("f32", M, N)\n§rows(a, y, once=True)\nreturn y'), "reads `a`, which changes with"),
    "SK901": (rows(COPY.replace("tiles(N, 8)", "tiles(N, 8, stage=§2)")), "'stages'"),
    "SK902": (rows(COPY.replace("tiles(N, 8)", "tiles(N, 8, stages=§0)")), "positive"),
    "SK903": (rows("§t = 1.0" + COPY), "`t`"),
    "SK904": (
        rows(
            "for m in grid(M, 1):\n    for n in grid(N, 8):\n        k = whole(16)\n        a = f32(load(b[m, k]))\n"
            "        store(y[m, n], §dot(a, load(b[n, k]), over=k) + load(x[m, n]))",
            ', b: In["bf16", "K", 16]',
        ),
        "sums f16 and bf16 in f32",
    ),
}


@pytest.mark.parametrize("code", BAD)
def test_code(code: str) -> None:
    marked, words = BAD[code]
    before, _, after = marked.partition("§")
    place = (before.count("\n") + 1, len(before) - before.rfind("\n"))
    reported = findings(before + after)
    found = [f for f in reported if f.code == code]
    assert found, [(f.code, f.message) for f in reported]
    assert (found[0].line, found[0].column) == place
    assert words in found[0].message + found[0].suggestion
    assert found[0].message.endswith((".", "`", "?")) and found[0].suggestion


def test_every_code_has_a_sketch() -> None:
    as_it_runs = {"SK706"}  # what tiles hold is known then: test_interpret_ops.py
    assert BAD.keys() | as_it_runs == CODES.keys() and not BAD.keys() & as_it_runs


def test_one_mistake_is_reported_once() -> None:
    body = "for m in grid(M, 1):\n    n = whole(N)\n    t = load(x[m, k])\n"
    body += "    u = exp(t) + reduce_sum(t, n)\n    store(y[m, n], u)"
    assert [f.code for f in findings(rows(body))] == ["SK201"]


KEPT = """
@kernel
def add(x: In["f32", "N"], y: InOut["f32", "N"]):
    for n in grid(N, 8):
        store(y[n], load(y[n]) + load(x[n]))


@program
def main(x: In["f32", "N"], w: Param["w", "f32", "N"]):
    a = zeros("f32", N)
    b = zeros("f32", N)
    add(w, a, once=True)
    add(a, b, once=True)
    c = zeros("f32", N)
    add(b, c)
    add(x, c)
    return c
"""


@pytest.mark.parametrize(
    ("made", "code", "message"),
    [
        ('full("f64", 1 - b)', "SK806", "`b` is no float argument"),
        ('full("f32", 1 - s)', "SK807", "is no single f64"),
        ('full("f64", 1 - s, M)', "SK807", "is no single f64"),
        ('full("f64", exp(s))', "SK109", "not made of float arguments"),
    ],
)
def test_the_host_computes_one_number_of_float_arguments(made: str, code: str, message: str) -> None:
    text = (
        rows(COPY)
        + f"""
@program
def main(a: In["f32", "M", "N"], s: In["f64"]):
    y = empty("f32", M, N)
    b = {made}
    rows(a, y)
    return y
"""
    )
    found = findings(text)
    assert [f.code for f in found] == [code] and message in found[0].message


@pytest.mark.parametrize(("made", "dtype"), [("floats(y)", "f32"), ("floats(y)", "i16"), ("floats(y, N)", "i64")])
def test_floats_are_those_of_bits(made: str, dtype: str) -> None:
    text = rows(COPY).replace("f32", dtype) + (
        f"""
@program
def main(a: In["{dtype}", "M", "N"]):
    y = empty("{dtype}", M, N)
    rows(a, y)
    z = {made}
    return z
"""
    )
    found = findings(text)
    assert [f.code for f in found] == ["SK807"] and "floats of `y`" in found[0].message


def test_what_is_kept_may_go_from_launch_to_launch() -> None:
    assert findings(KEPT) == ()


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("add(w, a, once=True)", "add(w, a)", "reads `a`, which the launch of `add` in line 12 writes"),
        ("add(x, c)", "add(x, a)\n    add(a, c)", "reads `a`, which the launch of `add` in line 16 writes"),
        ("add(x, c)", "add(x, b)\n    add(b, c)", "reads `b`, which the launch of `add` in line 16 writes"),
        ("add(x, c)", "add(x, w)\n    add(w, c)", "reads `w`, which is a Param that the launch of"),
        ("add(b, c)", "add(x, c, once=True)", "reads `x`, which changes with every call"),
    ],
)
def test_what_is_kept_changes_with_nothing(before: str, after: str, message: str) -> None:
    found = findings(KEPT.replace(before, after))
    assert {f.code for f in found} == {"SK810"}
    assert any(message in f.message for f in found), [f.message for f in found]


def test_what_is_kept_reads_nothing_that_is_computed_of_arguments() -> None:
    text = """
@kernel
def fill(s: In["f64"], y: Out["f32", 8]):
    for n in grid(8, 8):
        store(y[n], load(s))


@program
def main(s: In["f64"]):
    rest = full("f64", 1 - s)
    y = empty("f32", 8)
    fill(rest, y, once=True)
    return y
"""
    assert [(f.code, "`rest`, which changes" in f.message) for f in findings(text)] == [("SK810", True)]
    assert findings(text.replace(", once=True", "")) == ()


def test_correct_sketch_has_no_findings() -> None:
    assert findings(rows(COPY)) == ()


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("for m in grid(100000000000000000000000, 1):\n    store(y[m, 0], 1.0)", "SK705"),
        ("for m in grid(9000000000 * 9000000000, 1):\n    store(y[m, 0], 1.0)", "SK705"),
        ("for m in grid(10**10**10, 1):\n    store(y[m, 0], 1.0)", "SK705"),
        ("for m in grid(M % (3 - 3), 1):\n    store(y[m, 0], 1.0)", "SK704"),
        ("for m in grid(M, 1):\n    store(y[m, remainder(m, 0)], 1.0)", "SK704"),
    ],
)
def test_numbers_that_no_kernel_can_hold(body: str, code: str) -> None:
    assert code in [found.code for found in findings(rows(body))]


@pytest.mark.parametrize("body", ["load(x[m, n]) // 0", "load(x[m, n]) % 0.0", "load(x[m, n]) * 2**62", "n / 0"])
def test_numbers_that_floats_can_hold(body: str) -> None:
    text = rows(f"for m in grid(M, 1):\n    for n in tiles(N, 8):\n        store(y[m, n], {body})")
    assert findings(text) == ()


def test_sizes_are_numbers_too() -> None:
    assert "SK705" in [f.code for f in findings(rows(COPY, dims='"M", "10**23"'))]
    assert "SK704" in [f.code for f in findings(program('y = empty("f32", M // 0, N)\nrows(a, y)\nreturn y'))]
