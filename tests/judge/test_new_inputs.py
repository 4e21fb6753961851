"""New inputs for timed calls: other values everywhere, and what a draw means stays."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
import torch

from akg_core.judge.reference import new_inputs_on_device
from akg_core.judge.reference.new_inputs import Renewal
from akg_core.judge.reference.new_inputs_on_device import Refill
from akg_core.worker.layout import aligned
from akg_core.worker.tensors import memory

Draw = Callable[[torch.Generator], Any]
Sets = Callable[..., list[torch.Tensor]]


def renewed(draw: Draw, count: int = 2, seed: int = 1) -> list[torch.Tensor]:
    """The one tensor of some sets, out of the file that they are written to."""

    def drawn(seed: int) -> list[Any]:
        return [draw(torch.Generator().manual_seed(seed)), 3.5]

    renewal, file = Renewal(drawn, seed), io.BytesIO()
    for _ in range(count):
        renewal.write(file)
    like, data = drawn(0)[0], bytearray(file.getvalue())
    step = aligned(memory(like).nbytes)
    assert len(data) == count * step == count * sum(aligned(tensor["nbytes"]) for tensor in renewal.given)
    span = memory(like).numel()
    if not span:
        return [like] * count
    flats = (torch.frombuffer(data, dtype=like.dtype, count=span, offset=n * step) for n in range(count))
    return [flat.as_strided(like.shape, like.stride()) for flat in flats]


def refilled(draw: Draw, count: int = 2, seed: int = 1) -> list[torch.Tensor]:
    """The one tensor of some sets, as they are made where they are to lie."""

    def drawn(seed: int) -> list[Any]:
        return [draw(torch.Generator().manual_seed(seed)), 3.5]

    maker, like, found = Refill(drawn, seed), drawn(0)[0], []
    for number in range(count):
        flat = torch.empty(memory(like).numel(), dtype=like.dtype)
        maker.write([flat], 1000 * seed + number)
        found.append(flat.as_strided(like.shape, like.stride()))
    assert [told["nbytes"] for told in maker.given] == [memory(like).nbytes]
    return found


@pytest.fixture(params=["on the host", "on a device", "on a device, held once"])
def sets(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Sets:
    """Sets as either makes them; large draws are held once there, which a small one can show as well."""
    if request.param.endswith("once"):
        monkeypatch.setattr(new_inputs_on_device, "_SMALL_BYTES", 0)
        monkeypatch.setattr(new_inputs_on_device, "_LARGE_BYTES", 0)
    return renewed if request.param == "on the host" else refilled


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_real_numbers_are_new_in_every_element_and_stay_in_their_range(sets: Sets, dtype: torch.dtype) -> None:
    one, other = sets(lambda g: torch.rand(300, 700, generator=g).to(dtype) + 1)
    assert float((one == other).double().mean()) < 0.1
    assert float(min(one.min(), other.min())) >= 1 and float(max(one.max(), other.max())) <= 2
    assert not (one.mean(1) == other.mean(1)).all()


def test_a_file_may_give_the_same_memory_each_time() -> None:
    held = torch.empty(300, 700)
    one, other = refilled(lambda g: held.uniform_(1, 2, generator=g))
    assert float((one == other).double().mean()) < 0.1


def test_no_row_comes_again_in_any_set(sets: Sets) -> None:
    rows = torch.cat(sets(lambda g: torch.randn(64, 16, generator=g), count=20))
    assert len(rows.unique(dim=0)) == len(rows)


def test_the_same_seed_gives_the_same_sets_and_another_gives_others(sets: Sets) -> None:
    def draw(generator: torch.Generator) -> torch.Tensor:
        return torch.randn(50, generator=generator)

    first, again, other = (torch.stack(sets(draw, seed=seed)) for seed in (1, 1, 2))
    assert torch.equal(first, again) and not torch.equal(first, other)


def test_what_a_draw_shows_to_be_meant_is_kept(sets: Sets) -> None:
    one, other = sets(lambda g: torch.randn(40, 40, generator=g).tril())
    assert torch.equal(one, one.tril()) and not torch.equal(one, other) and bool(one.tril().any())
    one, other = sets(lambda g: (lambda m: m + m.T)(torch.randn(40, 40, generator=g)))
    assert torch.equal(one, one.T) and not torch.equal(one, other)
    one, other = sets(lambda g: torch.randn(40, 40, generator=g).softmax(-1))
    assert torch.allclose(one.sum(-1), torch.ones(40), atol=1e-5) and not torch.equal(one, other)
    one, other = sets(lambda g: torch.randint(0, 2, (400,), generator=g).float() * 2 - 1)
    assert set(one.tolist()) == {-1.0, 1.0} and not torch.equal(one, other)
    one, other = sets(lambda g: torch.ones(400))
    assert not torch.equal(one, other), "what is constant in every draw is new too"


def test_whole_numbers_are_drawn_anew_for_each_set(sets: Sets) -> None:
    found = sets(lambda g: torch.randint(0, 1000, (5, 8), generator=g), count=10)
    assert len({tuple(one.flatten().tolist()) for one in found}) == 10
    assert all(int(one.min()) >= 0 and int(one.max()) < 1000 for one in found)


@pytest.mark.parametrize("made", [Renewal, Refill])
def test_rows_of_whole_numbers_do_not_come_again_beside_real_ones(made: type[Renewal] | type[Refill]) -> None:
    def draw(seed: int) -> list[torch.Tensor]:
        generator = torch.Generator().manual_seed(seed)
        return [torch.rand(3, generator=generator), torch.randint(0, 1 << 40, (5, 8), generator=generator)]

    maker, real, whole = made(draw, 1), torch.empty(3), torch.empty(40, dtype=torch.int64)
    rows = []
    for number in range(10):
        if isinstance(maker, Refill):
            maker.write([real, whole], number + 5)
        else:
            maker.write(file := io.BytesIO())
            whole = torch.frombuffer(bytearray(file.getvalue()), dtype=torch.int64)[8:48]
        rows.append(whole.view(5, 8).clone())
    assert len(torch.cat(rows).unique(dim=0)) == 50


@pytest.mark.parametrize("layout", ["transposed", "expanded", "strided"])
def test_the_layout_in_memory_is_kept(sets: Sets, layout: str) -> None:
    change: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
        "transposed": lambda t: t.t(),
        "expanded": lambda t: t[:, :1].expand(7, 9),
        "strided": lambda t: t[:, ::2],
    }
    one, other = sets(lambda g: change[layout](torch.randn(7, 9, generator=g)))
    assert not torch.equal(one, other)


def test_inputs_without_elements_and_without_tensors(sets: Sets) -> None:
    assert [one.numel() for one in sets(lambda g: torch.empty(0, 3))] == [0, 0]
    renewal, file = Renewal(lambda seed: [1.0, None], 1), io.BytesIO()
    renewal.write(file)
    assert renewal.given == [] and not file.getvalue()


def test_nobody_knows_between_which_numbers_an_element_lies(sets: Sets) -> None:
    found = torch.stack(sets(lambda g: torch.rand(64, 400, generator=g), count=30))
    low, high = found.amin(0), found.amax(0)
    can_be_greatest = (high >= low.amax(1, keepdim=True)).double().mean()
    assert float(can_be_greatest) > 0.9, "each place may hold a row's greatest"
    columns = torch.arange(5.0) * 10
    one, other = sets(lambda g: torch.rand(40, 5, generator=g) + columns)
    assert all(torch.equal(value.floor_divide(10), columns.div(10).expand(40, 5)) for value in (one, other))


def test_places_that_mean_something_stay(sets: Sets) -> None:
    def draw(generator: torch.Generator) -> torch.Tensor:
        return torch.randint(1, 9, (20,), generator=generator).cumsum(0)

    renewal, file = Renewal(lambda seed: [draw(torch.Generator().manual_seed(seed)), torch.rand(20)], 1), io.BytesIO()
    for _ in range(6):
        renewal.write(file)
    data = torch.frombuffer(bytearray(file.getvalue()), dtype=torch.uint8).view(6, -1)
    assert all((one[: 20 * 8].view(torch.int64).diff() > 0).all() for one in data), "offsets rise"
    one, other = sets(lambda g: torch.randn(500, generator=g).relu())
    assert not torch.equal(one == 0, other == 0), "zeros that lie elsewhere in each draw"


def test_what_is_definite_stays_definite(sets: Sets) -> None:
    def draw(generator: torch.Generator) -> torch.Tensor:
        drawn = torch.randn(3, 12, 12, generator=generator, dtype=torch.float64)
        return drawn @ drawn.mT + 0.01 * torch.eye(12)

    one, other = sets(draw)
    for found in (one, other):
        assert torch.equal(found, found.mT) and bool((torch.linalg.eigvalsh(found) > 0).all())
    assert (one != other).double().mean() > 0.95
