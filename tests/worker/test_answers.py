"""What a kernel answers is described by addresses: nothing that the answer defines is run, and nothing has no bound."""

from __future__ import annotations

import json
from collections import OrderedDict
from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode

from akg_core.worker.answers import described
from akg_core.worker.tensors import taken


def test_an_answer_is_a_tree_and_a_table() -> None:
    whole = torch.randn(6, 8)
    value = [whole[1:5, 2:].t(), (1, 2.5, None, True, "é"), {"empty": whole[:0], "one": whole[0, 0]}, torch.float16]
    found = json.loads(json.dumps(described(value)))
    values = {"tuple": [1, 2.5, None, True, "é"]}
    tensors = {"dict": {"empty": {"tensor": 1}, "one": {"tensor": 2}}}
    assert found["tree"] == [{"tensor": 0}, values, tensors, {"dtype": "float16"}]
    view, empty, one = found["tensors"]
    assert view == {
        "dtype": "float32",
        "shape": [6, 4],
        "strides": [1, 8],
        "span": 30,
        "address": whole.data_ptr() + 4 * 10,
        "nbytes": 120,
        "itemsize": 4,
        "device": "cpu",
    }
    assert (empty["nbytes"], one["shape"], one["nbytes"]) == (0, [], 4)


def test_named_and_ordered_collections_are_what_they_hold() -> None:
    found = described((torch.randn(3, 4).max(dim=1), OrderedDict(b=1, a=2)))
    assert found["tree"] == {"tuple": [{"tuple": [{"tensor": 0}, {"tensor": 1}]}, {"dict": {"b": 1, "a": 2}}]}


class _Mirror(torch.Tensor):
    @staticmethod
    def __new__(cls) -> _Mirror:
        return torch.Tensor._make_wrapper_subclass(cls, (3,))

    @classmethod
    def __torch_dispatch__(cls, *_: Any) -> Any:
        raise AssertionError("it is run")


def _in_disguise() -> torch.Tensor:
    mirror = _Mirror()
    mirror.__class__ = torch.Tensor
    return mirror


def _inside_itself() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


def _without_memory() -> torch.Tensor:
    tensor = torch.randn(1000)
    tensor.untyped_storage().resize_(8)
    return tensor


class _Named(type):
    __name__ = property(lambda self: pytest.fail("it is run"))


class _Thing(dict, metaclass=_Named):
    def __len__(self) -> int:
        raise AssertionError("it is run")

    __iter__ = __eq__ = __hash__ = __getattr__ = items = __len__


REFUSED = {
    "a subclass": (lambda: _Mirror(), "a _Mirror"),
    "in disguise": (_in_disguise, "computes when it is read"),
    "functionalized": (lambda: torch._to_functional_tensor(torch.randn(2)), "computes when it is read"),
    "negated by flag": (lambda: torch._neg_view(torch.randn(2)), "computes when it is read"),
    "sparse": (lambda: torch.randn(2, 2).to_sparse(), "computes when it is read"),
    "without memory": (_without_memory, "beyond the memory"),
    "elsewhere": (lambda: torch.empty(3, device="meta"), "beyond the memory"),
    "a class of its own": (_Thing, "a _Thing"),
    "a set": (lambda: {1}, "a set"),
    "another key": (lambda: {_Thing: 1}, "as key"),
    "inside itself": (_inside_itself, "more than 65536 values, or containers"),
    "ten million": (lambda: [0] * 10**7, "more than 65536 values"),
    "a long number": (lambda: 1 << 10**6, "whole number"),
    "a long text": (lambda: ["x" * 10**5] * 100, "more than 1048576 characters"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_plain_answer_is_refused(name: str) -> None:
    make, reason = REFUSED[name]
    with pytest.raises(TypeError, match=reason):
        described(make())


def test_a_huge_shape_on_one_number_takes_its_number() -> None:
    [entry] = described(torch.zeros(1).expand(2**60))["tensors"]
    assert (entry["shape"], entry["span"], entry["nbytes"]) == ([2**60], 1, 4)


def test_modes_that_were_left_behind_see_nothing() -> None:
    class Mode(TorchFunctionMode):
        def __torch_function__(self, *_: Any) -> Any:
            raise AssertionError("it is run")

    tensor = torch.randn(3)
    with Mode():
        assert described(tensor)["tensors"][0]["shape"] == [3]


def test_looking_at_memory_that_is_copied_lazily_leaves_it_so() -> None:
    tensor = torch.arange(12.0)
    shared = tensor._lazy_clone()
    (told,) = described(tensor[5:])["tensors"]
    assert torch._C._is_cow_tensor(tensor) and torch.equal(shared, tensor)
    assert torch.equal(taken(told), tensor[5:])
