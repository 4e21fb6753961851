"""Where a reference compares: inputs stand on the border, and no noise decides what nothing rounds."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from akg_core.judge.reference.precise import double_model, doubled, in_double
from akg_core.judge.reference.steps import Steps
from akg_core.task.capture import capture
from akg_core.task.inputs.borders import borders
from akg_core.task.inputs.patterns import Deal, dealt
from akg_core.task.source.load import load_source
from tests.task.replay import reference_text

ROUNDOFF = 2.0**-24
HELD = {0.3: torch.float32}


@pytest.mark.parametrize(
    ("body", "numbers", "tables"),
    [
        ("return x > 0.3", (0.3,), ()),
        ("return torch.where(x * 0.5 + 1 > 1.25, x, 0)", (0.5,), ()),
        ("return torch.where(x * 0.2 > 0.3, x, 0)", (), ()),  # rounded: kernels may differ
        ("return torch.bucketize(x, torch.tensor([-1.5, 2.5]))", (-1.5, 2.5), ()),
        ("return torch.bucketize(x, self.edges)", (), ("edges",)),
        ("return x > self.edges[None, :1]", (), ("edges",)),
        ("return x.exp()", (), ()),
    ],
)
def test_borders_are_what_inputs_must_equal(body: str, numbers: tuple[float, ...], tables: tuple[str, ...]) -> None:
    source = reference_text(body, init="self.register_buffer('edges', torch.rand(4))", inputs="torch.randn(8, 6)")
    found = borders(capture(load_source(source, "ref"), eval=True))
    assert found.tables == tables and found.numbers == pytest.approx(numbers)
    assert found.dtypes.get(0.3, torch.float32) == torch.float32


def test_an_exact_row_holds_a_border_as_its_dtype_has_it_and_is_the_same_row_everywhere() -> None:
    draw, deal = torch.Generator().manual_seed(3), Deal(("large", "exact", "small"), 1, borders=(0.3,), order=5)
    x, y = (dealt((9, 32), torch.float32, deal, draw) for _ in range(2))
    assert int((x == 0.3).sum()) > 9 and torch.equal((x == 0.3).any(1), (y == 0.3).any(1))


class _Compares(nn.Module):
    def __init__(self, by: float) -> None:
        super().__init__()
        self.by = by

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.where(x / self.by + 1 - 1 > 0.3, 1.0, 0.0) + torch.where(x > 0.3, 2.0, 0.0)


def _moved(model: nn.Module, x: torch.Tensor) -> bool:
    """Whether noise moves an answer, over some seeds."""
    with torch.no_grad(), Steps() as eager:
        model(x.clone())
    with in_double(held=HELD), Steps(eager) as exact:
        due = double_model(model)(*doubled([x]))
    found = []
    for seed in range(12):
        with in_double(ROUNDOFF, seed, held=HELD, decided=exact.decided):
            found.append(double_model(model)(*doubled([x])))
    return any(not torch.equal(each, due) for each in found)


def test_noise_decides_where_something_was_rounded_and_nowhere_else() -> None:
    border = torch.full((4,), 0.3)
    with in_double(held=HELD):
        assert not bool((border.double() > 0.3).any())
    assert not _moved(_Compares(math.inf), border)
    assert _moved(_Compares(1.0), border)
