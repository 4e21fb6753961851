"""Products of narrow numbers: accepted where they are compensated for, and plain ones only where eager's are as narrow.

What a chip's matrix units do is done here in f32: factors are rounded to the narrow format, products and sums are not.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch.nn.functional import conv2d

from akg_core.judge.compare import accuracy
from akg_core.judge.compare.case import Expected, Noise, compare
from akg_core.judge.reference.precise import in_double
from akg_core.task.inputs import draws

Operator = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
Rounding = Callable[[torch.Tensor], torch.Tensor]

SHAPES = {torch.matmul: ((96, 256), (256, 64)), conv2d: ((2, 32, 18, 18), (48, 32, 3, 3))}
LONGEST = {torch.matmul: 256, conv2d: 288}


def tf32(x: torch.Tensor) -> torch.Tensor:
    """Rounded to eleven bits of mantissa, with the exponents of f32."""
    return (x.view(torch.int32) + 0x1000).bitwise_and(~0x1FFF).view(torch.float32)


def f16(x: torch.Tensor) -> torch.Tensor:
    """Rounded to f16 after scaling by a power of two, without which small remainders would be lost."""
    scale = torch.exp2(torch.floor(torch.log2(x.abs().max().clamp_min(1e-30))))
    return (x / scale).half().float() * scale


def bf16(x: torch.Tensor) -> torch.Tensor:
    return x.bfloat16().float()


def compensated(operator: Operator, rounding: Rounding, parts: int) -> Operator:
    """Both factors as sums of so many narrow ones, and of their products all but the smallest, added up from these."""

    def split(x: torch.Tensor) -> list[torch.Tensor]:
        found: list[torch.Tensor] = []
        for _ in range(parts):
            found.append(rounding(x))
            x = x - found[-1]
        return found

    def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        pairs = [(x, y) for i, x in enumerate(split(a)) for j, y in enumerate(split(b)) if i + j < parts]
        return sum((operator(x, y) for x, y in reversed(pairs)), torch.zeros(()))

    return product


def is_accepted(candidate: Operator, eager: Operator, operator: Operator, kind: str) -> bool:
    """Whether the policy takes a candidate's answer on inputs of a kind for one of `operator`."""
    shape, other = SHAPES[operator]
    (a,) = draws.harder([torch.rand(shape)], 7, kind)
    b = torch.randn(other, generator=torch.Generator().manual_seed(11)) * (2 / LONGEST[operator]) ** 0.5
    exact = operator(a.double(), b.double())

    def noise(runs: int, rows: torch.Tensor | None = None) -> Noise:
        scatter = torch.zeros(exact.numel(), dtype=torch.float64)
        for seed in range(runs):
            with in_double(accuracy.roundoff(torch.float32), seed):
                noisy = operator(a.double().clone(), b.double().clone())
            scatter = torch.maximum(scatter, (noisy - exact).abs().flatten())
        return {"output": scatter}

    expected = Expected({"output": eager(a, b)}, {}, {"output": exact})
    [found] = compare(candidate(a, b), {}, expected, LONGEST[operator], noise)
    return found.ok


@pytest.mark.parametrize("kind", ["signed", "cancelling"])
@pytest.mark.parametrize("operator", SHAPES)
@pytest.mark.parametrize(
    ("rounding", "parts", "accepted"),
    [
        (tf32, 2, True),
        (f16, 2, True),
        (bf16, 3, True),
        (bf16, 2, False),
        (tf32, 1, False),
        (f16, 1, False),
        (bf16, 1, False),
    ],
)
def test_beside_an_eager_that_is_exact(
    rounding: Rounding, parts: int, accepted: bool, operator: Operator, kind: str
) -> None:
    assert is_accepted(compensated(operator, rounding, parts), operator, operator, kind) == accepted


@pytest.mark.parametrize("kind", ["signed", "cancelling"])
@pytest.mark.parametrize("operator", SHAPES)
@pytest.mark.parametrize(
    ("rounding", "parts", "accepted"),
    [(tf32, 2, True), (bf16, 2, True), (tf32, 1, True), (f16, 1, True), (bf16, 1, False)],
)
def test_beside_an_eager_that_rounds_its_factors(
    rounding: Rounding, parts: int, accepted: bool, operator: Operator, kind: str
) -> None:
    """To tf32, as convolutions of a GPU do by default: who rounds as much may, who rounds more may not."""
    eager = compensated(operator, tf32, 1)
    assert is_accepted(compensated(operator, rounding, parts), eager, operator, kind) == accepted
