"""How long forward holds the tensors that it allocates."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from types import ModuleType

import pytest
import torch

from akg_core.lower.host import module as host
from akg_core.lower.host.lifetimes import unneeded
from akg_core.lower.host.turns import TurnsLauncher
from akg_core.records import Argument, Interface, Schedule, Sketch
from akg_core.sketch import ast
from akg_core.sketch.parse import parse
from akg_core.sketch.program import program_of
from akg_core.sketch.schedule import bind

KERNELS = """
@kernel
def double(x: In["f32", "A", "B"], y: Out["f32", "A", "B"]):
    for a in grid(A, 1):
        b = whole(B)
        store(y[a, b], load(x[a, b]) * 2)

@kernel
def pack(w: In["f32", "N", "K"], p: Out["f32", "N", "K"]):
    for n in grid(N, 16):
        k = whole(K)
        store(p[n, k], load(w[n, k]))
"""
CHAIN = """
@program
def model(x: In["f32", 4, 6]):
    a = empty("f32", 4, 6)
    double(x, a)
    b = empty("f32", 4, 6)
    double(a, b)
    c = empty("f32", 4, 6)
    double(b, c)
    d = empty("f32", 4, 6)
    double(c, d)
    return d
"""
VIEWED = """
@program
def model(x: In["f32", 4, 6]):
    a = empty("f32", 4, 6)
    flat = reshape(a, 6, 4)
    turned = reshape(flat, 4, 6)
    double(x, a)
    b = empty("f32", 4, 6)
    double(turned, b)
    c = empty("f32", 4, 6)
    double(b, c)
    return c, b
"""
LOOP = """
@program
def model(x: In["f32", 4, 6]):
    s = empty("f32", 16, 6)
    first = narrow(s, 0, 0, 4)
    double(x, first)
    for t in range(3):
        before = narrow(s, 0, BEFORE, 4)
        after = narrow(s, 0, t * 4 + 4, 4)
        double(before, after)
    last = narrow(s, 0, 12, 4)
    y = empty("f32", 4, 6)
    double(last, y)
    z = empty("f32", 4, 6)
    double(y, z)
    u = empty("f32", 4, 6)
    double(z, u)
    return u
"""
KEPT = """
@program
def model(x: In["f32", 4, 6], w: Param["fc.weight", "f32", 4, 6]):
    a = empty("f32", 4, 6)
    double(x, a)
    p = empty("f32", 4, 6)
    pack(w, p, once=True)
    b = empty("f32", 4, 6)
    double(a, b)
    q = empty("f32", 4, 6)
    pack(w, q, once=True)
    c = empty("f32", 4, 6)
    double(b, c)
    d = empty("f32", 4, 6)
    double(p, d)
    e = empty("f32", 4, 6)
    double(q, e)
    return c, d, e
"""
PRELUDE = """
def _double(x, y): SEEN(y); y.copy_(x * 2)
def _pack(w, p): p.copy_(w.detach())
def _turns(turns, turn):
    for t in turns:
        for function, tensors in turn(t): function(*tensors)
"""
REFERENCE = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(6, 4)
"""
AT_ONCE = TurnsLauncher(
    lambda call: f"(_{call.kernel.name}, ({', '.join(call.tensors)},))", lambda turns, calls: f"_turns({turns}, _turn)"
)


class Watch:
    """Counts the tensors that are alive as each is written."""

    def __init__(self) -> None:
        self.alive: list[int] = []
        self._written: list[weakref.ref[torch.Tensor]] = []

    def __call__(self, tensor: torch.Tensor) -> None:
        gc.collect()
        if not any(ref() is tensor for ref in self._written):
            self._written.append(weakref.ref(tensor))
        self.alive.append(sum(ref() is not None for ref in self._written))


def run(tmp_path: Path, program: str, launcher: TurnsLauncher | None = None) -> tuple[torch.Tensor, list[int], str]:
    """What forward gives first, how many of the tensors written so far were alive at each launch, and its text."""
    text = KERNELS + program
    interface = Interface(arguments=(Argument(name="x", kind="tensor", dtype="f32", shape=(4, 6)),))
    sketch = Sketch(name="toy", text=text, interface=interface)

    def statement(call: host.Call) -> str:
        return f"_{call.kernel.name}({', '.join(call.tensors)})"

    module = host.write_module(sketch, bind(parse(text), Schedule()), statement, PRELUDE, launcher=launcher)
    (tmp_path / "reference.py").write_text(REFERENCE)
    loaded = ModuleType("lifetimes")
    loaded.__file__ = str(tmp_path / "model_new.py")
    watch = Watch()
    loaded.__dict__["SEEN"] = watch
    exec(compile(module, loaded.__file__, "exec"), loaded.__dict__)
    x = torch.ones(4, 6)
    return loaded.ModelNew()(x), watch.alive, module


def program(text: str) -> ast.Program:
    return program_of(parse(KERNELS + text))


def test_what_was_read_for_the_last_time_is_given_back(tmp_path: Path) -> None:
    result, alive, _ = run(tmp_path, CHAIN)
    assert torch.equal(result, torch.full((4, 6), 16.0))
    assert alive == [1, 2, 2, 2]
    assert unneeded(program(CHAIN)) == {"a": (), "b": (), "c": ("a",), "d": ("b",)}


def test_a_tensor_goes_with_its_views_and_what_is_returned_stays(tmp_path: Path) -> None:
    result, alive, text = run(tmp_path, VIEWED)
    assert torch.equal(result, torch.full((4, 6), 8.0))
    assert unneeded(program(VIEWED)) == {"a": (), "b": (), "c": ("a", "flat", "turned")}
    assert "a = flat = turned = None" in text and alive == [1, 2, 2]


@pytest.mark.parametrize("before", ["t * 4", "t * t * 0 + t * 4"], ids=["parts", "views"])
def test_views_of_a_loop_are_forgotten_with_it(tmp_path: Path, before: str) -> None:
    result, _, text = run(tmp_path, LOOP.replace("BEFORE", before))
    assert torch.equal(result, torch.full((4, 6), 128.0))
    freed = next(line for line in text.splitlines() if line.endswith("= None") and "s = " in line)
    names = {name.strip() for name in freed.split("=")[:-1]}
    parts = {"_s_4_along_0"} if "_s_4_along_0" in text else set()
    assert names == {"s", "first", "before", "after", "last", *parts}


def test_names_of_turns_that_one_call_makes_are_none_of_forward(tmp_path: Path) -> None:
    result, _, text = run(tmp_path, LOOP.replace("BEFORE", "t * 4"), AT_ONCE)
    assert torch.equal(result, torch.full((4, 6), 128.0))
    assert "s = first = last = None" in text


def test_what_outlives_the_call_is_held(tmp_path: Path) -> None:
    result, _, text = run(tmp_path, KEPT)
    assert torch.equal(result, torch.full((4, 6), 8.0))
    freed = unneeded(program(KEPT))
    assert freed == {"a": (), "b": (), "c": ("a",), "d": ("b",), "e": ()}
    assert "p = None" not in text and "q = None" not in text


def test_a_number_that_sizes_are_made_of_stays() -> None:
    counted = """
@program
def model(x: In["f32", 4, 6]):
    n = empty("i64")
    y = empty("f32", 4, 6)
    double(x, y)
    some = narrow(y, 0, 0, n)
    z = empty("f32", 4, 6)
    double(x, z)
    return some, z
"""
    assert unneeded(program(counted)) == {"n": (), "y": (), "z": ()}
