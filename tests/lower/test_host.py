"""model_new.py as text: run it with launches that are Python, so that no plugin is needed."""

from __future__ import annotations

import importlib.util
import itertools
import math
from pathlib import Path
from types import ModuleType

import pytest
import torch

from akg_core.judge.source.text import python_findings
from akg_core.lower.host import module as host
from akg_core.records import Argument, Interface, KernelSource, Packing, Schedule, Sketch, Target
from akg_core.sketch.interpret import interpret
from akg_core.sketch.parse import parse
from akg_core.sketch.schedule import bind

KERNELS = """
@kernel
def pack(w: In["f32", "N", "K"], p: Out["f32", "K", "N"]):
    for n in grid(N, 16):
        k = whole(K)
        store(p[k, n], load(w[n, k]))

@kernel
def add(w: In["f32", "N", "K"], p: InOut["f32", "K", "N"]):
    for n in grid(N, 16):
        k = whole(K)
        store(p[k, n], load(p[k, n]) + load(w[n, k]))

@kernel
def scale(x: In["f32", "A", "B"], y: Out["f32", "A", "B"], S: Const = 2):
    for a in grid(A, 1):
        b = whole(B)
        store(y[a, b], load(x[a, b]) * S)

@kernel
def count(c: InOut["i64"], y: Out["f32", "2*A"], x: In["f32", "A"]):
    for a in grid(A, 1):
        store(y[a], load(x[a]))
        store(c, load(c) + 1)
"""
REFERENCE = """
import torch

class Model(torch.nn.Module):
    def __init__(self, columns=8):
        super().__init__()
        self.fc = torch.nn.Linear(columns, 5)
        self.register_buffer("seen", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        raise AssertionError("the reference must not run")
"""
# What the launches of the tests do, in place of kernels.
PRELUDE = """
LAUNCHED = []

def _pack(w, p): LAUNCHED.append("pack"); p.copy_(w.detach().t())
def _add(w, p): LAUNCHED.append(w.data_ptr()); p.add_(w.detach().t())
def _scale(x, y, factor): LAUNCHED.append("scale"); y.copy_(x * factor)
def _count(c, y, x): LAUNCHED.append("count"); c.add_(1); y.copy_(torch.cat([x, x]))
"""
_names = itertools.count()


def statement(call: host.Call) -> str:
    factor = f", {call.constants['S'].value}" if "S" in call.constants else ""
    return f"_{call.kernel.name}({', '.join(call.tensors)}{factor})"


def load(tmp_path: Path, program: str, *arguments: Argument, **packing: object) -> ModuleType:
    text = KERNELS + program
    interface = Interface(arguments=arguments or (tensor("x"),), **packing)
    sketch = Sketch(name="toy", text=text, interface=interface)
    module = host.write_module(sketch, bind(parse(text), Schedule()), statement, PRELUDE)
    files = {"model_new.py": module.replace(PRELUDE.strip(), "")}
    source = KernelSource(plugin="toy", target=Target(backend="cpu"), files=files)
    assert not python_findings(source, "PY"), "no plugin would take this text"
    (tmp_path / "model_new.py").write_text(module)
    (tmp_path / "reference.py").write_text(REFERENCE)
    spec = importlib.util.spec_from_file_location(f"host_{next(_names)}", tmp_path / "model_new.py")
    assert spec and spec.loader
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def tensor(name: str) -> Argument:
    return Argument(name=name, kind="tensor", dtype="f32", shape=(4, 8))


SCALE = """
@program
def model(x: In["f32", "M", "K"]):
    y = empty("f32", M, K)
    scale(x, y, S=3)
    return y
"""


LOOP = """
@program
def model(x: In["f32", "M", "K"]):
    y = empty("f32", 3 * M, K)
    first = narrow(y, 0, 0, M)
    scale(x, first, S=1)
    for max in range(2):
        before = narrow(y, 0, max * M, M)
        after = narrow(y, 0, (max + 1) * M, M)
        scale(before, after)
    return y
"""


def test_a_loop_launches_turn_after_turn(tmp_path: Path) -> None:
    module = load(tmp_path, LOOP)
    x = torch.randn(4, 6)
    assert torch.equal(module.ModelNew(6)(x), torch.cat([x, 2 * x, 4 * x]))
    assert module.LAUNCHED == ["scale"] * 3


PARTS = """
@program
def model(x: In["f32", 4, "K"]):
    y = empty("f32", 16, K)
    first = narrow(y, 0, BEGIN, 4)
    scale(x, first, S=1)
    for t in range(3):
        before = narrow(y, 0, BEFORE, 4)
        after = narrow(y, 0, AFTER, 4)
        scale(before, after)
    return y
"""


@pytest.mark.parametrize(
    ("begin", "before", "after", "backwards"),
    [("0", "t * 4", "t * 4 + 4", False), ("12", "12 - t * 4", "8 - 4 * t", True)],
)
def test_the_parts_that_a_loop_takes_are_made_before_it(
    tmp_path: Path, begin: str, before: str, after: str, backwards: bool
) -> None:
    module = load(tmp_path, PARTS.replace("BEGIN", begin).replace("BEFORE", before).replace("AFTER", after))
    text = (tmp_path / "model_new.py").read_text()
    assert text.count("= y.split(4, 0)") == 1 and text.count("y.narrow(") == 1, "that is the view outside of the loop"
    x = torch.randn(4, 6)
    due = [x, 2 * x, 4 * x, 8 * x]
    assert torch.equal(module.ModelNew(6)(x), torch.cat(due[::-1] if backwards else due))


@pytest.mark.parametrize(
    ("before", "after"),
    [("t * 4 + 2", "t * 4 + 4"), ("t * 2", "t * 2 + 6"), ("t * t * 2", "t * 4 + 2")],
    ids=["between", "overlapping", "squares"],
)
def test_views_that_are_no_parts_are_made_at_their_turn(tmp_path: Path, before: str, after: str) -> None:
    program = PARTS.replace("BEGIN", "0").replace("BEFORE", before).replace("AFTER", after)
    module = load(tmp_path, program)
    x, y = torch.randn(4, 6), torch.full((16, 6), math.nan)
    y[:4] = x
    for t in range(3):
        start, end = (eval(text, {"t": t}) for text in (before, after))
        y[end : end + 4] = 2 * y[start : start + 4].clone()
    got = module.ModelNew(6)(x)
    assert torch.equal(got[:4], y[:4]) and got.shape == y.shape
    assert "y.narrow(0, " in (tmp_path / "model_new.py").read_text().partition("for t in")[2]


def test_model_is_the_references(tmp_path: Path) -> None:
    module = load(tmp_path, SCALE)
    model = module.ModelNew(6)
    assert isinstance(model, module.Model)
    assert set(model.state_dict()) == {"fc.weight", "fc.bias", "seen"} and model.fc.in_features == 6
    x = torch.randn(4, 6)
    y = model(x)
    assert torch.equal(y, 3 * x) and not y.requires_grad and torch.equal(model(x=x), y)


def test_inputs_are_made_contiguous(tmp_path: Path) -> None:
    x = torch.randn(8, 4).t()
    y = load(tmp_path, SCALE).ModelNew()(x)
    assert torch.equal(y, 3 * x) and y.is_contiguous()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (torch.zeros(4, 8, dtype=torch.float64), "x must be a 2-dimensional torch.float32 tensor"),
        (torch.zeros(4), "not 1-dimensional"),
        ([1.0], "x must be a tensor, not list"),
    ],
)
def test_wrong_tensors(tmp_path: Path, value: object, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        load(tmp_path, SCALE).ModelNew()(value)


PACKED = """
@program
def model(x: In["f32", "M", "K"], weight: Param["fc.weight", "f32", "N", "K"]):
    p = empty("f32", K, N)
    pack(weight, p, once=True)
    y = empty("f32", K, N)
    scale(p, y)
    return y
"""


PACKED_VIEWS = PACKED.replace(
    "pack(weight, p, once=True)",
    "flat = reshape(p, K, N)\n    seen = reshape(weight, N, K)\n    pack(seen, flat, once=True)",
)


@pytest.mark.parametrize("program", [PACKED, PACKED_VIEWS])
def test_what_is_launched_once_follows_its_parameters(tmp_path: Path, program: str) -> None:
    module = load(tmp_path, program)
    model, x = module.ModelNew(), torch.zeros(4, 8)
    for _ in range(3):
        assert torch.equal(model(x), 2 * model.fc.weight.t())
    assert module.LAUNCHED.count("pack") == 1
    with torch.no_grad():
        model.fc.weight.mul_(2)
    assert torch.equal(model(x), 2 * model.fc.weight.t())
    model.fc.weight = torch.nn.Parameter(torch.randn(5, 8))
    assert torch.equal(model(x), 2 * model.fc.weight.t())
    model.fc.weight.data = torch.randn(5, 8)
    assert torch.equal(model(x), 2 * model.fc.weight.t())
    model.load_state_dict({key: torch.ones_like(value) for key, value in model.state_dict().items()})
    assert torch.equal(model(x), torch.full((8, 5), 2.0))
    assert module.LAUNCHED.count("pack") == 5


def test_parameters_in_memory_of_others_are_read_anew_at_each_call(tmp_path: Path) -> None:
    module = load(tmp_path, PACKED)
    model, x = module.ModelNew(), torch.zeros(4, 8)
    for memory in (torch.rand(5, 8).share_memory_(), torch.from_numpy(torch.rand(5, 8).numpy())):
        model.fc.weight = torch.nn.Parameter(memory)
        for _ in range(2):
            assert torch.equal(model(x), 2 * memory.t())
            memory.add_(1)
    assert module.LAUNCHED.count("pack") == 4


def test_sizes_that_do_not_fit_a_parameter(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"x must have the shape \[4, 8\], not \[4, 7\]"):
        load(tmp_path, PACKED).ModelNew()(torch.zeros(4, 7))


def test_fixed_sizes_are_checked(tmp_path: Path) -> None:
    program = SCALE.replace('"M", "K"]', '4, "K"]').replace("M, K", "4, K")
    model = load(tmp_path, program).ModelNew()
    assert model(torch.ones(4, 3)).shape == (4, 3)
    with pytest.raises(ValueError, match=r"\[4, 3\], not \[5, 3\]"):
        model(torch.ones(5, 3))


COUNT = """
@program
def model(x: In["f32", "M"], seen: Param["seen", "i64"]):
    y = empty("f32", 2*M)
    count(seen, y, x)
    z = reshape(y, 2, M)
    t = permute(z, 1, 0)
    half = narrow(y, 0, M, M)
    return z, t, half
"""


def test_buffers_are_updated_and_views_returned(tmp_path: Path) -> None:
    model = load(tmp_path, COUNT, packing="list").ModelNew()
    version = model.seen._version
    z, t, half = model(torch.arange(3.0))
    assert model.seen.item() == 1 and model.seen._version > version
    assert z.tolist() == [[0, 1, 2], [0, 1, 2]] and torch.equal(t, z.t()) and half.tolist() == [0, 1, 2]


def test_a_view_is_as_long_as_a_tensor_says(tmp_path: Path) -> None:
    text = '@program\ndef main(x: In["f32", "N", 2], n: In["i64"]):\n    y = narrow(x, 0, 0, n)\n    return y\n'
    count = Argument(name="n", kind="tensor", dtype="i64")
    model, given = load(tmp_path, text, tensor("x"), count, packing="tensor").ModelNew(), torch.randn(5, 2)
    assert all(torch.equal(model(given, torch.tensor(n)), given[:n]) for n in (0, 3, 5))


def test_named_tuples_of_pytorch_are_given_back(tmp_path: Path) -> None:
    text = '@program\ndef main(x: In["f32", "N"]):\n    y = narrow(x, 0, 0, 1)\n    return x, y\n'
    given = torch.randn(3)
    found = load(tmp_path, text, packing="tuple", named="torch.return_types.min").ModelNew()(given)
    assert isinstance(found, torch.return_types.min) and torch.equal(found.indices, given[:1])


def test_collections_in_collections_are_given_back(tmp_path: Path) -> None:
    text = '@program\ndef main(x: In["f32", "N"]):\n    y = narrow(x, 0, 0, 1)\n    return x, y, y, x\n'
    inner = Packing(packing="dict", keys=("a", "b"), parts=(Packing(), Packing(packing="list", parts=(Packing(),))))
    given = torch.randn(3)
    form = {"packing": "tuple", "parts": (Packing(), inner, Packing())}
    first, found, last = load(tmp_path, text, **form).ModelNew()(given)
    assert torch.equal(first, given) and torch.equal(last, given) and list(found) == ["a", "b"]
    assert torch.equal(found["a"], given[:1]) and torch.equal(found["b"][0], given[:1])


@pytest.mark.parametrize("name", ["float", "slice", "int", "max"])
def test_arguments_may_be_called_as_builtins_are(tmp_path: Path, name: str) -> None:
    number = Argument(name="alpha", kind="number", dtype="f64", value=2.5)
    text = f'@program\ndef main({name}: In["f32", "N"], alpha: In["f64"]):\n    return {name}, alpha\n'
    given = torch.randn(3)
    found = load(tmp_path, text, tensor(name), number, packing="tuple").ModelNew()(given, 0.5)
    assert torch.equal(found[0], given) and found[1].item() == 0.5


@pytest.mark.parametrize("name", ["range", "slice", "min", "torch", "updates", "_device"])
def test_arguments_may_be_called_as_what_forward_uses_is(tmp_path: Path, name: str) -> None:
    text = f"""
@program
def main({name}: In["f32", "N", 4], size: In["f64"]):
    y = empty("f32", N, 4)
    for n in range(minimum(N, 2)):
        x = narrow({name}, 0, n, 1)
        z = narrow(y, 0, n, 1)
        scale(x, z)
    last = narrow({name}, 1, 0, 2, 2)
    return y, last, size
"""
    number = Argument(name="size", kind="number", dtype="f64", value=2.5)
    mode = Argument(name="type", kind="constant", value=1)
    model = load(tmp_path, text, tensor(name), number, mode, packing="tuple").ModelNew()
    given = torch.randn(2, 4)
    for y, last, size in (model(given, 0.5), model(given, 0.5, 1), model(**{name: given}, size=0.5, type=1)):
        assert torch.equal(y, 2 * given) and torch.equal(last, given[:, ::2]) and size.item() == 0.5
    with pytest.raises(ValueError, match="made for type=1, not 2"):
        model(given, 0.5, 2)
    with pytest.raises(TypeError, match=f"^{name} must be a tensor"):
        model(1, 0.5)


@pytest.mark.parametrize(("start", "length", "step"), [(0, 2, 2), (1, 2, 2), (0, 1, 5), (3, 0, 2)])
def test_a_narrow_may_have_a_step(tmp_path: Path, start: int, length: int, step: int) -> None:
    text = f'@program\ndef main(x: In["f32", 2, 4]):\n    y = narrow(x, 1, {start}, {length}, {step})\n    return y\n'
    x = torch.arange(8.0).view(2, 4)
    wanted = x[:, start : start + length * step : step]
    y = load(tmp_path, text).ModelNew()(x)
    (interpreted,) = interpret(parse(text), [x]).outputs
    for found in (y, interpreted):
        assert torch.equal(found, wanted) and found.stride() == wanted.stride() and found.shape == (2, length)


def test_packing(tmp_path: Path) -> None:
    assert isinstance(load(tmp_path, COUNT, packing="tuple").ModelNew()(torch.ones(2)), tuple)
    result = load(tmp_path, COUNT, packing="dict", keys=("a", "b", "c")).ModelNew()(torch.ones(2))
    assert list(result) == ["a", "b", "c"]


def test_constants_and_numbers(tmp_path: Path) -> None:
    arguments = (
        tensor("x"),
        Argument(name="factor", kind="number", value=2.5),
        Argument(name="sizes", kind="constant", value=[1, 2]),
        Argument(name="mode", kind="constant", value=None),
    )
    program = SCALE.replace('"K"]):', '"K"], factor: In["f64"]):').replace("scale(x, y, S=3)", "scale(x, y)")
    model, x = load(tmp_path, program, *arguments).ModelNew(), torch.ones(2, 2)
    assert torch.equal(model(x), 2 * x) and torch.equal(model(x, 1, (1, 2), mode=None), 2 * x)
    with pytest.raises(ValueError, match=r"made for sizes=\[1, 2\], not \[1, 3\]"):
        model(x, 1.0, [1, 3])
    with pytest.raises(ValueError, match="mode=None"):
        model(x, mode="other")


def test_numbers_made_of_numbers_are_rounded_once(tmp_path: Path) -> None:
    program = 'def main(b: In["f64"]):\n    rest = full("f64", -(1 - b) / 2)\n    return b, rest\n'
    sketch = Sketch(
        name="s",
        text=f"@program\n{program}",
        interface=Interface(arguments=(Argument(name="beta", kind="number", dtype="f64", value=0.5),), packing="tuple"),
    )
    text = host.write_module(sketch, parse(sketch.text), lambda call: "", "", floats="f32")
    assert "b = torch.full((), beta, dtype=torch.float32" in text
    assert "rest = torch.full((), -(1 - beta) / 2, dtype=torch.float32" in text
    b, rest = interpret(parse(sketch.text), [0.999], {}, Schedule()).outputs
    assert b.item() == 0.999 and rest.item() == -(1 - 0.999) / 2


def test_names_that_python_or_forward_takes(tmp_path: Path) -> None:
    program = """
@program
def model(x: In["f32", "self", "y"], b: In["f32", "self", "y"]):
    torch = empty("f32", self, y)
    scale(b, torch)
    return torch
"""
    module = load(tmp_path, program, tensor("b"), tensor("y"))  # the program's x is forward's b, and its b forward's y
    x, b = torch.zeros(2, 3), torch.ones(2, 3)
    assert torch.equal(module.ModelNew()(x, b), 2 * b) and torch.equal(module.ModelNew()(b=x, y=b), 2 * b)


def test_dimensions_that_only_numbers_can_show_to_agree(tmp_path: Path) -> None:
    program = """
@program
def model(x: In["f32", "M"], seen: Param["seen", "i64"]):
    y = empty("f32", (M + 1) // 2 * 4)
    count(seen, y, x)
    return y
"""
    model = load(tmp_path, program).ModelNew()
    assert model(torch.ones(4)).shape == (8,)
    with pytest.raises(ValueError, match=r"\[6\], not \[8\]"):
        model(torch.ones(3))


def test_calls_name_sizes_by_the_program() -> None:
    (call,) = host.calls(parse(KERNELS + SCALE))
    assert call.sizes == {"A": "M", "B": "K"} and call.constants["S"].value == 3


def test_an_int_is_a_size_of_the_program_and_a_float_answers_what_was_asked(tmp_path: Path) -> None:
    text = """
@program
def model(x: In["f32", "M", "K"], heads: In["bool", "N"], p: In["f64"]):
    y = empty("f32", N, K)
    first = narrow(x, 0, 0, N)
    scale(first, y, S=3)
    return y
"""
    heads = Argument(name="heads", kind="size", dtype="bool", shape=("s0",), value=3)
    p = Argument(name="p", kind="number", dtype="f64", value=0.5)
    made = load(tmp_path, text, tensor("x"), heads, p, asked=("(p > 0.0)",), guards=("(s0 <= 4)",))
    x = torch.randn(4, 8)
    assert torch.equal(made.ModelNew()(x, 2, 0.25), 3 * x[:2])
    for given, said in [((2, 0.0), "made for p > 0.0"), ((5, 0.5), "heads <= 4"), ((2.0, 0.5), "heads must be an int")]:
        with pytest.raises((TypeError, ValueError), match=said):
            made.ModelNew()(x, *given)


def test_tensors_may_lack_leading_dims_as_far_as_the_interface_says(tmp_path: Path) -> None:
    model = load(tmp_path, SCALE, tensor("x"), absent=(1,)).ModelNew()
    for shape in ((4, 8), (8,)):
        x = torch.randn(shape)
        assert torch.equal(model(x), 3 * x)
    with pytest.raises(TypeError, match="x must be a 2-dimensional"):
        model(torch.randn(()))


def test_of_nothing_comes_nothing_where_tensors_may_be_empty(tmp_path: Path) -> None:
    x = Argument(name="x", kind="tensor", dtype="f32", shape=("s0", "s1"))
    made = load(tmp_path, SCALE, x, empty=True)
    assert made.ModelNew()(torch.empty(3, 0)).shape == (3, 0) and not made.LAUNCHED
    made.ModelNew()(torch.empty(3, 2))
    assert made.LAUNCHED == ["scale"]
