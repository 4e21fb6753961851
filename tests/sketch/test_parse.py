"""What the parser makes of the text, and what it says of text that is no sketch."""

from __future__ import annotations

import math

import pytest

from akg_core.errors import SketchError
from akg_core.sketch import ast
from akg_core.sketch.ast import Assign, Binary, Call, Element, Group, Name, Number, Text, Tune, Unary
from akg_core.sketch.check import check
from akg_core.sketch.parse import parse


def kernel(body: str, parameters: str = "") -> ast.Kernel:
    lines = "\n".join("    " + line for line in body.splitlines())
    return parse(f'@kernel\ndef k(x: In["f32", "M", "N"]{parameters}):\n{lines}\n').kernels[0]


def value(expression: str) -> ast.Expr:
    (statement,) = kernel(f"t = {expression}").body
    assert isinstance(statement, Assign)
    return statement.value


@pytest.mark.parametrize(
    "text, node",
    [
        ("-1.5", Number(-1.5)),
        ("-inf", Number(-math.inf)),
        ("True", Number(True)),
        ("-a", Unary("-", Name("a"))),
        ("not a", Unary("not", Name("a"))),
        ("a + b * c", Binary("+", Name("a"), Binary("*", Name("b"), Name("c")))),
        ("a and b and c", Binary("and", Binary("and", Name("a"), Name("b")), Name("c"))),
        ("pow(a, 2)", Binary("**", Name("a"), Number(2))),
        ("logical_not(a)", Unary("not", Name("a"))),
        ("index(m)", Name("m")),
        ("f16(a)", Call("cast", (Name("a"), Text("f16")))),
        ("cast(a, dtype='f16')", Call("cast", (Name("a"), Text("f16")))),
        ("load(x[m, 2 * n], other=-inf)", None),
        ("load(s)", Call("load", (Element("s", ()),))),
        ("reduce_sum(t, axes=(m, n))", Call("reduce_sum", (Name("t"), Group((Name("m"), Name("n")))))),
    ],
)
def test_expressions(text: str, node: ast.Expr | None) -> None:
    found = value(text)
    if node is None:
        node = Call(
            "load",
            (Element("x", (Name("m"), Binary("*", Number(2), Name("n")))),),
            (("other", Number(-math.inf)),),
        )
    assert found == node
    assert type(found) is type(node)


def test_places_are_of_the_text() -> None:
    found = value("a + b")
    assert found.place == ast.Place(3, 9) and isinstance(found, Binary)
    assert found.right.place == ast.Place(3, 13)


def test_augmented_assignment_and_several_at_once() -> None:
    body = kernel("a, b = 1, 2\na += b").body
    assert body == (
        Assign(("a",), Number(1)),
        Assign(("b",), Number(2)),
        Assign(("a",), Binary("+", Name("a"), Name("b"))),
    )
    with pytest.raises(SketchError, match="SK104"):
        kernel("a, b = b, a")


def test_declarations() -> None:
    text = '''
"""What the file is."""

@kernel
def k(x: In["f32", "2*N", 3, M], y: Out["f16"], z: InOut["i64", "N"], s: Scratch["bool", "N"],
      A: Const, B: Const = -0.5, C: Tune[1, 2] = 1, D: Tune["a", "b"] = "b"):
    """What the kernel is."""
    pass

@program
def main(a: In["f32", "N"], w: Param["fc.0.weight", "f32", 4]):
    """What the program is."""
    return a
'''
    tree = parse(text)
    (kernel,) = tree.kernels
    assert tree.doc == "What the file is." and kernel.doc == "What the kernel is."
    assert [t.role for t in kernel.tensors] == ["In", "Out", "InOut", "Scratch"]
    assert kernel.tensors[0].dims == (Binary("*", Number(2), Name("N")), Number(3), Name("M"))
    assert kernel.tensors[1].dims == ()
    assert kernel.constants == (ast.ConstParameter("A", None), ast.ConstParameter("B", -0.5))
    assert kernel.tunes == (ast.TuneParameter("C", (1, 2), 1), ast.TuneParameter("D", ("a", "b"), "b"))
    assert kernel.dimensions == ("N", "M")
    assert tree.program is not None and tree.program.tensors[1].source == "fc.0.weight"


def test_a_tune_without_default_takes_its_first_choice() -> None:
    assert kernel("pass", ", BM: Tune[4, 8]").tunes == (ast.TuneParameter("BM", (4, 8), 4),)


def test_keys_of_inline_tunes() -> None:
    body = """for m in grid(M, Tune[1, 2]):
    for n in tiles(N, Tune[8, 16], stages=Tune[1, 2]):
        t = dot(load(x[m, n], vector=Tune[1, 4]), load(x[m, n], vector=Tune[1, 4]), over=n)
        store(x[m, n], round_to(t, Tune["tf32", "bf16"]))"""
    keys = [node.key for node in ast.walk(kernel(body)) if isinstance(node, Tune)]
    assert sorted(keys) == [
        "k.m.step",
        "k.n.stages",
        "k.n.step",
        "k.t.vector",
        "k.t.vector#2",
        "k.x.format",
    ]


def test_loops() -> None:
    body = """for m in grid(M):
    for n in tiles(N, 8, start=1, stop=N - 1, reverse=True, stages=2):
        for i in range(2, 10, 2):
            pass
    j = whole(N)
    if M > 1:
        pass
    elif N > 1:
        a = 1
    else:
        b = 1"""
    (grid,) = kernel(body).body
    assert isinstance(grid, ast.Grid) and grid.step == Number(1)
    tiles, whole, branch = grid.body
    assert isinstance(tiles, ast.Tiles) and tiles.reverse and tiles.start == Number(1)
    assert tiles.hints == (("stages", Number(2)),)
    assert tiles.body == (ast.Range("i", Number(2), Number(10), Number(2), ()),)
    assert whole == ast.Whole("j", Name("N"))
    assert isinstance(branch, ast.If) and isinstance(branch.orelse[0], ast.If)
    assert branch.orelse[0].orelse == (Assign(("b",), Number(1)),)


@pytest.mark.parametrize(
    "body, code, words",
    [
        ("t = a if b else c", "SK105", "where(condition, a, b)"),
        ("t = a @ b", "SK105", "dot(a, b, over=k)"),
        ("t = 1 < a < 2", "SK105", "a < b and b < c"),
        ("t = a is b", "SK105", "=="),
        ("t = exp(*a)", "SK105", "one by one"),
        ("t = exp(**a)", "SK105", "one by one"),
        ("t = x[0]", "SK105", "load(x[m, n])"),
        ("t = load(x[:, 0])", "SK105", "whole(N)"),
        ("t = f'{a}'", "SK105", "plain string"),
        ("t = (lambda: 1)()", "SK105", "plain names"),
        ("t = [1, 2]", "SK105", "axes"),
        ("t = reduce_mx(a, n)", "SK202", "'reduce_max'"),
        ("t = tiles(N, 8)", "SK202", "loop"),
        ("exp(x)", "SK104", "store it"),
        ("return x", "SK104", "for loops"),
        ("t: int = 1", "SK104", "assignments"),
        ("x[0] = 1", "SK104", "Assign to a name"),
        ("for a, b in grid(M, 1):\n    pass", "SK106", "one name"),
        ("for a in grid(M, 1):\n    pass\nelse:\n    pass", "SK106", "no else"),
        ("for a in x:\n    pass", "SK106", "grid(M, BM)"),
        ("for a in range():\n    pass", "SK106", "range(n)"),
        ("for a in tiles(N, 8, reverse=M):\n    pass", "SK105", "number"),
        ("n = whole()", "SK106", "whole(N)"),
        ("t = Tune[1.5, 2]", "SK107", "whole number"),
    ],
)
def test_what_is_not_in_the_language(body: str, code: str, words: str) -> None:
    with pytest.raises(SketchError) as caught:
        kernel(body)
    (found,) = caught.value.findings
    assert found.code == code
    assert words in str(caught.value)
    assert found.line >= 3 and f":{found.line}:{found.column}:" in str(caught.value)


@pytest.mark.parametrize(
    "parameter, words",
    [
        ("y: Inn['f32']", "'In'"),
        ("y: In[f32]", "quotes"),
        ("y: In['f23', 'M']", "'f32'"),
        ("y: In['f32', '2 N']", "2*N"),
        ("y: In['f32'] = 1", "default"),
        ("y: Param['w', 'f32']", "kernel"),
        ("x: In['f32']", "declared twice"),
        ("S: Const = 'a'", "number"),
        ("*y", "one by one"),
    ],
)
def test_declarations_that_do_not_fit(parameter: str, words: str) -> None:
    with pytest.raises(SketchError) as caught:
        parse(f'@kernel\ndef k(x: In["f32"], {parameter}):\n    pass\n')
    assert words in str(caught.value)


@pytest.mark.parametrize("text", ["", "def k():\n    pass", "@kernel\nclass K:\n    pass", "@jit\ndef k():\n    pass"])
def test_no_sketch_at_all(text: str) -> None:
    with pytest.raises(SketchError, match="SK102"):
        parse(text)


@pytest.mark.parametrize("text", ["\0", "@kernel\n" + "(" * 300, "-" * 20000 + "1"])
def test_text_that_python_refuses(text: str) -> None:
    with pytest.raises(SketchError):
        parse(text)


@pytest.mark.parametrize("terms", [66, 400, 20000])
@pytest.mark.parametrize("operator", ["+", " and "])
def test_deep_expressions_are_refused_with_a_sentence(operator: str, terms: int) -> None:
    with pytest.raises(SketchError, match=r"SK10[15]"):
        value(operator.join(["a"] * terms))


def test_an_expression_as_deep_as_allowed_is_checked() -> None:
    terms = " + ".join(["load(x[m])"] * 63)
    head = '@kernel\ndef f(x: In["f32", "M"], y: Out["f32", "M"]):\n'
    assert check(parse(f"{head}    for m in grid(M):\n        store(y[m], {terms})")).findings == ()


def test_nothing_is_executed() -> None:
    with pytest.raises(SketchError):
        value("__import__('os').system('true')")
