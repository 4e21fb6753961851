"""How far from float64 sketches are, beside eager PyTorch: no further than twice, on long sums of one sign."""

from __future__ import annotations

import pytest
import torch

from akg_core.design import design
from akg_core.sketch.interpret import interpret
from akg_core.sketch.parse import parse
from akg_core.task.capture import capture
from akg_core.task.source.load import load_source
from tests.design.judging import USUAL, forward, reference


@pytest.mark.parametrize(
    "line, shape",
    [
        ("x.sum(1)", "(4, 1 << 18)"),
        ("x.mean(0)", "(10000, 64)"),
        ("x.var(1)", "(4, 1 << 18)"),
        ("F.layer_norm(x, x.shape[1:])", "(4, 1 << 18)"),
        ("F.batch_norm(x, None, None, training=True)", "(32, 4, 64, 64)"),
        ("torch.log_softmax(x, 1)", "(4, 200000)"),
        ("x / x.norm()", "(1024, 1024)"),
        ("x @ x[0]", "(16, 1 << 16)"),
        ("x.cumsum(1)", "(4, 1 << 16)"),
    ],
)
def test_error_beside_eager(line: str, shape: str) -> None:
    module = load_source(reference(forward(line), f"[torch.rand{shape} + 0.5]"), "reference")
    torch.manual_seed(0)
    (x,) = module.get_inputs()
    exact = module.Model()(x.double())
    eager = _distance(module.Model()(x), exact)
    for sketch in design(capture(module), USUAL):
        (found,) = interpret(parse(sketch.text), [x]).outputs
        assert _distance(found, exact) <= 2 * eager + 1.2e-7, sketch.text


def _distance(found: torch.Tensor, exact: torch.Tensor) -> float:
    return float((found.double() - exact).norm() / exact.norm())
