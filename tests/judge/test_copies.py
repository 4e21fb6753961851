"""Whether most of an answer is what the library has copied."""

from __future__ import annotations

import torch

from akg_core.judge.candidate.guard import Guard


def answered(rows: int) -> tuple[Guard, torch.Tensor, torch.Tensor]:
    """Of ten rows the library copies so many, and memory of our own brings the others."""
    x, own = torch.rand(10, 4), memoryview(bytearray(160)).cast("f")
    with Guard(0) as guard:
        y = torch.frombuffer(own, dtype=torch.float32).view(10, 4)
        y[:rows].copy_(x[:rows])
    for place in range(4 * rows, 40):
        own[place] = float(x.view(-1)[place])
    return guard, x, y


def test_more_than_half_is_the_librarys_work() -> None:
    for rows, most in ((0, False), (5, False), (6, True), (10, True)):
        guard, x, y = answered(rows)
        assert torch.equal(x, y) and guard.copies.are_most(y, [x]) is most, rows


def test_to_fill_with_a_tensor_is_to_copy_it() -> None:
    x = torch.rand(4)
    with Guard(0) as guard:
        y = torch.empty(4, 3)
        for number in range(4):
            y[number].fill_(x[number])
    assert guard.copies.are_most(y, [x]) and not guard.calls and not guard.rules


def test_what_is_copied_onto_itself_was_there_before() -> None:
    x = torch.rand(4)
    y = torch.from_numpy(x.numpy().copy())
    with Guard(0) as guard:
        y.data.copy_(y.cpu().data)
    assert torch.equal(x, y) and not guard.copies.are_most(y, [x])


def test_numbers_that_are_copied_several_at_a_time_count_by_their_bytes() -> None:
    x = torch.rand(5, 3, 4)
    with Guard(0) as guard:
        y = torch.empty(3, 5, 4)
        y.view(torch.complex128).copy_(x.view(torch.complex128).transpose(0, 1))
    assert torch.equal(y, x.transpose(0, 1)) and guard.copies.are_most(y, [x])


def test_what_lies_beside_copies_does_not_hide_them() -> None:
    x, own = torch.rand(10, 4), torch.rand(2)
    with Guard(0) as guard:
        y = x.t().contiguous()
    assert guard.copies.are_most((y, own), [x]) and guard.copies.are_most((y, x), [x])
    assert not guard.copies.are_most((y, torch.rand(41)), [x])


def test_what_was_given_is_so_wherever_a_kernel_has_moved_it() -> None:
    x = torch.rand(10, 4)
    moved, computed = torch.from_numpy(x.numpy().copy()), torch.from_numpy(x.numpy() * 2)
    with Guard(0) as guard:
        y, own = moved.t().contiguous(), computed.t().contiguous()
    assert guard.copies.are_most(y, [x]) and not guard.copies.are_most(own, [x])


def test_what_a_copy_made_is_so_wherever_a_kernel_has_moved_it() -> None:
    x = torch.rand(10, 4)
    with Guard(0) as guard:
        z = x.t().contiguous()
    y, own = torch.from_numpy(z.numpy().copy()), torch.from_numpy(z.numpy() * 2)
    z.zero_()
    assert guard.copies.are_most(y, [x]) and not guard.copies.are_most(own, [x])
