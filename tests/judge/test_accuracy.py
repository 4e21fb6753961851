"""The accuracy policy: what honest rounding does passes, and nothing else does."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch.nn.functional import interpolate

from akg_core.errors import OutOfMemory
from akg_core.judge.compare import accuracy
from akg_core.judge.compare.accuracy import errors, norm_allowed, slack
from akg_core.judge.compare.binades import CHUNK, WorstErrors
from akg_core.judge.compare.case import Expected, alike, compare, flatten
from akg_core.judge.compare.ties import Tie
from akg_core.judge.reference.precise import doubled, in_double

F32 = slack(1, torch.float32)
ULP = torch.finfo(torch.float32).eps


@pytest.fixture(autouse=True, params=[torch.float64, torch.float32], ids=["wide", "narrow"])
def _seed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test with errors kept in float64, as on the host, and as a device keeps them."""
    torch.manual_seed(0)
    if request.param == torch.float32:
        monkeypatch.setattr(accuracy, "width_of", lambda eager: torch.float32)


def test_errors_that_no_float32_holds() -> None:
    most = torch.finfo(torch.float32).max
    e, r = torch.tensor([most, -most]), torch.tensor([most, -most], dtype=torch.float64)
    assert outside(-e, e, r) == [0, 1]
    far = torch.tensor([1e300, -1e300], dtype=torch.float64)
    assert outside(e, e, far) == []


def outside(c: torch.Tensor, e: torch.Tensor, r: torch.Tensor, *more: object) -> list[int]:
    return errors(c.flatten(), e.flatten(), r.flatten(), *(more or (slack(1, e.dtype),))).outside.tolist()


@pytest.mark.parametrize("place", [0, CHUNK - 1, CHUNK, 3 * CHUNK + 6])
def test_one_wrong_element_is_found_wherever_it_is(place: int) -> None:
    r = torch.randn(3 * CHUNK + 7, dtype=torch.float64)
    e = r.float()
    c = e.clone()
    c[place] *= 1 + 20 * ULP
    found = errors(c, e, r, F32)
    assert (found.outside.tolist(), found.where) == ([place], place)
    assert found.close, "and yet KernelBench's tolerance has nothing against it"


def test_eager_may_be_lucky() -> None:
    """Where eager is exact by chance, or everywhere, a few ulps are still allowed."""
    e = torch.randn(10_000)
    c = torch.nextafter(torch.nextafter(e, torch.tensor(9.0)), torch.tensor(9.0))
    assert outside(c, e, e.double()) == []
    assert outside(e * (1 + 12 * ULP), e, e.double())


def test_sums_in_another_order_pass() -> None:
    for x in (torch.rand(300, 4096), torch.randn(300, 4096)):
        r, e = x.double().sum(1), x.sum(1)
        chain = torch.zeros(300)
        for column in x.T:
            chain += column
        allowed = slack(4096, torch.float32)
        noisy = []
        for seed in range(3):
            with in_double(accuracy.roundoff(torch.float32) * allowed.noise, seed):
                noisy.append((x.double().clone().sum(1) - r).abs())
        scatter = torch.stack(noisy).amax(0)
        assert outside(chain, e, r, allowed, scatter) == []
        found = errors(chain, e, r, allowed, scatter)
        assert found.norm <= norm_allowed(found, allowed, torch.float32, scatter)


def test_sums_that_rounding_lifts_over_zero_pass() -> None:
    """Where relu gives 0 and eager is right. Of noise of one roundoff every sixth is not lifted in 24 runs."""
    n, count = 1024, 10_000
    x, w = torch.randn(count, n), torch.randn(count, n) / n**0.5
    b = -((x.double() * w).sum(1) + 4e-7 * torch.rand(count)).float()

    def clipped(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.relu((x * w).sum(1) + b)

    r = clipped(x.double(), w.double(), b.double())
    c = torch.relu(sum(part.sum(1) for part in (x * w).split(64, 1)) + b)
    lifted = (r == 0) & (c > 0)
    assert lifted.sum() > 100
    x, w, b, c, r = x[lifted], w[lifted], b[lifted], c[lifted], r[lifted]
    allowed, scatter = slack(n, torch.float32), torch.zeros_like(r)
    for seed in range(24):
        with in_double(accuracy.roundoff(torch.float32) * allowed.noise, seed):
            scatter = scatter.maximum(clipped(*doubled([x, w, b])))
    e = torch.zeros_like(c)
    assert outside(c, e, r, allowed, scatter) == []
    assert len(outside(c + 1e-4, e, r, allowed, scatter)) == len(c), "and no further than rounding does"


def test_narrow_arithmetic_does_not_pass() -> None:
    a, b = torch.randn(64, 256), torch.randn(256, 64)
    r, e, c = a.double() @ b.double(), a @ b, (a.bfloat16() @ b.bfloat16()).float()
    allowed = slack(256, torch.float32)
    assert len(outside(c, e, r, allowed)) > 3000
    tf32 = a.view(torch.int32).bitwise_and(~0x1FFF).view(torch.float32) @ b
    assert len(outside(tf32, e, r, allowed)) > 1000


def test_small_outputs_beside_large_ones_must_be_right_for_their_size() -> None:
    x = torch.randn(100, 1000) * 10
    r, e = x.double().softmax(1), x.softmax(1)
    flushed = torch.where(e < 1e-12, 0.0, e)
    assert (flushed - e).abs().max() < 1e-11
    assert len(outside(flushed, e, r, slack(1000, torch.float32))) > 100


def test_cancellation_is_judged_by_what_rounding_can_do() -> None:
    """exp(a) - exp(b) with a close to b: few elements are badly conditioned, and eager is lucky at some."""
    a = torch.randn(100_000) * 4
    b = a + 1e-3 * torch.randn(100_000)

    def reference(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a.exp() - b.exp()

    r, e = reference(a.double(), b.double()), reference(a, b)
    noisy = []
    for seed in range(3):
        with in_double(accuracy.roundoff(torch.float32), seed):
            noisy.append((reference(*(x.clone() for x in doubled([a, b]))) - r).abs())
    scatter = torch.stack(noisy).amax(0)
    another = (a.double().exp() * (1 + 0.5 * ULP * torch.randn(100_000))).float() - b.exp()
    assert outside(another, e, r, F32, scatter) == []
    wrong, place = another.clone(), int(a.argmax())
    wrong[place] += 1000 * ULP * float(a[place].exp())
    assert outside(wrong, e, r, F32, scatter) == [place]


def test_what_a_chip_takes_for_zero_in_between_may_be_zero() -> None:
    """exp(-88) is no normal number, and -88 times it is one; where nothing so small is in between it must be right.

    exp(-87.33) is one, or none after rounding.
    """
    x = torch.full((1000,), -88.0).index_fill(0, torch.arange(500), -87.33)
    r, e = torch.nn.functional.mish(x.double()), torch.nn.functional.mish(x)
    assert float(r[0].abs()) > 40 * torch.finfo(torch.float32).tiny
    zero, double = torch.zeros_like(e), 6 * e
    with in_double(accuracy.roundoff(torch.float32), 0):
        scatter = (torch.nn.functional.mish(x.double().clone()) - r).abs()
        plain = (x.double() * 1e-38 - x.double() * 1e-38).abs()
    assert len(outside(zero, e, r, F32)) == len(outside(zero, e, r, F32, plain)) == 1000
    assert outside(zero, e, r, F32, scatter) == []
    assert len(outside(double, e, r, F32, scatter)) == 1000
    with in_double(accuracy.roundoff(torch.float64), 0):
        assert float(torch.exp(x.double())[0]) > 0, "float64 has smaller ones"


def test_rounding_of_what_is_below_the_normal_numbers_is_rounding() -> None:
    """Means that cancel, of numbers that layers make larger again: all of what they hold is rounding."""
    x, mixes = torch.randn(4096, 16) * 1e-39, [torch.randn(16, 16) for _ in range(6)]

    def means(x: torch.Tensor, wrong: float = 0.0) -> torch.Tensor:
        for mix in mixes:
            y = x @ mix.to(x.dtype)
            mean = y.cumsum(0)[-1] / len(y)
            x = (y - mean) / (y.var(0) + 1e-5).sqrt()
        return mean + wrong * y.abs().mean(0)

    def scatter(seeds: range) -> torch.Tensor:
        found = torch.zeros(16, dtype=torch.float64)
        for seed in seeds:
            with in_double(accuracy.roundoff(torch.float32) * allowed.noise, seed):
                found = torch.maximum(found, (means(x.double()) - r).abs())
        return found

    allowed = slack(4096, torch.float32)
    with in_double():
        r = means(x.double())
    e, c, noise = r.float(), means(x), scatter(range(8))
    assert outside(c, e, r, allowed, scatter(range(0, 8, 2))), "zeros show no rounding"
    assert outside(c, e, r, allowed, noise) == []
    assert len(outside(means(x, wrong=1e-3), e, r, allowed, noise)) == 16


def test_sixteen_bits_are_rounded_once() -> None:
    r = torch.randn(5000, dtype=torch.float64)
    e = r.bfloat16()
    assert outside(e, e, r) == []
    assert len(outside(e * 1.02, e, r)) > 1000


def test_everything_a_little_off_is_too_much() -> None:
    """Each element is within what eager's worst allows, yet the whole is far worse than eager."""
    r = 1 + torch.rand(50_000, dtype=torch.float64)
    e = r.float()
    e[::500] *= 1 + 40 * ULP
    c = (r * (1 + 50 * ULP)).float()
    found = errors(c, e, r, F32)
    assert found.outside.numel() == 0
    assert found.norm > norm_allowed(found, F32, torch.float32)


def test_nan_and_infinity_stand_where_they_must() -> None:
    inf, nan = float("inf"), float("nan")
    e = torch.tensor([nan, inf, -inf, 1.0, inf])
    r = torch.tensor([nan, inf, -inf, 1.0, 1e300], dtype=torch.float64)
    assert errors(e, e, r, F32).nonfinite == -1
    for place, value in ((0, 0.0), (1, -inf), (1, nan), (2, 1.0), (3, nan), (3, inf), (4, 3.0)):
        c = e.clone()
        c[place] = value
        assert errors(c, e, r, F32).nonfinite == place
    assert errors(torch.tensor([2.0]), torch.tensor([inf]), torch.tensor([2.0]).double(), F32).nonfinite == -1


def test_an_infinity_stands_where_rounding_reaches_it() -> None:
    c, half = torch.tensor([math.inf], dtype=torch.float16), slack(1, torch.float16)
    for due, right in ((65_510.0, True), (65_000.0, False), (-65_510.0, False)):
        r = torch.tensor([due], dtype=torch.float64)
        assert (errors(c, r.half(), r, half).nonfinite < 0) == right


def test_noise_is_of_the_size_of_rounding() -> None:
    x = torch.randn(1000)
    with in_double():
        assert x.double().float().dtype == torch.float64, "what asks for less precision does not get it"
        assert torch.zeros(2, dtype=torch.float16).dtype == torch.float64
        assert torch.ones(2).dtype == torch.float64
        assert not torch.backends.cudnn.enabled, "which takes far longer for float64"
    assert torch.ones(2).dtype == torch.float32 and torch.backends.cudnn.enabled
    with in_double(ULP / 2):
        noisy = torch.sin(x.double().clone())
    relative = (noisy / torch.sin(x.double()) - 1).abs()
    assert 0 < relative.median() < 2 * ULP


def expect(result: object, **more: object) -> Expected:
    return Expected(result=flatten(result), changed={}, **more)


def test_structure_counts() -> None:
    one = torch.ones(2, 3)
    for mine, due in (((one, one), (one,)), ([one], (one,)), ({"a": one}, {"b": one}), (one, [one])):
        assert not compare(mine, {}, expect(due), 1, lambda *_: None)[0].ok
    assert compare((one, 3, None, "a"), {}, expect((one, 3, None, "a")), 1, lambda *_: None)[1].ok
    assert not compare((one, 3), {}, expect((one, 4)), 1, lambda *_: None)[1].ok


def test_integers_are_exact_but_for_ties_and_what_rounding_decides() -> None:
    values = torch.tensor([[1.0, 5.0, 5.0], [2.0, 2.0, 1.0]])
    due = torch.tensor([1, 0])

    def ok(mine: list[int], **more: object) -> bool:
        return compare(torch.tensor(mine), {}, expect(due, **more), 1, lambda *_: None)[0].ok

    tie = {"output": Tie(values, 1, (2, 1))}
    assert ok([1, 0]) and not ok([2, 0])
    assert ok([2, 1], ties=tie) and ok([2, 0], ties=tie)
    assert not ok([0, 0], ties=tie) and not ok([-1, 0], ties=tie) and not ok([3, 0], ties=tie)
    assert ok([2, 0], exact={"output": torch.tensor([2, 0])})


@pytest.mark.parametrize(
    ("mine", "summed", "ok"),
    [
        (721, True, True),
        (728, True, True),
        (729, True, False),
        (719, False, True),
        (722, False, True),
        (721, False, False),
    ],
)
def test_of_a_sum_rounding_decides_by_how_much_and_elsewhere_which_number(mine: int, summed: bool, ok: bool) -> None:
    due = torch.tensor([720, 300])
    noisy = {"output": torch.tensor([[0, 0], [719, 722]])}
    expected = expect(due, exact={"output": due}, summed=frozenset({"output"} if summed else ()))
    for second, right in ((300, ok), (301, False)):
        (found,) = compare(torch.tensor([mine, second]), {}, expected, 1, lambda *_: noisy)
        assert found.ok == right


def test_no_more_than_a_quarter_of_many_numbers_is_for_rounding_to_decide() -> None:
    for count, ok in ((2, True), (40, False)):
        due = torch.zeros(count, dtype=torch.long)
        noisy = {"output": torch.stack((torch.arange(count), torch.ones_like(due)))}
        (found,) = compare(due + 1, {}, expect(due, exact={"output": due}), 1, lambda *_, noisy=noisy: noisy)
        assert found.ok == ok


@pytest.mark.parametrize(("row", "ok"), [(0, True), (2, False)])
def test_rows_whose_order_is_open_share_their_noise(row: int, ok: bool) -> None:
    due = torch.tensor([[5.0, 0.0], [7.0, 0.0], [8.0, 0.0], [9.0, 0.0]])
    moved = torch.zeros_like(due)
    moved[1, 1] = 1e-3
    mine = due.clone()
    mine[row, 1] = 1e-3
    is_open = torch.tensor([[True, False], [True, False], [False, False], [False, False]])
    expected = expect(due, exact={"output": due.double()}, open={"output": is_open})
    (found,) = compare(mine, {}, expected, 1, lambda *_: {"output": moved.flatten()})
    assert found.ok == ok


def test_without_float64_eager_and_kernelbench_decide() -> None:
    due = torch.ones(10)
    assert compare(due + 5e-5, {}, expect(due), 1, lambda *_: None)[0].ok
    (wrong,) = compare(due + 5e-4, {}, expect(due), 1, lambda *_: None)
    assert not wrong.ok and wrong.wrong_elements == 10


def test_reasons_are_sentences_and_nothing_is_measured_where_nothing_can_be() -> None:
    one = torch.ones(2, 3)
    for mine, reason in (
        (torch.ones(3, 2).t(), "its strides are (1, 2) where (3, 1) are due"),
        (one[:1], "its shape is (1, 3) where (2, 3) is due"),
        (None, "it is None, not a tensor"),
        ((one,), "it returns a tuple with output(0) where a single value is due"),
        (one * float("nan"), "it holds nan where 1.0 is due"),
    ):
        (found,) = compare(mine, {}, expect(one, exact={"output": one.double()}), 1, lambda *_: None)
        assert found.reason == reason
        assert not found.kernelbench and found.worst_error is None and found.ratio is None


def test_state_that_the_reference_replaces_by_a_part_may_lie_as_it_did() -> None:
    due = {"state memory": torch.ones(2, 5, 3)[:, -2:]}
    for mine, ok in ((torch.ones(2, 2, 3), True), (torch.ones(2, 3, 2).mT, False), (torch.zeros(2, 2, 3), False)):
        _, state = compare((), {"state memory": mine}, Expected(flatten(()), due), 1, lambda *_: None)
        assert state.ok == ok


def test_float64_may_be_seen_with_the_other_sign() -> None:
    exact = torch.complex(torch.randn(100), torch.randn(100)).to(torch.complex128).conj().imag
    due = exact.float()
    assert (
        exact.is_neg() and compare(due * (1 + ULP), {}, expect(due, exact={"output": exact}), 1, lambda *_: None)[0].ok
    )


def test_the_ratio_is_no_accident_of_an_eager_that_is_exact() -> None:
    due = torch.ones(10)
    exact = {"output": due.double()}
    (found,) = compare(due * (1 + ULP), {}, expect(due, exact=exact), 1, lambda *_: None)
    assert found.ok and found.ratio == pytest.approx(2)


def test_of_very_many_wrong_elements_the_number_is_known_and_some_places(monkeypatch):
    monkeypatch.setattr("akg_core.judge.compare.accuracy._KEPT", CHUNK)
    e = torch.ones(4 * CHUNK)
    found = errors(e + 1, e, e.double(), slack(1, e.dtype))
    assert found.count == 4 * CHUNK
    assert found.outside.tolist() == [*range(CHUNK)]


def test_a_device_that_updates_many_places_at_once_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    r = torch.randn(3 * CHUNK + 7, dtype=torch.float64) * torch.logspace(-30, 30, 3 * CHUNK + 7, dtype=torch.float64)
    e = (r * (1 + 1e-4 * torch.randn(r.shape))).float()
    c = (r * (1 + 2e-4 * torch.randn(r.shape))).float()
    e[5], c[5] = torch.nan, torch.nan
    found = errors(c, e, r, F32)
    monkeypatch.setattr("akg_core.judge.compare.binades.HOST", "elsewhere")
    other = errors(c, e, r, F32)
    assert 0 < found.count == other.count and found.worst == other.worst
    assert torch.equal(found.outside, other.outside)


def similar_by_hand(e: torch.Tensor, r: torch.Tensor, places: list[int]) -> list[float]:
    """The worst error of elements in the same binade, and in so many larger ones, twelve at most, then smaller ones,
    that they are 64."""
    errors_of: dict[int, list[float]] = {}
    for one, other in zip(e.double().tolist(), r.tolist(), strict=True):
        errors_of.setdefault(math.frexp(other)[1] if other else -2000, []).append(abs(one - other))
    used, found = sorted(errors_of), []
    for place in places:
        at = used.index(math.frexp(float(r[place]))[1] if r[place] else -2000)
        pool: list[float] = []
        for binade in (*(other for other in used[at:] if other <= used[at] + 12), *reversed(used[:at])):
            if len(pool) >= 64:
                break
            pool += errors_of[binade]
        found.append(max(pool))
    return found


@pytest.mark.parametrize("sample", [1, 1 << 20], ids=["part", "all"])
@pytest.mark.parametrize("spread", [0, 3, 40])
def test_similar_elements_are_those_of_the_same_binade_and_of_larger_ones_where_they_are_few(
    spread: int, sample: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("akg_core.judge.compare.binades._SAMPLE", sample)
    torch.manual_seed(spread)
    r = torch.randn(2 * CHUNK + 9, dtype=torch.float64) * torch.logspace(-spread, 0, 2 * CHUNK + 9, dtype=torch.float64)
    r[77] = 0
    e = (r + 1e-7 * torch.randn(r.shape)).float()
    small = r.abs().argsort()
    for places in (small[:3], small[:200:40], small[-5:], torch.arange(0, len(r), 9001)):
        due = similar_by_hand(e, r, places.tolist())
        asked = WorstErrors(e, r)
        for _ in range(2):  # the second time from what is known by then
            assert asked.of_all(r[places]).tolist() == due
        assert (asked.of_sample(r[places]) <= asked.of_all(r[places])).all()
    assert asked.of_all(r[small[:1]]).tolist() == similar_by_hand(e, r, small[:1].tolist())


@pytest.mark.parametrize(("zero", "after"), [(50, {"0", "nan"}), (None, {"inf"})])
def test_what_a_product_is_after_a_zero_and_what_has_grown_infinite_depends_on_the_order(
    zero: int | None, after: set[str]
) -> None:
    """A kernel may multiply in any order: zero times infinity is no number, and zero is zero where it comes first."""
    x = torch.full((2, 400), 1e3, dtype=torch.float64)
    x[1] = 0.5
    if zero is not None:
        x[0, zero] = 0.0
    found = []
    for seed in range(2):
        with in_double(accuracy.roundoff(torch.float32), seed):
            found.append((x.cumprod(1), x.prod(1)))
    kinds = [{str(float(running[0, -1])), str(float(whole[0]))} for running, whole in found]
    assert {kind.removesuffix(".0") for pair in kinds for kind in pair} == after
    assert all(torch.allclose(running[1], x[1].cumprod(0), rtol=1e-4) for running, _ in found)
    assert all(running[0, :12].isfinite().all() for running, _ in found)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_places_between_pixels_are_rounded(dtype: torch.dtype) -> None:
    """Between 1 and -1 in the last columns of a long row a place counts more than what lies there."""
    x = torch.tensor([1.0, -1.0], dtype=torch.float64).repeat(500).view(1, 1, 1, 1000)

    def made() -> torch.Tensor:
        return interpolate(x, (1, 7001), mode="bilinear", align_corners=True).flatten()

    due = made()
    with in_double(accuracy.roundoff(dtype), 1):
        moved = (made() - due).abs()[due.abs() < 1e-3]
    assert 1e-5 < moved.max() < 5e-3
    with in_double(accuracy.roundoff(torch.float64), 1):
        assert (made() - due).abs().max() < 1e-11


def test_what_is_made_whole_is_no_further_rounded() -> None:
    x = torch.tensor([-2.5, 0.5, 1e6 + 0.5], dtype=torch.float64)
    for seed in range(4):
        with in_double(accuracy.roundoff(torch.float32), seed):
            assert x.floor().long().tolist() == [-3, 0, 1000000]
            assert x.clone().ceil_().long().tolist() == [-2, 1, 1000001] and x.floor().frac().tolist() == [0, 0, 0]


@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_an_image_in_parts_is_the_image(mode: str, antialias: bool) -> None:
    x = torch.randn(2, 3, 17, 23, dtype=torch.float64)
    if antialias:
        x[0, 0, 3, 4], x[1, 2, 0, 0] = math.nan, math.inf
    due = interpolate(x, (13, 40), mode=mode, antialias=antialias)
    with in_double(accuracy.roundoff(torch.float64), 1):
        made = interpolate(x, (13, 40), mode=mode, antialias=antialias)
    torch.testing.assert_close(made, due, rtol=1e-11, atol=1e-12, equal_nan=True)


def test_weights_of_an_antialiased_image_are_rounded() -> None:
    x = torch.full((1, 1, 16, 16), 100.0, dtype=torch.float64)
    x[..., 1::2] = -100.0
    due = interpolate(x, (16, 9), mode="bicubic", antialias=True)
    moved = torch.zeros_like(due)
    for seed in range(8):
        with in_double(accuracy.roundoff(torch.float32), seed):
            moved = torch.maximum(moved, (interpolate(x, (16, 9), mode="bicubic", antialias=True) - due).abs())
    assert bool((moved > 2e-6).all()) and bool((moved < 2e-3).all()), "by the size of what cancels, not of what is left"
    whole = torch.arange(48, dtype=torch.uint8).view(1, 3, 4, 4)
    with in_double(accuracy.roundoff(torch.float32), 1):
        assert interpolate(whole, (2, 2), mode="bilinear", antialias=True).dtype == torch.uint8


def test_sums_in_another_order_are_alike() -> None:
    x = torch.arange(9, dtype=torch.float32)
    one = {"output": x, "empty": torch.empty(0), "count": torch.tensor(3)}
    assert alike(one, one | {"output": x + 1e-6, "empty": torch.empty(0)})
    assert not alike(one, one | {"output": x + 0.01}) and not alike(one, one | {"count": torch.tensor(4)})
    assert not alike(one, one | {"empty": torch.empty(1)})


def test_transforms_are_rounded_by_the_size_of_what_they_transform() -> None:
    x = torch.full((3, 4, 32), 1000.0, dtype=torch.float64) + torch.arange(32) % 5
    x[2] = 0.001
    x[1, 2, 7] = math.nan
    transforms: list[Callable[[torch.Tensor], torch.Tensor]] = [
        lambda x: torch.view_as_real(torch.fft.rfft2(x, norm="ortho")),
        lambda x: torch.view_as_real(torch.fft.ifft(torch.complex(x, x), dim=1)),
        lambda x: torch.fft.irfft(torch.complex(x, x), n=62),
    ]
    for transform in transforms:
        due, moved = transform(x), torch.zeros_like(transform(x))
        for seed in range(8):
            with in_double(accuracy.roundoff(torch.float32), seed):
                moved = torch.maximum(moved, (transform(x) - due).abs())
        assert bool((moved[0] > 1e-6).all()) and bool((moved[0] < 0.1).all()), "what is left of 1000 minus 1000"
        assert bool((moved[2] < 1e-7).all()) and bool(moved[1].isnan().any()) and not bool(moved[[0, 2]].isnan().any())


@pytest.mark.parametrize(("dtype", "due"), [(torch.float32, {"0.0", "nan"}), (torch.float64, {"0.0"})])
def test_what_grows_infinite_in_single_precision_may_be_multiplied_by_zero_there(
    dtype: torch.dtype, due: set[str]
) -> None:
    x = torch.full((1, 60), 1e3, dtype=torch.float64)
    x[0, 50] = 0.0
    found = set()
    for seed in range(2):
        with in_double(accuracy.roundoff(dtype), seed):
            found.add(str(float(x.prod(1))))
    assert found == due


@pytest.mark.parametrize(("size", "scatters"), [(1e-30, False), (1e-35, True)])
def test_factors_that_parts_of_bf16_do_not_hold_have_eight_digits_in_every_second_run(
    size: float, scatters: bool
) -> None:
    one, other = size * torch.rand(64, 64, dtype=torch.float64), torch.rand(64, 64, dtype=torch.float64)
    exact, moved = one @ other, []
    for seed in range(2):
        with in_double(accuracy.roundoff(torch.float32), seed):
            noisy = one @ other
        moved.append(float((noisy - exact).abs().max() / exact.max()))
    assert (moved[0] > 1e-5) == scatters and moved[1] < 1e-5


def test_noise_leaves_what_is_not_finite_as_it_is() -> None:
    x = torch.tensor([math.inf, -math.inf, math.nan, 0.0]).double()
    for seed in range(8):
        with in_double(accuracy.roundoff(torch.float32), seed):
            moved = x + 0
        assert torch.allclose(moved, x, rtol=0, atol=0, equal_nan=True)


def test_what_noise_on_some_rows_has_explained_stays_explained_when_others_ask_for_more_runs() -> None:
    due = torch.ones(16, 4096)
    mine = due.clone()
    mine[3, 0], mine[7, 1] = 1 + 64 * ULP, 1 + 256 * ULP
    asked: list[tuple[int, list[int] | None]] = []

    def noise(runs: int, rows: torch.Tensor | None) -> dict[str, torch.Tensor]:
        asked.append((runs, None if rows is None else rows.tolist()))
        scatter = torch.zeros(16, 4096, dtype=torch.float64)
        scatter[rows] = runs * 10 * ULP
        return {"output": scatter.flatten()}

    (found,) = compare(mine, {}, expect(due, exact={"output": due.double()}), 1, noise)
    assert found.ok and asked == [(3, [3, 7]), (8, [3, 7])]


def test_where_terms_are_each_other_s_opposites_noise_says_what_is_hopeless() -> None:
    """Means of what a batch norm makes of two values, x and -x: exactly 0 by eager, and whatever rounding left else."""
    due, scatter = torch.zeros(64), torch.full((64,), 0.5 * ULP, dtype=torch.float64)
    runs: list[int] = []

    def noise(count: int, rows: torch.Tensor | None) -> dict[str, torch.Tensor]:
        runs.append(count)
        return {"output": scatter}

    def judged(mine: torch.Tensor, source=noise) -> bool:
        return compare(mine, {}, expect(due, exact={"output": due.double()}), 1, source)[0].ok

    def exhausted(count: int, rows: torch.Tensor | None) -> None:
        raise OutOfMemory("too little")

    assert judged(torch.randn(64).clamp(-1, 1) * ULP) and runs == [1]
    runs.clear()
    assert not judged(torch.randn(64)) and runs == [1], "wrong by far is not asked about again"
    assert not judged(torch.randn(64), exhausted)


def test_where_a_relu_gives_zero_one_run_without_a_trace_of_noise_says_nothing() -> None:
    due = torch.zeros(64)

    def noise(count: int, rows: torch.Tensor | None) -> dict[str, torch.Tensor]:
        return {"output": torch.full((64,), 0.5 if count > 1 else 0.0, dtype=torch.float64)}

    def judged(mine: torch.Tensor) -> bool:
        return compare(mine, {}, expect(due, exact={"output": due.double()}), 1, noise)[0].ok

    assert judged(torch.nn.functional.one_hot(torch.tensor(7), 64).float())
    assert not judged(torch.nn.functional.one_hot(torch.tensor(7), 64) * 3.0)
