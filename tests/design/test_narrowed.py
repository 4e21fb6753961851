"""Convolutions in f16 are as exact as those of tf32, which they stand in for, whatever numbers come."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
import torch
from torch import Tensor

from akg_core.design.graph import narrowed
from akg_core.design.graph.values import literal
from akg_core.design.operators import packing
from akg_core.records import Sketch
from akg_core.sketch.interpret import interpret
from akg_core.sketch.parse import parse
from akg_core.task.source.load import load_source
from tests.design.test_packing import sketches

LAYERS = {
    "Conv2d(16, 8, 3, padding=1, bias=False)": (2, 16, 9, 10),  # over a copy
    "Conv2d(16, 8, 1, bias=False)": (2, 16, 9, 10),  # in place
    "ConvTranspose1d(16, 8, 4, stride=2, bias=False)": (2, 16, 21),
}
Designed = Callable[[str, str], tuple[str, tuple[Sketch, ...]]]
FIRST = next(iter(LAYERS))


def _drawn(shape: tuple[int, ...]) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


def _spread(x: Tensor, low: int, high: int) -> Tensor:
    draw = torch.Generator().manual_seed(1)
    return x * torch.exp2(torch.randint(low, high, x.shape, generator=draw).float())


def _some_places(x: Tensor, factor: float) -> Tensor:
    """`factor` times as large in the first quarter of the last dim."""
    return torch.where(torch.arange(x.shape[-1]) < x.shape[-1] // 4, x * factor, x)


PATTERNS: dict[str, Callable[[Tensor], Tensor]] = {
    "signed": lambda x: x,
    "large": lambda x: x * 1e6,
    "huge": lambda x: x * 2.0**60,
    "small": lambda x: x * 1e-6,
    "vanishing": lambda x: x * 2.0**-90,
    "mixed": lambda x: _spread(x, -12, 12),
    "wide": lambda x: _spread(x, -40, 20),
    "one image": lambda x: x * torch.tensor([1.0, 2.0**-30]).reshape(2, *[1] * (x.dim() - 1)),
    "channels": lambda x: x * torch.exp2(-4.0 * torch.arange(16)).reshape(16, *[1] * (x.dim() - 2)),
    "small places": lambda x: _some_places(x, 2.0**-40),
    "large places": lambda x: _some_places(x, 2.0**40),
    "zeros": torch.relu,
    "nothing": torch.zeros_like,
}


known = cache(sketches)


def _results(layer: str, x: Tensor, scale: float = 1.0, design: Designed = known) -> tuple[Tensor, Tensor, Tensor]:
    """What f16, what tf32 and what float64 make of `x`, with weights that are `scale` times as large as drawn."""
    source, found = design(layer, ", ".join(map(str, x.shape)))
    torch.manual_seed(0)
    model = load_source(source, "reference").Model()
    state = {name: value.detach() * scale for name, value in model.state_dict().items()}
    model.load_state_dict(state)
    half, rounded = (interpret(parse(sketch.text), [x], state).outputs[0] for sketch in found[:2])
    assert "f16" in found[0].text and "f16" not in found[1].text
    with torch.no_grad():
        return half, rounded, model.double()(x.double())


def _excess(half: Tensor, rounded: Tensor, due: Tensor) -> float:
    """How many times further than tf32 f16 is from what is due, at worst of all positions of an image."""
    errors = [(found.double() - due).norm(dim=1) for found in (half, rounded)]
    return float((errors[0] / errors[1].clamp_min(2.0**-140)).nan_to_num(nan=1e9).max())


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_errors_are_those_of_the_format_that_is_replaced(pattern: str, layer: str) -> None:
    found = _results(layer, PATTERNS[pattern](_drawn(LAYERS[layer])))
    assert _excess(*found) < 2


@pytest.mark.parametrize("power", [2.0**-60, 2.0**-20, 2.0**20, 2.0**60])
def test_weights_have_scales_of_their_own(power: float) -> None:
    assert _excess(*_results(FIRST, _drawn(LAYERS[FIRST]), power)) < 2


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan"), 3e38])
def test_numbers_that_are_none_stand_where_the_other_format_has_them(number: float) -> None:
    x = _drawn(LAYERS[FIRST])
    x[0, 3, 4, 5] = number
    half, rounded, _ = _results(FIRST, x)
    assert torch.equal(half.isnan(), rounded.isnan()) and torch.equal(half.isinf(), rounded.isinf())
    usual = rounded.isfinite()
    torch.testing.assert_close(half[usual], rounded[usual], rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("pattern", ["small places", "one image"])
def test_small_numbers_must_be_noticed(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(narrowed, "LEAST", 0.0)
    assert _excess(*_results(FIRST, PATTERNS[pattern](_drawn(LAYERS[FIRST])), design=sketches)) > 2


@pytest.mark.parametrize("pattern", ["large", "small", "huge"])
def test_a_sample_that_misleads_costs_time_alone(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "sample_scale", lambda value: literal(1.0, "f32"))
    assert _excess(*_results(FIRST, PATTERNS[pattern](_drawn(LAYERS[FIRST])), design=sketches)) < 2
