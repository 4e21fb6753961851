"""Random sketches: the interpreter computes what torch computes, and values have the types that check found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from akg_core.records import Schedule
from akg_core.sketch import ast
from akg_core.sketch.check import check
from akg_core.sketch.interpret import interpret
from akg_core.sketch.interpret.expression import Evaluator, Frame, Value
from akg_core.sketch.interpret.tiles import Tile
from akg_core.sketch.parse import parse

SKETCHES = Path(__file__).parents[2] / "examples" / "sketches"

# An expression as the sketch has it, and the same over whole tensors: x [M, N], u [1, N], v [M, 1].
Tensors = dict[str, Tensor]
Term = tuple[str, Callable[[Tensors], Tensor]]


def _leaf(name: str) -> Term:
    return name, lambda env: env[name]


def _number(value: float) -> Term:
    return repr(value), lambda env: torch.tensor(value, dtype=env["x"].dtype)


def _call(name: str, function: Callable[..., Tensor], *terms: Term) -> Term:
    return f"{name}({', '.join(text for text, _ in terms)})", lambda env: function(*(term(env) for _, term in terms))


def _infix(op: str, function: Callable[..., Tensor], a: Term, b: Term) -> Term:
    return f"({a[0]} {op} {b[0]})", lambda env: function(a[1](env), b[1](env))


TILES = st.sampled_from(["x", "u", "v", "s"]).map(_leaf)
LEAVES = st.one_of(TILES, st.sampled_from([-1.5, 0.25, 0.1, 2.0]).map(_number))
# one of two literals takes the dtype of no tile, and is of f32
CHOICES = st.one_of(st.tuples(TILES, LEAVES), st.tuples(LEAVES, TILES))
# what jumps is applied to inputs only: elsewhere the last bit of an exp could decide
JUMPS = st.one_of(
    st.tuples(st.sampled_from(["floor", "ceil", "round", "trunc", "sign"]), LEAVES).map(
        lambda p: _call(p[0], getattr(torch, p[0]), p[1])
    ),
    st.tuples(st.sampled_from([("<", torch.lt), (">=", torch.ge), ("==", torch.eq)]), LEAVES, LEAVES, CHOICES).map(
        lambda p: _call("where", torch.where, _infix(*p[0], p[1], p[2]), *p[3])
    ),
)


def _grow(terms: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
    unary = st.sampled_from(["abs", "relu", "exp", "tanh", "sigmoid", "sin", "erf", "expm1"])
    binary = st.sampled_from([("+", torch.add), ("-", torch.sub), ("*", torch.mul)])
    return st.one_of(
        st.tuples(unary, terms).map(lambda p: _call(p[0], getattr(torch, p[0]), p[1])),
        st.tuples(binary, terms, terms).map(lambda p: _infix(*p[0], p[1], p[2])),
        st.tuples(st.sampled_from(["maximum", "minimum"]), terms, terms).map(
            lambda p: _call(p[0], getattr(torch, p[0]), p[1], p[2])
        ),
    )


TERMS = st.recursive(st.one_of(LEAVES, JUMPS), _grow, max_leaves=6)
SHAPES = st.tuples(st.integers(1, 9), st.integers(1, 17))
STEPS = st.tuples(st.sampled_from([1, 2, 4]), st.sampled_from([1, 3, 8]))

LOADS = "x = load(a[m, n]); u = load(b[n]); v = load(c[m]); s = load(d)"
HEADER = """@kernel
def k(a: In["{t}", "M", "N"], b: In["{t}", "N"], c: In["{t}", "M"], d: In["{t}"], y: Out["{t}"{dims}],
      BM: Tune[1, 2, 4] = 1, BN: Tune[1, 3, 8] = 1):
"""
MAP = """    for m in grid(M, BM):
        for n in grid(N, BN):
            {loads}
            store(y[m, n], x * 0 + {term})
"""
ROWS = """    for m in grid(M, BM):
        acc = full([m], {start}, "{t}")
        for n in tiles(N, BN):
            {loads}
            part = reduce_{name}(x * 0 + {term}, n)
            acc = {combine}
        store(y[m], acc)
"""
ALL = """    acc = full([], {start}, "{t}")
    for n in tiles(N, BN, reverse=True):
        for m in tiles(M, BM):
            {loads}
            part = reduce_{name}(x * 0 + {term}, (m, n))
            acc = {combine}
    store(y, acc)
"""
SCAN = """    for m in grid(M, BM):
        acc = full([m], {start}, "{t}")
        for n in tiles(N, BN, reverse={reverse}):
            {loads}
            part = scan_{name}(x * 0 + {term}, n, reverse={reverse})
            t = {combine}
            store(y[m, n], t)
            acc = {end}(t, n)
"""
COMBINE = {
    "sum": ("0", "acc + part"),
    "max": ("-inf", "maximum(acc, part)"),
    "min": ("inf", "minimum(acc, part)"),
}


def _draw(shape: tuple[int, int], dtype: torch.dtype) -> tuple[list[Tensor], Tensors]:
    m, n = shape
    generator = torch.Generator().manual_seed(m * 100 + n)
    tensors = [torch.randn(size, generator=generator).to(dtype) for size in ((m, n), (n,), (m,), ())]
    a, b, c, d = tensors
    return tensors, {"x": a, "u": b[None, :], "v": c[:, None], "s": d}


def _run(
    body: str, dims: str, shape: tuple[int, int], steps: tuple[int, int], dtype: torch.dtype, **parts: str
) -> Tensor:
    name = {torch.float32: "f32", torch.float64: "f64"}[dtype]
    loads = LOADS.replace("; ", "\n            ")
    text = HEADER.format(t=name, dims=dims) + body.format(t=name, loads=loads, **parts)
    schedule = Schedule(values={"k.BM": steps[0], "k.BN": steps[1]})
    return interpret(parse(text), _draw(shape, dtype)[0], schedule=schedule).outputs[0]


def _whole(term: Term, shape: tuple[int, int], dtype: torch.dtype) -> Tensor:
    env = _draw(shape, dtype)[1]
    return env["x"] * 0 + term[1](env)


@settings(max_examples=60)
@given(TERMS, SHAPES, STEPS, st.sampled_from([torch.float32, torch.float64]))
def test_elementwise(term: Term, shape: tuple[int, int], steps: tuple[int, int], dtype: torch.dtype) -> None:
    ours = _run(MAP, ', "M", "N"', shape, steps, dtype, term=term[0])
    torch.testing.assert_close(ours, _whole(term, shape, dtype), equal_nan=True)


@settings(max_examples=40)
@given(TERMS, SHAPES, STEPS, st.sampled_from(["sum", "max", "min"]), st.booleans())
def test_reductions(term: Term, shape: tuple[int, int], steps: tuple[int, int], name: str, rows: bool) -> None:
    start, combine = COMBINE[name]
    parts = {"start": start, "combine": combine, "name": name, "term": term[0]}
    ours = _run(ROWS if rows else ALL, ', "M"' if rows else "", shape, steps, torch.float64, **parts)
    reference = {"sum": torch.sum, "max": torch.amax, "min": torch.amin}[name]
    torch.testing.assert_close(
        ours, reference(_whole(term, shape, torch.float64), [1] if rows else [0, 1]), equal_nan=True
    )


@settings(max_examples=30)
@given(TERMS, SHAPES, STEPS, st.sampled_from(["sum", "max", "min"]), st.booleans())
def test_scans(term: Term, shape: tuple[int, int], steps: tuple[int, int], name: str, reverse: bool) -> None:
    start, combine = COMBINE[name]
    parts = {"start": start, "combine": combine, "name": name, "term": term[0]}
    parts |= {"reverse": str(reverse), "end": "first" if reverse else "last"}
    ours = _run(SCAN, ', "M", "N"', shape, steps, torch.float64, **parts)
    value = _whole(term, shape, torch.float64)
    value = value.flip(1) if reverse else value
    reference = value.cumsum(1) if name == "sum" else getattr(value, f"cum{name}")(1).values
    torch.testing.assert_close(ours, reference.flip(1) if reverse else reference, equal_nan=True)


# --- interpreter and checker agree on types --------------------------------------------------------------------


class _Watch:
    """Compares every evaluated expression with the type that check gave it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seen = 0
        evaluate = Evaluator.evaluate

        def watched(evaluator: Evaluator, expression: ast.Expr, frame: Frame) -> Value:
            value = evaluate(evaluator, expression, frame)
            if expression.type is not None and isinstance(value, Tile):
                self.seen += 1
                assert (set(value.axes), value.dtype) == (expression.type.axes, expression.type.dtype), expression
                assert value.uniform == expression.type.uniform or not value.value.is_floating_point(), expression
            return value

        monkeypatch.setattr(Evaluator, "evaluate", watched)


DTYPES = ["f64", "f32", "f16", "bf16", "i64", "i32", "i16", "u8"]
MIXED = st.recursive(
    st.sampled_from(["x", "u", "v", "s", "m", "begin(n)", "N", "C", "1", "2.5", "(1 / M)", "sqrt(N)"]),
    lambda terms: st.one_of(
        st.tuples(st.sampled_from(["+", "-", "*", "/"]), terms, terms).map(lambda p: f"({p[1]} {p[0]} {p[2]})"),
        st.tuples(st.sampled_from(["exp", "abs", "floor", "isnan", "f16", "f64", "i32"]), terms).map(
            lambda p: f"{p[0]}({p[1]})" if p[0] != "isnan" else f"where(isnan({p[1]}), {p[1]}, 1)"
        ),
        st.tuples(terms, terms, terms).map(lambda p: f"where({p[0]} > {p[1]}, {p[1]}, {p[2]})"),
        st.tuples(st.sampled_from(["maximum", "minimum", "atan2"]), terms, terms).map(
            lambda p: f"{p[0]}({p[1]}, {p[2]})"
        ),
        terms.map(lambda p: f"reduce_sum(x * 0 + {p}, n)"),
        terms.map(lambda p: f"scan_max(x * 0 + {p}, n)"),
    ),
    max_leaves=5,
)


@settings(max_examples=150)
@given(MIXED, st.tuples(*[st.sampled_from(DTYPES)] * 4))
def test_values_have_the_types_that_check_finds(term: str, dtypes: tuple[str, str, str, str]) -> None:
    a, b, c, d = dtypes
    text = f"""@kernel
def k(a: In["{a}", "M", "N"], b: In["{b}", "N"], c: In["{c}", "M"], d: In["{d}"], y: Out["f64", "M", "N"],
      C: Const = 0.5):
    for m in grid(M, 2):
        for n in grid(N, 3):
            {LOADS.replace("; ", chr(10) + " " * 12)}
            t = {term}
            store(y[m, n], t)
"""
    checked = check(parse(text))
    if any(found.severity == "error" for found in checked.findings):
        return
    tensors = [tensor.abs() + 1 for tensor in _draw((3, 4), torch.float64)[0]]
    names = {"f64": "double", "f32": "float", "f16": "half", "bf16": "bfloat16", "i64": "long", "i32": "int"}
    names |= {"i16": "short", "u8": "byte"}
    inputs = [getattr(tensor, names[dtype])() for tensor, dtype in zip(tensors, dtypes, strict=True)]
    with pytest.MonkeyPatch.context() as patch:
        watch = _Watch(patch)
        interpret(checked.tree, inputs)
        assert watch.seen


@pytest.mark.parametrize("name", ["softmax", "layer_norm", "argmax", "cumsum", "flash_attention", "batched_matmul"])
def test_the_examples_have_the_types_that_check_finds(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = check(parse((SKETCHES / f"{name}.py").read_text())).tree
    shapes = {"layer_norm": [(2, 5, 7)], "argmax": [(2, 9, 5)], "flash_attention": [(1, 2, 20, 8)] * 3}
    inputs = [torch.randn(shape) for shape in shapes.get(name, [(2, 6, 5)] * 2 if "matmul" in name else [(3, 300)])]
    watch = _Watch(monkeypatch)
    interpret(tree, inputs, {"norm.weight": torch.ones(5, 7), "norm.bias": torch.zeros(5, 7)})
    assert watch.seen > 20
