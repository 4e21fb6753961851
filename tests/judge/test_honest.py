"""Honest formulas are right at every seed, however they are ordered; formulas of less precision are not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from akg_core.errors import TaskError
from akg_core.judge.reference import drawing, precise, process, written
from akg_core.judge.reference.precise import double_model, in_double
from akg_core.records import Case
from akg_core.task.capture import capture
from akg_core.task.source.load import load_source
from akg_core.worker.tensors import load, save
from tests.task.replay import reference_text

SEEDS = (0, 3, 5, 7)
Formula = Callable[[nn.Module, torch.Tensor], torch.Tensor]


@pytest.fixture(autouse=True)
def _no_kept_tensors():
    yield
    drawing._kept.clear()


def prepared(source: str, folder: Path, seed: int = 0, *, training: bool = True) -> dict[str, object]:
    """What the reference process has ready for a file, here in this process."""
    task = capture(load_source(source, "ref"), eval=not training)
    process.open_job({"task": task.model_dump(mode="json"), "folder": str(folder), "seed": seed})
    return process.prepare_job({"room": 0})


def refused(source: str, formula: Formula, folder: Path, seed: int, *, training: bool = True) -> list[str]:
    """Why the answers that a formula gives are wrong, by case. It gets a module with the case's state."""
    preparation = prepared(source, folder, seed, training=training)
    assert len(preparation["draws"]) >= 5
    found = []
    for draw in preparation["draws"]:
        case = Case(**draw["case"])
        module = load_source(source, "ref").model(0, eval=not training)
        module.load_state_dict(load(case.state) if case.state else {})
        with torch.no_grad():
            save(case.outputs, {"result": formula(module, *load(case.inputs)), "changed": {}})
        compared = written.compare_job(
            {"name": case.name, "outputs": str(case.outputs), "longest_reduction": 57, "noise": True}
        )
        found += [f"{case.name}: {o['name']} {o['reason']}" for o in compared["outputs"] if not o["ok"]]
    return found


def linear_then(function: str) -> str:
    return reference_text(
        f"return {function}", init="self.l = nn.Linear(57, 21)", inputs="torch.randn(37, 57)", arguments="x"
    )


NORM = reference_text("return self.b(x)", init="self.b = nn.BatchNorm1d(57)", inputs="torch.randn(37, 57)")


def exact_gelu(module: nn.Module, x: torch.Tensor) -> torch.Tensor:
    x = module.l(x)
    return 0.5 * x * torch.special.erfc(-x * 0.5**0.5)


def textbook_gelu(module: nn.Module, x: torch.Tensor) -> torch.Tensor:
    x = module.l(x)
    return 0.5 * x * (1 + torch.erf(x * 0.5**0.5))


def logistic_gelu(module: nn.Module, x: torch.Tensor) -> torch.Tensor:
    x = module.l(x)
    return x * torch.sigmoid(1.5957691216057308 * (x + 0.044715 * x * x * x))


def folded_norm(module: nn.Module, x: torch.Tensor) -> torch.Tensor:
    b = module.b
    scale = b.weight * torch.rsqrt(b.running_var + b.eps)
    return x * scale + (b.bias - b.running_mean * scale)


def plain_norm(module: nn.Module, x: torch.Tensor) -> torch.Tensor:
    b = module.b
    return (x - b.running_mean) / torch.sqrt(b.running_var + b.eps) * b.weight + b.bias


CONVOLUTION_NORM = reference_text(
    "return self.b(self.c(x)).relu()",
    init="self.c = nn.Conv2d(6, 8, 3, padding=1); self.b = nn.BatchNorm2d(8, track_running_stats=False)",
    inputs="torch.randn(2, 6, 20, 20)",
)


def convolution_norm(module: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """Of tiny inputs the bias is left, which the mean takes away: rounding lifts every second element over 0."""
    b, taps = module.b, F.unfold(x, 3, padding=1)
    y = (module.c.weight.flatten(1) @ taps + module.c.bias[:, None]).unflatten(2, x.shape[2:])
    mean, variance = (each[:, None, None] for each in (y.mean((0, 2, 3)), y.var((0, 2, 3), correction=0)))
    return ((y - mean) * torch.rsqrt(variance + b.eps) * b.weight[:, None, None] + b.bias[:, None, None]).relu()


HONEST: dict[str, tuple[str, Formula, bool]] = {
    "gelu without cancellation": (linear_then("F.gelu(self.l(x))"), exact_gelu, True),
    "gelu by the textbook": (linear_then("F.gelu(self.l(x))"), textbook_gelu, True),
    "gelu by a logistic": (linear_then("F.gelu(self.l(x), approximate='tanh')"), logistic_gelu, True),
    "norm folded to scale and shift": (NORM, folded_norm, False),
    "norm as it is written": (NORM, plain_norm, False),
    "relu of a norm of a convolution": (CONVOLUTION_NORM, convolution_norm, True),
    "softplus by logaddexp": (
        linear_then("F.softplus(self.l(x))"),
        lambda module, x: torch.logaddexp(module.l(x), torch.zeros(())),
        True,
    ),
    "mish by exponentials": (
        linear_then("F.mish(self.l(x))"),
        lambda module, x: module.l(x) * torch.tanh(torch.log1p(torch.exp(module.l(x).clamp(max=40)))),
        True,
    ),
}


@pytest.mark.parametrize("name", HONEST)
@pytest.mark.parametrize("seed", SEEDS)
def test_an_honest_order_is_right_at_every_seed(name: str, seed: int, tmp_path: Path) -> None:
    source, formula, training = HONEST[name]
    assert refused(source, formula, tmp_path, seed, training=training) == []


DISHONEST: dict[str, tuple[str, Formula, bool]] = {
    "bf16 products": (
        linear_then("F.gelu(self.l(x))"),
        lambda m, x: F.gelu(F.linear(x.bfloat16(), m.l.weight.bfloat16()).float() + m.l.bias),
        True,
    ),
    "f16 norm": (NORM, lambda m, x: folded_norm(m, x.half().float()), False),
    "the other gelu": (linear_then("F.gelu(self.l(x))"), logistic_gelu, True),
    "no epsilon": (NORM, lambda m, x: (x - m.b.running_mean) * m.b.running_var.rsqrt() * m.b.weight + m.b.bias, False),
    "one element": (NORM, lambda m, x: plain_norm(m, x).index_put_((torch.tensor(7), torch.tensor(9)), x[0, 0]), False),
}


@pytest.mark.parametrize("name", DISHONEST)
def test_less_than_honest_is_not(name: str, tmp_path: Path) -> None:
    source, formula, training = DISHONEST[name]
    assert refused(source, formula, tmp_path, 3, training=training)


def test_float64_itself_does_not_cancel() -> None:
    x = torch.tensor([-6.0, -10.0, -30.0], dtype=torch.float64)
    with in_double():
        exact, approximate = F.gelu(x), F.gelu(x, approximate="tanh")
    assert torch.allclose(exact, 0.5 * x * torch.special.erfc(-x * 0.5**0.5), rtol=1e-12, atol=0)
    assert approximate[1] == pytest.approx(-1.2041e-37, rel=1e-3)


def test_what_is_quantised_by_scales_in_float64_is_in_float64() -> None:
    x, scale, zero = torch.linspace(-1, 1, 12).double().view(4, 3), torch.rand(3).double() + 0.1, torch.zeros(3).int()
    with in_double():
        found = torch.fake_quantize_per_channel_affine(x, scale, zero, 1, -127, 127)
        other = torch.fake_quantize_per_tensor_affine(x, 0.1, 0, -127, 127)
    with in_double(6e-8, 1):
        moved = torch.fake_quantize_per_channel_affine(x, scale, zero, 1, -127, 127)
    assert torch.equal(found, (x * (1 / scale)).round() * scale) and torch.allclose(other, (x * 10).round() / 10)
    assert moved.dtype == torch.float64 and bool((moved != found)[found != 0].all())


def test_every_intermediate_value_carries_noise() -> None:
    """Also those inside a composed operator, those written in place, and parameters."""
    model = nn.Linear(3, 3)
    with in_double(6e-8, 1):
        inside = F.gelu(torch.full((9,), -8.0, dtype=torch.float64))
        in_place = torch.zeros(9).add_(3)
        moved = double_model(model).weight
    assert 1e-9 < inside.abs().max() < 1e-5
    assert len(in_place.unique()) == 9
    assert bool((moved != model.weight.double()).all())


def test_a_tensor_that_no_copy_of_the_module_holds_is_read_in_float64() -> None:
    """As a closure's parameters are; what is written stays what it is."""
    held, x, into = nn.Linear(3, 3), torch.rand(5, 3, dtype=torch.float64), torch.zeros(5, 3)
    due = x @ held.weight.double().t() + held.bias.double()
    with in_double():
        found = held(x)
        into.copy_(found)
    with in_double(1e-3, 1):
        moved = held(x)
    assert found.dtype == torch.float64 and torch.allclose(found, due, rtol=1e-14)
    assert into.dtype == torch.float32 and bool((moved != due).all())


def test_noise_on_a_large_tensor_is_drawn_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precise, "_AT_ONCE", 10)
    given = torch.full((5, 7), 2.0)
    with in_double(1e-3, 1):
        moved = precise.doubled(given)
        across = torch.ones(5, 7).t().exp()
    assert len(moved.unique()) == 35 and bool(((moved - 2).abs() <= 2.001e-3).all())
    assert len(across.unique()) == 35


# --- references that do not run in float64 -----------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "assert x.dtype == torch.float32",
        "x = x + torch.zeros(37, 57, dtype=torch.int32).view(torch.float32) + x.view(torch.int32)",
    ],
)
def test_a_reference_that_insists_on_its_dtype_is_compared_with_eager(line: str, tmp_path: Path) -> None:
    source = reference_text(f"{line}\nreturn x + 1", inputs="torch.randn(37, 57)")
    preparation = prepared(source, tmp_path)
    assert any("does not run in float64 (" in note for note in preparation["notes"]), preparation["notes"]


def test_another_error_in_float64_is_told(tmp_path: Path) -> None:
    source = reference_text(
        "if x.element_size() > 4:\n    raise ValueError('too wide for me')\nreturn x + 1",
        inputs="torch.randn(37, 57)",
    )
    with pytest.raises(TaskError, match=r"line \d+: forward, run in float64, raises ValueError: too wide for me"):
        prepared(source, tmp_path)


def test_a_draw_that_the_reference_refuses_says_why(tmp_path: Path) -> None:
    source = reference_text("return F.binary_cross_entropy(x, x)", inputs="torch.rand(37, 57)")
    notes = prepared(source, tmp_path)["notes"]
    assert any("does not take large (RuntimeError: all elements of input should be" in note for note in notes), notes
