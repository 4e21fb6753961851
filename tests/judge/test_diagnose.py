"""Wrong outputs with known causes, and what is said of them."""

from __future__ import annotations

import pytest
import torch

from akg_core.judge.compare.diagnose import diagnose


def said(mine: torch.Tensor, due: torch.Tensor) -> str:
    wrong = (~torch.isclose(mine, due, rtol=1e-7, atol=0)).reshape(-1).nonzero().flatten()
    return " ".join(diagnose(mine, due, wrong))


@pytest.fixture
def due():
    return torch.randn(40, 100, generator=torch.Generator().manual_seed(1), dtype=torch.float64) + 5


def changed(due: torch.Tensor, where, by) -> torch.Tensor:
    mine = due.clone()
    mine[where] = by(mine[where])
    return mine


def noise(values: torch.Tensor) -> torch.Tensor:
    return values + torch.randn(values.shape, generator=torch.Generator().manual_seed(2), dtype=values.dtype)


def test_nothing_wrong_says_nothing(due):
    assert said(due, due) == ""


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ((slice(None), slice(96, None)), "dimension 1 of size 100 all of them lie from 96 to 99, at the end"),
        ((slice(0, 3),), "dimension 0 of size 40 all of them lie from 0 to 2, at the beginning"),
        ((slice(None), slice(1, None, 4)), "from 1 to 97, every 4 positions"),
        ((7,), "lie at 7."),
        ((slice(3, 9), slice(20, 30)), "from 20 to 29."),
    ],
    ids=["tail", "head", "strided", "row", "block"],
)
def test_where_the_wrong_elements_lie(due, where, words):
    assert words in said(changed(due, where, noise), due)


@pytest.mark.parametrize(
    ("by", "words"),
    [
        (lambda v: v * 0, "They are 0"),
        (lambda v: v * torch.nan, "They are NaN"),
        (lambda v: v * torch.inf, "They are infinite"),
        (lambda v: -v, "wrong sign"),
        (lambda v: v / 3, "0.333333 times what is due"),
        (lambda v: v + 0.25, "plus 0.25"),
        (lambda v: v.flip(1), "the right values in other places"),
        (lambda v: v.bfloat16().double(), "bf16"),
        (lambda v: v.half().double(), "f16"),
        (lambda v: v + 1e-6 * noise(v * 0), "one long sum in f32"),
    ],
    ids=["zero", "nan", "inf", "sign", "factor", "addend", "order", "bf16", "f16", "sum"],
)
def test_what_the_wrong_values_have_in_common(due, by, words):
    assert words in said(by(due), due)


def test_values_with_nothing_in_common_are_not_explained(due):
    sentences = diagnose(noise(due), due, torch.arange(due.numel()))
    assert len(sentences) == 2
    assert sentences[0].startswith("4000 of 4000 elements are wrong")


def test_the_largest_errors_are_shown_with_their_places(due):
    mine = changed(due, (3, 5), lambda v: v + 100)
    assert f"{float(mine[3, 5]):.6g} at [3, 5] where {float(due[3, 5]):.6g} is due" in said(mine, due)


def test_integers_are_explained_too():
    due = torch.arange(64)
    assert "plus 1" in " ".join(diagnose(due + 1, due, torch.arange(64)))


def test_a_scalar():
    assert "1 of 1 elements" in said(torch.tensor(2.0), torch.tensor(1.0))
