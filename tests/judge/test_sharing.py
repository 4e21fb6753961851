"""In whose memory an answer lies, and which earlier answers are held to tell."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from akg_core.judge.compare import sharing
from akg_core.judge.compare.bits import flatten
from akg_core.judge.compare.sharing import (
    EARLIER,
    Earlier,
    is_held_elsewhere,
    peculiar,
    places,
    shared,
    unwanted,
)


def test_outputs_share_memory_with_inputs_and_with_each_other() -> None:
    x, y = torch.rand(4, 6), torch.rand(4, 6)
    answer = places(flatten((x[1:], y, y.t(), torch.rand(3), torch.empty(0))))
    pairs = shared(answer, places({"argument 0": x, "argument 1": 3}))
    assert pairs == [["output(0)", "argument 0"], ["output(2)", "output(1)"]]


def test_neighbours_in_one_piece_of_memory_share_nothing() -> None:
    one, other = torch.rand(8).chunk(2)
    assert not shared(places({"output(0)": one, "output(1)": other}), [])


def test_what_the_reference_shares_may_be_shared() -> None:
    pair = ("output", "argument 0")
    assert unwanted([pair], []) == ("output", "it lies in the memory of argument 0")
    assert unwanted([pair], [list(pair)]) is None and unwanted([], [list(pair)]) is None


def test_an_earlier_answer_is_held_while_it_is_small() -> None:
    answer, earlier = torch.rand(5), Earlier()
    earlier.take(answer)
    earlier.let_go()
    assert shared(places({"output": answer[3:]}), [], earlier.places) == [["output", EARLIER]]


def test_a_large_one_is_held_if_it_is_held_anyway(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "_HELD_BYTES", 0)
    earlier, kept = Earlier(), [torch.rand(5)]
    earlier.take({"kept": kept[0], "beside": torch.rand(2)})
    earlier.take(torch.rand(5))
    earlier.let_go()
    assert [name for name, _, _ in earlier.places] == ["output.kept", "output.beside"]
    kept.clear()
    earlier.let_go()
    assert not earlier.places


def test_a_large_one_is_held_if_its_memory_is_not_torch_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "_HELD_BYTES", 0)
    earlier, memory = Earlier(), bytearray(20)
    for due in ([], [["output", EARLIER]]):
        answer = torch.frombuffer(memory, dtype=torch.float32)
        assert shared(places({"output": answer}), [], earlier.places) == due
        earlier.take(answer)
        del answer
        earlier.let_go()


@pytest.mark.parametrize("keep", [lambda tensor: tensor, lambda tensor: tensor.view(-1), lambda tensor: tensor[1:]])
def test_who_else_holds_memory_is_found(keep: Any) -> None:
    tensor = torch.rand(3, 4)
    ours = [tensor.detach()]
    held = keep(tensor)
    del tensor
    assert is_held_elsewhere(ours)
    del held
    assert not is_held_elsewhere(ours)


def test_an_answer_on_another_device_is_told() -> None:
    leaves = {"output(0)": torch.rand(2), "output(1)": 3, "output(2)": torch.rand(2, device="meta")}
    assert peculiar(leaves, "meta") == [["output(0)", "lies on another device"]]
    assert peculiar(leaves, "cpu") == [["output(2)", "lies on another device"]]


def test_an_answer_that_is_more_than_a_tensor_is_told() -> None:
    scale = torch.nn.Parameter(torch.rand(2))
    leaves = {"output(0)": scale, "output(1)": torch.rand(2).requires_grad_(), "output(2)": scale.detach()}
    due = [["output(0)", "is a parameter"], ["output(0)", "asks for gradients"], ["output(1)", "asks for gradients"]]
    assert peculiar(leaves, "cpu") == due
    assert unwanted([("output(1)", "asks for gradients")], due[:2]) == ("output(1)", "it asks for gradients")
    assert unwanted([("output(0)", "is a parameter")], due) is None


def test_the_state_may_be_answered_twice() -> None:
    state = places({"state scale": torch.rand(4)})
    assert shared([("output", *state[0][1:])], state, [("output", *state[0][1:])]) == [["output", "state scale"]]
