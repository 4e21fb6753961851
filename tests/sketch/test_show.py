"""The printed text says the same as the tree: parse(show(tree)) == tree, for any sketch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from akg_core.dtypes import DTYPES
from akg_core.sketch import ast
from akg_core.sketch.check import check
from akg_core.sketch.ops import OPERATIONS
from akg_core.sketch.parse import parse
from akg_core.sketch.show import _PRECEDENCE, WIDTH, show

SKETCHES = sorted((Path(__file__).parents[2] / "examples" / "sketches").glob("*.py"))
NAMES = ["a", "bee", "m", "n", "total", "x_1", "BM"]
BINARY = sorted(_PRECEDENCE)
UNARY_CALLS = [o.name for o in OPERATIONS.values() if o.kind == "elementwise" and o.arity == (1, 1)]

names = st.sampled_from(NAMES)
numbers = st.one_of(
    st.integers(-(2**40), 2**40),
    st.booleans(),
    st.floats(allow_nan=False),
).map(ast.Number)
texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=5).map(ast.Text)


def _unary(op: str, operand: ast.Expr) -> ast.Expr:
    # the parser reads a minus before a literal as one negative literal
    plain = isinstance(operand, ast.Number) and not isinstance(operand.value, bool)
    return operand if op == "-" and plain else ast.Unary(op, operand)


def _deeper(inner: st.SearchStrategy[ast.Expr]) -> st.SearchStrategy[ast.Expr]:
    elements = st.builds(ast.Element, names, st.lists(inner, max_size=3).map(tuple))
    axes = st.lists(names, max_size=3).map(lambda items: ast.AxisList(tuple(items)))
    return st.one_of(
        st.builds(_unary, st.sampled_from(["-", "not", "~"]), inner),
        st.builds(ast.Binary, st.sampled_from(BINARY), inner, inner),
        st.builds(lambda op, x: ast.Call(op, (x,)), st.sampled_from(UNARY_CALLS), inner),
        st.builds(lambda x, d: ast.Call("cast", (x, ast.Text(d))), inner, st.sampled_from(sorted(DTYPES))),
        st.builds(lambda e, v: ast.Call("load", (e,), (("other", v), ("via", ast.Text("bulk")))), elements, inner),
        st.builds(lambda a, v: ast.Call("full", (a, v, ast.Text("f16"))), axes, inner),
        st.builds(lambda x, g: ast.Call("reduce_sum", (x, ast.Group(tuple(g)))), inner, st.lists(inner, max_size=3)),
        st.builds(lambda a, b, k: ast.Call("dot", (a, b), (("over", ast.Name(k)),)), inner, inner, names),
    )


expressions = st.recursive(numbers | names.map(ast.Name), _deeper, max_leaves=12)


def _statements(inner: st.SearchStrategy[ast.Statement]) -> st.SearchStrategy[ast.Statement]:
    bodies = st.lists(inner, max_size=3).map(tuple)
    hints = st.lists(st.tuples(st.sampled_from(["stages", "unroll"]), expressions), max_size=1).map(tuple)
    bounds = st.none() | expressions
    return st.one_of(
        st.builds(ast.Grid, names, expressions, expressions, bodies, hints),
        st.builds(ast.Tiles, names, expressions, expressions, bodies, bounds, bounds, st.booleans(), hints),
        st.builds(ast.Range, names, expressions, expressions, expressions, bodies, hints),
        st.builds(ast.If, expressions, bodies, bodies),
    )


stores = st.builds(
    lambda name, indices, value: ast.Effect(ast.Call("store", (ast.Element(name, tuple(indices)), value))),
    names,
    st.lists(expressions, max_size=3),
    expressions,
)
simple = st.one_of(
    st.builds(lambda name, value: ast.Assign((name,), value), names, expressions),
    st.builds(lambda a, b, p: ast.Assign((a, b), ast.Call("split", (p, ast.Group((p, p))))), names, names, expressions),
    st.builds(ast.Whole, names, expressions),
    stores,
)
statements = st.recursive(simple, _statements, max_leaves=6)
docs = st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=30).map(str.strip)
kernels = st.builds(
    lambda body, doc: ast.Kernel(
        "k",
        (ast.TensorParameter("t", "InOut", "f32", (ast.Name("M"), ast.Number(3))),),
        (ast.ConstParameter("S", None), ast.ConstParameter("T", -0.5)),
        (ast.TuneParameter("U", (1, 2), 2), ast.TuneParameter("V", ("a", "b"), "a")),
        tuple(body),
        doc,
    ),
    st.lists(statements, max_size=4),
    docs,
)


@settings(max_examples=150)
@given(kernels)
def test_round_trip(kernel: ast.Kernel) -> None:
    tree = ast.SketchFile((kernel,))
    text = show(tree)
    again = parse(text)
    assert again == tree, text
    assert show(again) == text


@settings(max_examples=150)
@given(kernels)
def test_any_tree_can_be_checked(kernel: ast.Kernel) -> None:
    """However wrong it is, the checker names what is wrong, and does not fail itself."""
    checked = check(ast.SketchFile((kernel,)))
    assert checked.errors  # its Const has no value
    assert checked.tree.kernels[0] == kernel


@settings(max_examples=100)
@given(texts)
def test_round_trip_of_strings(text: ast.Text) -> None:
    tree = ast.SketchFile((ast.Kernel("k", (), (), (), (ast.Assign(("t",), text),)),))
    assert parse(show(tree)) == tree


@pytest.mark.parametrize("path", SKETCHES, ids=lambda path: path.stem)
def test_examples(path: Path) -> None:
    tree = parse(path.read_text())
    text = show(tree)
    assert parse(text) == tree
    code = show(replace(tree, doc="", kernels=tuple(replace(kernel, doc="") for kernel in tree.kernels)))
    assert max(map(len, code.splitlines())) <= WIDTH


def test_program_round_trip() -> None:
    text = '''"""A file."""


@kernel
def k(x: In["f32", "M"], y: Out["f32", "M"], S: Const):
    """A kernel.

    With \\\\ and \\"\\"\\" in it.
    """


@program
def main(a: In["f32", "M"], w: Param["fc.weight", "f32", "2 * M"]):
    b = empty("f32", M)
    c = zeros("f32")
    d = full("f32", -inf, M, 2 * M)
    e = reshape(d, 2 * M * M)
    f = permute(d, 1, 0)
    g = narrow(d, 0, 1, M)
    h = expand(c, M)
    i = floats(g)
    k(a, b, S=M // 2, once=True)
    k(a, b, S=0.5)
    return b, e
'''
    tree = parse(text)
    assert show(tree) == text
    assert parse(show(tree)) == tree


def test_long_lines_are_wrapped_in_brackets() -> None:
    terms = " + ".join(f"load(x[m, {i}]) * load(x[m, {i} + 1])" for i in range(12))
    tree = parse(f'@kernel\ndef k(x: In["f32", "M", "N"]):\n    t = {terms}\n')
    lines = show(tree).splitlines()
    assert len(lines) > 4 and max(map(len, lines)) <= WIDTH
    assert parse(show(tree)) == tree


def test_parentheses_only_where_needed() -> None:
    body = "t = -(a + b) * c ** (-2) - (d - e) + (-1) ** f"
    assert body in show(parse(f"@kernel\ndef k():\n    {body}\n"))
