"""On a device the reference raises what it raises on the host: indices beyond a dim, whole numbers divided by zero."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import torch

from akg_core.judge.reference.bounds import checked

X = torch.randn(3, 5)
FAR = torch.tensor([[0, 1, 5]])
NEAR = torch.tensor([[0, 1, 4]])
ZERO = torch.tensor([2, 0])


def task(op: str, dtype: str = "f32") -> SimpleNamespace:
    argument = SimpleNamespace(kind="tensor", dtype=dtype)
    return SimpleNamespace(
        graph=SimpleNamespace(nodes=(SimpleNamespace(op=op),)), interface=SimpleNamespace(arguments=(argument,))
    )


@pytest.mark.parametrize(
    ("op", "call"),
    [
        ("aten.gather.default", lambda i: X.gather(1, i)),
        ("aten.scatter.src", lambda i: X.scatter(1, i, torch.ones(1, 3))),
        ("aten.scatter_add_.default", lambda i: X.clone().scatter_add_(1, i, torch.ones(1, 3))),
        ("aten.index_select.default", lambda i: X.index_select(1, i[0])),
        ("aten.index.Tensor", lambda i: X[:, i[0]]),
        ("aten.index_put.default", lambda i: X.clone().index_put_((torch.tensor([0]), i[0]), torch.tensor(1.0))),
        ("aten.embedding.default", lambda i: torch.nn.functional.embedding(i, X.t())),
        ("aten.nll_loss_forward.default", lambda i: torch.nn.functional.cross_entropy(X, i[0], ignore_index=-7)),
        ("aten.take.default", lambda i: X.take(i + 10)),
    ],
)
def test_an_index_beyond_a_dim_is_an_error(op, call):
    with checked(task(op), "cuda"), pytest.raises(IndexError, match=r"index \d+ is out of bounds for .* with size \d+"):
        call(FAR)
    with checked(task(op), "cuda"):
        found = call(NEAR)
    assert torch.equal(found, call(NEAR))


def test_what_is_said_of_embedding_gradients_is_said_of_them_too():
    with checked(task("aten.embedding_dense_backward.default"), "cuda"), pytest.raises(IndexError, match="size 5"):
        torch.ops.aten.embedding_dense_backward(torch.ones(1, 3, 2), FAR, 5, -1, False)


def test_classes_that_are_ignored_are_no_index():
    with checked(task("aten.nll_loss_forward.default"), "cuda"):
        torch.nn.functional.cross_entropy(X, torch.tensor([0, -7, 4]), ignore_index=-7)


def test_masks_and_places_from_the_end_are_right():
    with checked(task("aten.index.Tensor"), "cuda"):
        assert X[torch.tensor([True, False, True]), torch.tensor([-1, -5])].shape == (2,)
    with checked(task("aten.index.Tensor"), "cuda"), pytest.raises(IndexError, match="index -6"):
        X[:, torch.tensor([-6])]


@pytest.mark.parametrize("divide", [torch.floor_divide, torch.remainder, torch.fmod])
def test_whole_numbers_divided_by_zero_are_an_error(divide):
    op = f"aten.{divide.__name__}.default"
    with checked(task(op), "cuda"):
        assert divide(ZERO.float(), ZERO).isnan().any(), "which floats may be"
        with pytest.raises(ZeroDivisionError):
            divide(ZERO, ZERO)
        assert torch.equal(divide(ZERO, ZERO + 3), divide(ZERO, ZERO + 3))
        assert (ZERO / ZERO).isnan().any(), "nor is that a whole number"
        with pytest.raises(ZeroDivisionError):
            torch.div(ZERO, ZERO, rounding_mode="trunc")


def test_nothing_is_looked_at_where_nothing_can_be_wrong():
    assert isinstance(checked(task("aten.gather.default"), "cpu"), nullcontext), "the host says it itself"
    assert isinstance(checked(task("aten.relu.default"), "cuda"), nullcontext)
    assert not isinstance(checked(task("aten.relu.default", "i64"), "cuda"), nullcontext)
