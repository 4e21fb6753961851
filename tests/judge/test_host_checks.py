"""On a device the reference raises what it raises on the host: indices beyond a dim, whole numbers divided by zero."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
import torch
from torch.nn import functional

from akg_core.judge.reference.host_checks import checked

X = torch.randn(3, 5)
FAR = torch.tensor([[0, 1, 5]])
NEAR = torch.tensor([[0, 1, 4]])
ZERO = torch.tensor([2, 0])


@pytest.mark.parametrize(
    "call",
    [
        lambda i: X.gather(1, i),
        lambda i: X.scatter(1, i, torch.ones(1, 3)),
        lambda i: X.clone().scatter_add_(1, i, torch.ones(1, 3)),
        lambda i: X.index_select(1, i[0]),
        lambda i: X[:, i[0]],
        lambda i: X.clone().index_put_((torch.tensor([0]), i[0]), torch.tensor(1.0)),
        lambda i: functional.embedding(i, X.t()),
        lambda i: functional.cross_entropy(X, i[0], ignore_index=-7),
        lambda i: X.take(i + 10),
        lambda i: functional.multi_margin_loss(X, i[0]),
        lambda i: functional.multilabel_margin_loss(X[:1, :3], i.clamp(max=2) + (i > 4)),
    ],
)
def test_an_index_beyond_a_dim_is_an_error(call):
    with checked("cuda"), pytest.raises(IndexError, match=r"index \d+ is out of bounds for .* with size \d+"):
        call(FAR)
    with checked("cuda"):
        found = call(NEAR)
    assert torch.equal(found, call(NEAR))


def test_what_is_said_of_embedding_gradients_is_said_of_them_too():
    with checked("cuda"), pytest.raises(IndexError, match="size 5"):
        torch.ops.aten.embedding_dense_backward(torch.ones(1, 3, 2), FAR, 5, -1, False)


def test_classes_that_are_ignored_are_no_index():
    with checked("cuda"):
        functional.cross_entropy(X, torch.tensor([0, -7, 4]), ignore_index=-7)


def test_masks_and_places_from_the_end_are_right():
    with checked("cuda"):
        assert X[torch.tensor([True, False, True]), torch.tensor([-1, -5])].shape == (2,)
    with checked("cuda"), pytest.raises(IndexError, match="index -6"):
        X[:, torch.tensor([-6])]


@pytest.mark.parametrize("divide", [torch.floor_divide, torch.remainder, torch.fmod])
def test_whole_numbers_divided_by_zero_are_an_error(divide):
    with checked("cuda"):
        assert divide(ZERO.float(), ZERO).isnan().any(), "which floats may be"
        with pytest.raises(ZeroDivisionError):
            divide(ZERO, ZERO)
        assert torch.equal(divide(ZERO, ZERO + 3), divide(ZERO, ZERO + 3))
        assert (ZERO / ZERO).isnan().any(), "nor is that a whole number"
        with pytest.raises(ZeroDivisionError):
            torch.div(ZERO, ZERO, rounding_mode="trunc")


TABLE = torch.randn(10, 4)


@pytest.mark.parametrize(
    ("call", "right", "wrong", "said"),
    [
        (lambda x: functional.binary_cross_entropy(x, torch.ones(2)), [0.0, 1.0], [0.5, 1.5], "probability"),
        (torch.bernoulli, [0.0, 1.0], [-0.5, 1.0], "probability"),
        (lambda p: torch.empty(2).bernoulli_(p), [0.0, 1.0], [-0.5, 1.0], "probability"),
        (lambda x: torch.multinomial(x, 1), [2.0, 0.0], [2.0, -1.0], "weight is negative"),
        (lambda x: torch.multinomial(x, 1), [2.0, 0.0], [0.0, 0.0], "weights are 0"),
        (lambda mask: torch.zeros(2).masked_scatter(mask, torch.ones(1)), [False, True], [True, True], "picks more"),
        (lambda n: torch.repeat_interleave(torch.ones(2), n), [0, 3], [1, -1], "number of repeats"),
        (lambda at: functional.embedding_bag(NEAR[0], TABLE, at), [0, 3], [1, 2], "first offset"),
        (lambda at: functional.embedding_bag(NEAR[0], TABLE, at), [0, 3], [0, 4], "ends before"),
        (lambda at: functional.embedding_bag(NEAR[0], TABLE, at), [0, 2, 2], [0, 2, 1], "ends before"),
    ],
)
def test_what_an_operator_does_not_take_is_an_error(call, right, wrong, said):
    with checked("cuda"):
        call(torch.tensor(right))
    with checked("cuda"), pytest.raises(RuntimeError, match=said):
        call(torch.tensor(wrong))


def test_what_is_overwritten_is_no_probability():
    with checked("cuda"):
        assert torch.full((4,), -7.0).bernoulli_().ge(0).all()
        assert torch.full((4,), -7.0).bernoulli(0.5).ge(0).all()


def test_what_is_unpooled_is_an_index():
    with checked("cuda"), pytest.raises(IndexError, match="index 9"):
        functional.max_unpool1d(torch.randn(1, 1, 2), torch.tensor([[[0, 9]]]), 2)


def test_the_host_says_it_itself():
    assert isinstance(checked("cpu"), nullcontext)


def test_where_a_result_goes_is_no_argument_to_check():
    for function in (torch.div, torch.remainder):
        with checked("cuda"):
            found = function(X, torch.tensor(2.0), out=torch.empty(3, 5))
        assert torch.equal(found, function(X, 2.0))
