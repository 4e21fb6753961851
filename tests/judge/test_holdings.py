"""What a module holds is read and written past everything that it defines."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from akg_core.device import HOST
from akg_core.judge.candidate.holdings import held, move, put, transient


class Plain(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 2)
        self.parts = nn.ModuleList([nn.BatchNorm1d(2), nn.ParameterList([nn.Parameter(torch.ones(4))])])
        self.tied = self.first.weight
        self.register_buffer("passing", torch.arange(3.0), persistent=False)
        self.register_buffer("absent", None)


class Foreign(Plain):
    """Asked by any of its names, it tells of something else."""

    __dict__ = property(lambda self: pytest.fail("it is asked"))  # type: ignore[assignment]

    def state_dict(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("it is asked")

    load_state_dict = named_parameters = named_buffers = parameters = buffers = children = named_modules = state_dict
    __iter__ = __len__ = __eq__ = __hash__ = state_dict  # type: ignore[assignment]


def test_all_is_found_under_the_names_of_a_state_dict() -> None:
    plain = Plain()
    found = held(plain, HOST)
    assert found.keys() == {*plain.state_dict(), "passing"}
    assert all(found[name].data_ptr() == value.data_ptr() for name, value in plain.state_dict().items())


def test_nothing_that_a_module_defines_is_asked() -> None:
    plain, foreign = Plain(), Plain()
    foreign.__class__ = Foreign
    kept, state = transient(foreign), {name: value.clone() + 1 for name, value in plain.state_dict().items()}
    held(foreign, HOST)["passing"].fill_(7)
    put(foreign, state, kept)
    found = held(foreign, HOST)
    assert all(torch.equal(found[name], value) for name, value in state.items())
    assert torch.equal(found["passing"], torch.arange(3.0))


def test_no_tensor_counts_what_is_written_as_a_write() -> None:
    plain = Plain()
    state = {name: value.clone() + 1 for name, value in plain.state_dict().items()}
    versions = {name: value._version for name, value in plain.state_dict().items()}
    put(plain, state, {})
    found = plain.state_dict()
    assert all(torch.equal(found[name], value) for name, value in state.items())
    assert {name: value._version for name, value in found.items()} == versions


def test_what_is_moved_stays_what_it_is_for_who_asks_the_module() -> None:
    plain = Plain()
    before = {name: (value, value.data_ptr()) for name, value in plain.state_dict(keep_vars=True).items()}
    move(plain, torch.clone)
    for name, value in plain.state_dict(keep_vars=True).items():
        known, place = before[name]
        assert value is known and value.data_ptr() != place, name
    assert plain.tied is plain.first.weight


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            lambda m: m.register_parameter("more", nn.Parameter(torch.ones(1))),
            "ModelNew has the parameter or buffer more",
        ),
        (lambda m: delattr(m, "tied"), "Model has the parameter or buffer tied, and ModelNew has not"),
        (lambda m: setattr(m.parts[0], "running_mean", torch.ones(5)), "running_mean has the shape"),
        (lambda m: setattr(m.parts[0], "running_mean", torch.ones(2).double()), "running_mean has the dtype"),
    ],
)
def test_another_state_is_told(change, reason: str) -> None:
    plain = Plain()
    change(plain)
    with pytest.raises(RuntimeError, match=reason):
        put(plain, Plain().state_dict(), {})


def test_a_module_inside_itself_has_an_end() -> None:
    plain = Plain()
    plain.first.again = plain
    with pytest.raises(TypeError, match="deep"):
        held(plain, HOST)
