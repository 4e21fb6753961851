"""What forward may take, and what it may do to it: from the file to `ModelNew`, kernels interpreted."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from akg_core.errors import TaskError
from akg_core.judge.compare.bits import flatten
from akg_core.task.argument_records import plain
from akg_core.task.arguments import flat
from akg_core.task.capture import capture
from akg_core.task.source.load import load_source
from akg_core.worker.tensors import fresh
from tests.task.interpreted import interpreted
from tests.task.replay import reference_text

X = "torch.randn(4, 6)"
TAKEN = {
    # name: body of forward, its parameters, what get_inputs gives
    "int": ("return x * n + n", "x, n", f"{X}, 3"),
    "float": ("return x * a", "x, a", f"{X}, 2.5"),
    "bool": ("return -x if flag else x * 2", "x, flag", f"{X}, True"),
    "string": ("return F.interpolate(x, scale_factor=2, mode=mode)", "x, mode", "torch.randn(1, 2, 3, 3), 'nearest'"),
    "none": ("return x + 1 if mask is None else x * mask", "x, mask", f"{X}, None"),
    "dtype": ("return x.to(kind) * 2", "x, kind", f"{X}, torch.float16"),
    "complex": ("return (x != c).to(x.dtype) - x", "x, c", f"{X}.ceil(), complex(1, float('-0.0'))"),
    "size": ("return x.reshape(size) + 1", "x, size", f"{X}, torch.Size([6, 4])"),
    "tuple of numbers": ("return x.permute(dims).contiguous() + dims[0]", "x, dims", f"{X}, (1, 0)"),
    "list of numbers": ("return F.pad(x, pads)", "x, pads", f"{X}, [1, 2]"),
    "nested numbers": ("return x[p[0][0]:p[0][1], p[1][0]:p[1][1]] * 2", "x, p", f"{X}, ((1, 3), (0, 5))"),
    "dict of numbers": ("return x * d['a'] + d['b'][1]", "x, d", f"{X}, {{'a': 2, 'b': [1, 0.5]}}"),
    "list of tensors": ("return torch.cat(xs, 1)", "xs", "[torch.randn(4, 2), torch.randn(4, 3)]"),
    "tuple of tensors": ("return pair[0] @ pair[1]", "pair", f"({X}, torch.randn(6, 3))"),
    "dict of tensors": ("return d['q'] * d['scale'] + d['b']", "d", f"{{'q': {X}, 'scale': 2, 'b': torch.ones(6)}}"),
    "nested tensors": ("return t[0] + t[1][0] * t[1][1]['k']", "t", f"[{X}, ({X}, {{'k': {X}}})]"),
    "no dimensions": ("return x * s + n", "x, s, n", f"{X}, torch.tensor(3.0), torch.tensor(2)"),
    "defaults": ("return x * scale + (0 if bias is None else bias)", "x, scale=2.5, bias=None", X),
    "keyword only": ("return x.sum(dim)", "x, *, dim=1", X),
    "variadic": ("return torch.cat(xs) * 2", "*xs", "torch.ones(2), torch.ones(3)"),
    "a list and a number": ("return xs[0] * n + xs[1]", "xs, n", f"[{X}, {X}], 2"),
}  # fmt: skip
UPDATED = {
    "add_": ("x.add_(1)\nreturn x * 2", "x", X),
    "handed back": ("return x.add_(1)", "x", X),
    "twice": ("x.mul_(2)\nx.add_(1)\nreturn x.sum(-1)", "x", X),
    "copy_": ("x.copy_(y * 2)\nreturn y + 1", "x, y", f"{X}, {X}"),
    "nothing returned of it": ("x.relu_()\nreturn y + 1", "x, y", f"{X}, {X}"),
    "nothing returned": ("x.relu_()\ny.add_(x)", "x, y", f"{X}, {X}"),
    "None before it": ("return None, x.add_(1), y * 2, (None, y + 1)", "x, y", f"{X}, {X}"),
    "a column": ("x[:, 0] = 0\nreturn x.sum(1)", "x", X),
    "old values returned": ("old = x.clone()\nx.add_(1)\nreturn old", "x", X),
    "exchanged": ("old = x.clone()\nx.copy_(y)\ny.copy_(old)\nreturn x + y", "x, y", f"{X}, {X}"),
    "another's values": ("x.copy_(y)\nreturn y * 2", "x, y", f"{X}, {X}"),
    "in a list": ("s[0].add_(x)\ns[1].mul_(2)\nreturn x + s[0]", "x, s", f"{X}, [{X}, {X}]"),
    "not contiguous": ("x.add_(1)\nreturn x * 2", "x", "torch.randn(6, 4).t()"),
    "half": ("x.sigmoid_()\nreturn x.sum()", "x", f"{X}.half()"),
    "a running mean": ("m.mul_(0.9).add_(x.mean(0) * 0.1)\nreturn x - m", "x, m", f"{X}, torch.zeros(6)"),
    "a number beside it": ("x.mul_(a)\na += 1.0\nreturn x + a", "x, a", f"{X}, 2.0"),
}  # fmt: skip


@pytest.mark.parametrize("name", [*TAKEN, *UPDATED])
def test_what_forward_takes_and_updates(name, tmp_path):
    body, parameters, inputs = (TAKEN | UPDATED)[name]
    reference, task, module = interpreted(reference_text(body, inputs=inputs, arguments=parameters), tmp_path)
    mine = reference.inputs(1)
    due = fresh(mine)
    wanted, got = reference.model()(*due), module.ModelNew()(*mine)
    torch.testing.assert_close(got, wanted, rtol=1e-3, atol=1e-5)
    left = {place: value for place, value in flatten(due).items() if isinstance(value, torch.Tensor)}
    torch.testing.assert_close({place: flatten(mine)[place] for place in left}, left, rtol=1e-3, atol=1e-5)
    assert any(argument.mutated for argument in task.interface.arguments) == (name in UPDATED)
    assert len(flat(task.interface.arguments, mine)) == len(task.interface.arguments)


RECORDS = """
import dataclasses
import typing
import torch


@dataclasses.dataclass
class Batch:
    x: torch.Tensor
    mask: torch.Tensor | None = None
    scale: float = 1.0


class State(typing.NamedTuple):
    h: torch.Tensor
    batch: Batch | torch.Tensor


@dataclasses.dataclass(frozen=True)
class Options:
    clip: float = 0.5


class Model(torch.nn.Module):
    def forward(self, state: State, options: Options, more):
        b = state.batch
        assert isinstance(b, Batch) and b.mask is None and isinstance(more[0], Batch)
        state.h.add_(b.x * b.scale)
        return State(state.h.clamp(max=options.clip) + more[0].x, state.h * 2), [b.x + 1]


def get_inputs():
    return [State(torch.randn(4), Batch(torch.randn(4), scale=2.0)), Options(), [Batch(torch.randn(4))]]


def get_init_inputs():
    return []
"""


def test_dataclasses_and_named_tuples_or_what_they_hold(tmp_path):
    reference, task, module = interpreted(RECORDS, tmp_path)
    (mine, *rest), (due, *others) = reference.inputs(1), reference.inputs(1)
    found = module.ModelNew()(mine, *rest)
    assert type(found[0]).__name__ == "State" and found[0].h is found[0][0]
    torch.testing.assert_close(found, reference.model()(due, *others))
    torch.testing.assert_close(mine.h, due.h)
    judged = reference.with_plain_arguments()
    assert judged.records and task.interface.records and type(judged.inputs()[0]) is tuple
    (mine, *rest), (due, *others) = judged.inputs(2), judged.inputs(2)
    assert mine[1] == {"x": mine[1]["x"], "mask": None, "scale": 2.0} and rest[0] == {"clip": 0.5}
    torch.testing.assert_close(module.ModelNew()(mine, *rest), judged.model()(due, *others))
    with pytest.raises(ValueError, match=r"made for options="):
        module.ModelNew()(mine, type(reference.inputs()[1])(2.0), *rest[1:])


def test_with_varying_sizes_numbers_stay_what_they_are(tmp_path):
    source = reference_text("return xs[0] * n + xs[1]", inputs=f"[{X}, {X}], 2", arguments="xs, n")
    _, task, module = interpreted(source, tmp_path, dynamic=True)
    assert task.interface.arguments[0].shape == task.interface.arguments[1].shape == ("s0", "s1")
    given = [torch.randn(3, 9), torch.randn(3, 9)]
    torch.testing.assert_close(module.ModelNew()(given, 2), given[0] * 2 + given[1])


def test_an_updated_argument_that_forward_hands_back_is_itself(tmp_path):
    *_, module = interpreted(reference_text("return x.add_(1), x * 2"), tmp_path)
    x = torch.zeros(4, 6)
    handed, doubled = module.ModelNew()(x)
    assert handed is x and bool((x == 1).all()) and bool((doubled == 2).all())


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("int", (torch.ones(4, 6), 4), r"made for n=3, not 4"),
        ("dtype", (torch.ones(4, 6), torch.float32), r"made for kind=torch.float16, not torch.float32"),
        ("complex", (torch.ones(4, 6), 1j), r"made for c=\(1-0j\), not 1j"),
        ("nested numbers", (torch.ones(4, 6), ((1, 3), (0, 4))), r"made for p=\[\[1, 3\], \[0, 5\]\], not"),
        ("defaults", (torch.ones(4, 6), 3.0), r"made for scale=2.5, not 3.0"),
        ("list of tensors", ([torch.ones(4, 2)],), r"made for xs with 2, not 1 values"),
        ("list of tensors", ([torch.ones(4, 2), None],), r"xs\[1\] must be a tensor, not NoneType"),
        ("dict of tensors", ({"q": torch.ones(4, 6)},), r"made for d with \['q', 'scale', 'b'\], not \['q'\]"),
        ("nested tensors", ([torch.ones(4, 6), torch.ones(4, 6)],), r"t\[1\] must be a list or tuple, not Tensor"),
        ("exchanged", (torch.ones(4, 6),) * 2, "shares memory with another"),
    ],
)
def test_another_value_is_refused_with_a_sentence(name, given, said, tmp_path):
    body, parameters, inputs = (TAKEN | UPDATED)[name]
    *_, module = interpreted(reference_text(body, inputs=inputs, arguments=parameters), tmp_path)
    with pytest.raises((TypeError, ValueError), match=said):
        module.ModelNew()(*given)


@pytest.mark.parametrize(
    ("body", "parameters", "inputs", "said"),
    [
        ("return x", "x, o", f"{X}, object()", "the argument o of forward is or holds a object"),
        ("return x", "x, o", f"{X}, [1, {{1: 2}}]", "the argument o of forward is or holds a dict"),
        (
            "x.add_(1)\nreturn y",
            "x, y",
            "*[torch.ones(3)] * 2",
            "updates its argument x, whose memory is also that of y",
        ),
        ("x.t_()\nreturn x + 1", "x", X, "changes the shape of its argument x"),
    ],
)
def test_what_cannot_be_taken_is_said(body, parameters, inputs, said):
    with pytest.raises(TaskError, match=said) as refused:
        capture(load_source(reference_text(body, inputs=inputs, arguments=parameters), "ref"))
    assert refused.value.cure


def test_a_tensor_is_taken_in_the_order_that_the_example_has_in_memory(tmp_path: Path) -> None:
    """One that lies otherwise is copied."""
    body, init = "return x.sum(1) + self.w.sum(1).mean(), x * 2", "self.w = nn.Parameter(torch.ones(3, 2).t())"
    source = reference_text(body, init, "torch.randn(6, 4).t()")
    reference, task, module = interpreted(source, tmp_path)
    assert [each.order for each in (*task.interface.arguments, *task.interface.parameters)] == [(1, 0), (1, 0)]
    (x,) = reference.get_inputs()
    model, due = module.ModelNew(), reference.Model()
    model.load_state_dict(due.state_dict())
    for given in (x, x.contiguous(), torch.randn(8, 12)[::2, ::2]):
        for found, right in zip(model(given), due(given), strict=True):
            torch.testing.assert_close(found, right)
    assert model(x)[1].stride() == due(x)[1].stride()


RESULTS = """
import dataclasses
import torch


@dataclasses.dataclass(frozen=True)
class Output:
    logits: torch.Tensor
    loss: torch.Tensor | None = None
    parts: tuple = ()
    steps: int = 3


class Model(torch.nn.Module):
    def forward(self, x):
        made = Output(x * 2, parts=(x + 1, {"name": "part", "share": float("-inf"), "last": True}))
        return made, [Output(x - 1, x.sum())], x.shape


def get_inputs():
    return [torch.randn(4, 3)]


def get_init_inputs():
    return []
"""


def test_dataclasses_and_numbers_are_given_back(tmp_path):
    reference, task, module = interpreted(RESULTS, tmp_path)
    (x,) = reference.inputs(1)
    found, due = (flatten(plain(model(x))) for model in (module.ModelNew(), reference.model()))
    assert list(found) == list(due) and len(found) == 13
    for name, value in due.items():
        assert type(found[name]) is type(value)
        torch.testing.assert_close(found[name], value) if isinstance(value, torch.Tensor) else None
        assert isinstance(value, torch.Tensor) or found[name] == value
    assert len([output for output in task.graph.outputs if output]) == 4


def test_a_dataclass_that_computes_is_refused():
    source = RESULTS.replace("    steps: int = 3\n", "    def __post_init__(self): pass\n")
    with pytest.raises(TaskError, match="forward returns a Output, a type of its own"):
        capture(load_source(source, "ref"))
