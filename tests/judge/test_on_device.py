"""Times on a device: turns that are queued, made openly, or not believed; and a track, whose device is in memory."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from akg_core.judge.candidate import queued
from akg_core.judge.reference import turns_on_device
from akg_core.judge.reference.new_inputs_on_device import Refill
from akg_core.judge.timing import device_clock, measure
from akg_core.judge.timing.device_clock import Clock, Unfair
from akg_core.judge.timing.on_device import turns_of_a_round
from akg_core.judge.timing.participant import Unusable
from akg_core.judge.timing.queued_copies import with_queued_copies
from akg_core.judge.timing.rounds import Sampled, are_narrow
from akg_core.records import Case, DeviceTurn, TimingPlan
from akg_core.worker.tensors import save
from tests.judge.shared_memory import SharedMemory

OPENED = {"lane": {"path": "lane"}, "places": [0]}


class Asked:
    """Stands for the process with the clock: notes its jobs, and answers as it is told to."""

    def __init__(self, *exposed: float) -> None:
        self.jobs: list[str] = []
        self.started: list[int] = []
        self._exposed = itertools.chain(exposed, itertools.repeat(1e-4))

    def __call__(self, job: str, payload: dict[str, Any]) -> dict[str, Any]:
        self.jobs.append(job)
        if job == "start_job":
            self.started.append(payload["number"])
        found = {"seconds": 1e-3, "exposed": next(self._exposed), "late": False}
        return found if job in ("turn_job", "end_job") else {}


class Kernel:
    """Stands for a participant; one that waits does so until the turn that it is queued for has been started."""

    def __init__(self, asked: Asked, waits: bool = False, ran: Callable[[], Any] = dict, name: str = "kernel") -> None:
        self.session, self.name, self.believed = SimpleNamespace(ran=ran), name, name != "kernel"
        self.plans: list[DeviceTurn] = []
        self._asked, self._waits = asked, waits

    def called(self, plan: TimingPlan, seed: int = 0) -> Any:
        assert plan.turn
        self.plans.append(plan.turn)
        while self._waits and plan.turn.queued and plan.turn.number not in self._asked.started:
            time.sleep(1e-3)
        return SimpleNamespace(told={"answer": {}} | ({"seconds": 7e-3} if plan.turn.believed else {}))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[Asked], Clock]:
    monkeypatch.setattr(device_clock, "_QUEUED_SECONDS", 0.05)
    return lambda asked: Clock(SimpleNamespace(background=ThreadPoolExecutor().submit), asked, OPENED)


def test_a_call_is_queued_and_then_inputs_are_made(clock: Callable[[Asked], Clock]) -> None:
    asked = Asked()
    kernel, timer = Kernel(asked), clock(asked)
    assert all(timer.turn(kernel, TimingPlan(), (1, 2), 3) == (1e-3, "queued") for _ in range(2))
    assert asked.jobs == ["turn_job"] * 2
    assert [turn.number for turn in kernel.plans] == [1, 2] and all(turn.queued for turn in kernel.plans)


def test_a_call_that_waits_for_the_device_is_made_openly_from_then_on(clock: Callable[[Asked], Clock]) -> None:
    asked = Asked()
    kernel, timer = Kernel(asked, waits=True), clock(asked)
    assert [timer.turn(kernel, TimingPlan(), (1, 2)).kind for _ in range(2)] == ["open", "open"]
    assert asked.jobs == ["start_job", "begin_job", "end_job", "begin_job", "end_job"]
    assert [turn.queued for turn in kernel.plans] == [True, False, False] and timer.unqueued == {"kernel"}


def test_where_a_kernel_cannot_be_queued_nobody_is(clock: Callable[[Asked], Clock]) -> None:
    asked = Asked()
    kernel, rival, timer = Kernel(asked, waits=True), Kernel(asked, name="eager"), clock(asked)
    assert [timer.turn(one, TimingPlan(), (1, 2)) for one in (kernel, rival)] == [(1e-3, "open"), (7e-3, "own")]
    assert timer.unqueued == {"kernel"} and not any(turn.believed for turn in kernel.plans)


def test_a_baseline_that_cannot_be_queued_takes_the_time_itself(clock: Callable[[Asked], Clock]) -> None:
    asked = Asked()
    kernel, rival, timer = Kernel(asked), Kernel(asked, waits=True, name="eager"), clock(asked)
    turns = [timer.turn(one, TimingPlan(), (1, 2)) for one in (kernel, rival, kernel, rival)]
    assert turns == [(1e-3, "queued"), (7e-3, "own")] * 2
    assert asked.jobs == ["turn_job", "start_job", "begin_job", "end_job", "turn_job", "begin_job", "end_job"]
    assert timer.unqueued == {"eager"} and not any(turn.believed for turn in kernel.plans)


def test_a_round_has_as_many_turns_as_there_is_time_for() -> None:
    assert [turns_of_a_round(seconds, 0.05) for seconds in (0.12, 0.5, 0.61, 1.5)] == [1, 2, 3, 3]


def test_what_runs_while_it_is_to_stand_still_is_found(clock: Callable[[Asked], Clock]) -> None:
    asked, counted = Asked(), itertools.count()
    with pytest.raises(Unfair, match="Its process went on"):
        clock(asked).turn(Kernel(asked, ran=lambda: {(1, 1): next(counted)}), TimingPlan(), (1, 2))


def test_a_turn_whose_last_moments_before_it_were_counted_late_is_taken_again(clock: Callable[[Asked], Clock]) -> None:
    asked, counted = Asked(), iter([1, 2, 2, 2])
    turn = clock(asked).turn(Kernel(asked, ran=lambda: {(1, 1): next(counted)}), TimingPlan(), (1, 2))
    assert turn == (1e-3, "queued") and asked.jobs == ["turn_job"] * 2


def test_a_turn_whose_inputs_were_long_in_sight_is_taken_again(clock: Callable[[Asked], Clock]) -> None:
    asked = Asked(1e-4, 3e-3, 1.2e-4)
    kernel, timer = Kernel(asked), clock(asked)
    for _ in range(2):
        timer.turn(kernel, TimingPlan(), (1, 2))
    assert len(asked.jobs) == 3
    asked = Asked(1e-4, *[3e-3] * 4)
    kernel, timer = Kernel(asked), clock(asked)
    timer.turn(kernel, TimingPlan(), (1, 2))
    with pytest.raises(Unusable, match="Something was at work on the device"):
        timer.turn(kernel, TimingPlan(), (1, 2))


def test_a_turn_that_does_not_end_is_no_time_and_nobody_waits_for_it_any_more(clock: Callable[[Asked], Clock]) -> None:
    class Endless(Asked):
        def __call__(self, job: str, payload: dict[str, Any]) -> dict[str, Any]:
            super().__call__(job, payload)
            return {"error": "it did not end within 30 s"}

    asked = Endless()
    with pytest.raises(Unusable, match="It did not end"):
        clock(asked).turn(Kernel(asked), TimingPlan(), (1, 2))
    assert asked.jobs == ["turn_job", "start_job"]


@pytest.mark.parametrize(("width", "resolution", "narrow"), [(0.005, 0.0, True), (0.2, 0.0, False), (0.2, 0.5, True)])
def test_no_more_rounds_are_asked_for_than_the_clock_can_tell(width: float, resolution: float, narrow: bool) -> None:
    draw = random.Random(3)
    rounds = {
        name: [tuple(draw.gauss(middle, width) for _ in range(3)) for _ in range(8)]
        for name, middle in (("kernel", 1.0), ("eager", 2.0))
    }
    assert are_narrow(rounds, resolution) == narrow


# --- a track and who is timed there, in one process ----------------------------------------------------------


@pytest.fixture
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SharedMemory:
    found = SharedMemory()
    monkeypatch.setattr(found, "folder", tmp_path, raising=False)
    monkeypatch.setattr(queued, "_lanes", {})
    monkeypatch.setattr(queued, "_inputs", {})
    return found


class Subject:
    """A model, and the inputs that it has been called on."""

    def __init__(self, device: SharedMemory, forward: Callable[..., Any]) -> None:
        self.device, self.forward, self.seen = device, forward, list[torch.Tensor]()

    def enter(self, case: Case) -> dict[str, Any]:
        return {}

    def model(self, *given: torch.Tensor) -> Any:
        self.seen.append(given[0].clone())
        return self.forward(*given)


def taken(device: SharedMemory, draw: Callable[[int], list[Any]], subject: Subject, folder: Path, seeds: range):
    """The track on which a subject has taken a turn with inputs of each of these seeds."""
    refill = Refill(draw, 7)
    made = turns_on_device.Track(device, refill.given, refill.write)
    opened = turns_on_device._opened(made)
    save(folder / "inputs", draw(0))
    case = Case(name="drawn", inputs=folder / "inputs", outputs=folder / "outputs")
    for seed in seeds:
        turn = DeviceTurn(lane=opened["lane"], places=tuple(opened["places"]), number=seed, queued=False)
        asked = {"number": seed, "seed": seed, "random": 0, "sweep": 0, "most": 2, "patience": 1.0}
        turns_on_device.begin_job(asked)
        told = queued.take_turn(subject, case, turn)
        found = turns_on_device.end_job(asked | {"told": told})
        assert found["seconds"] > 0, found
    return made


@pytest.mark.parametrize("layout", ["torch.randn(5, 1).expand(5, 7)", "torch.randn(7, 5).t()", "torch.randn(5, 7)"])
def test_inputs_of_any_layout_are_new_in_each_turn(device: SharedMemory, layout: str, tmp_path: Path) -> None:
    def draw(seed: int) -> list[Any]:
        torch.manual_seed(seed)
        return [eval(layout, {"torch": torch}), 2.0]

    subject = Subject(device, lambda x, factor: x * factor)
    found = taken(device, draw, subject, tmp_path, range(1, 9))
    (first, *later) = subject.seen[-8:]
    assert {one.shape for one in later} == {first.shape}
    assert not any(torch.equal(one, other) for one, other in itertools.combinations(subject.seen[-8:], 2))
    assert len(found.kept) == 1 and list(found.sure) == [False] and found.offered == 8
    for kept in (*found.kept, *found.sure.values()):
        (made,) = found.given(kept.seed)
        (output,) = kept.outputs
        like = made.as_strided(first.shape, draw(0)[0].stride())
        (told,) = kept.answer["tensors"]
        result = output.view(torch.float32).as_strided(told["shape"], told["strides"])
        assert torch.equal(result, like * 2) and not kept.changed


def test_before_a_first_turn_there_are_inputs_on_which_a_model_may_be_called(device: SharedMemory) -> None:
    """Whoever is timed is called once before; indices that are no draw's might reach beyond a table."""

    def draw(seed: int) -> list[Any]:
        generator = torch.Generator().manual_seed(seed)
        return [torch.randint(5, 9, (64,), generator=generator), torch.rand(16, generator=generator) + 1]

    refill = Refill(draw, 7)
    indices, numbers = turns_on_device.Track(device, refill.given, refill.write).left()
    assert {*indices.tolist()} <= {5, 6, 7, 8} and bool(((numbers >= 1) & (numbers <= 2)).all())


def test_what_a_call_changes_of_its_inputs_is_told(device: SharedMemory, tmp_path: Path) -> None:
    class Whole(SharedMemory):
        """Both sides see the same memory, as on a real device."""

        folder = tmp_path

        def lane(self, token: dict[str, Any]) -> Any:
            lane = super().lane(token)
            lane.memory = turns_on_device._tracks[0].clock.memory
            return lane

    def draw(seed: int) -> list[Any]:
        return [torch.randn(6, generator=torch.Generator().manual_seed(seed)) for _ in range(2)]

    subject = Subject(Whole(), lambda one, other: one + other.mul_(2))
    found = taken(subject.device, draw, subject, tmp_path, range(1, 3))
    assert all(list(kept.changed) == [1] for kept in (*found.kept, *found.sure.values()))


def test_the_answer_of_the_fastest_turn_is_kept_and_one_on_hard_inputs() -> None:
    made = SimpleNamespace(kept=[], sure={}, least=float("inf"), offered=0, given=lambda seed: [], left=list)
    for seed, seconds in ((1, 3.0), (2, 1.0), (-5, 0.5), (3, 2.0), (-6, 9.0)):
        told = turns_on_device._Told({}, [], lambda: None)
        turns_on_device._offer(made, told, {"seed": seed, "random": 0, "most": 1}, seconds)
    assert {hard: answer.seed for hard, answer in made.sure.items()} == {False: 2, True: -6}
    assert not made.kept and made.offered == 3


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        ({"answer": {"tensors": [{"nbytes": 4, "device": "elsewhere"}]}, "named": [{}]}, "does not lie on cpu"),
        ({"answer": {"tensors": [{"nbytes": -4, "device": "cpu"}]}, "named": [{}]}, "no size"),
        ({"answer": {"tensors": [{"nbytes": 1 << 60, "device": "cpu"}]}, "named": [{}]}, "larger than"),
        ({"answer": {"tensors": [{"nbytes": 4, "device": "cpu"}]}, "named": []}, "where all of it lies"),
        ({"answer": {"tensors": [{"nbytes": 4, "device": "cpu"}]}, "named": [{"bytes": [1]}]}, "another size"),
        ({"answer": {"tensors": [{"nbytes": "many", "device": "cpu"}]}, "named": [{}]}, "many"),
        ({"named": []}, "answer"),
        ({}, "answer"),
    ],
)
def test_an_answer_that_is_told_wrongly_is_no_answer(device: SharedMemory, told: Any, reason: str) -> None:
    turns_on_device._opened(turns_on_device.Track(device, (), lambda *_: None))
    turns_on_device.begin_job({"number": 1, "seed": 1, "sweep": 0, "patience": 1.0})
    found = turns_on_device.end_job({"seed": 1, "random": 0, "told": told, "most": 1, "patience": 1.0})
    assert reason in found["error"]


def test_a_call_that_is_believed_tells_how_long_it_took(device: SharedMemory, tmp_path: Path) -> None:
    refill = Refill(lambda seed: [torch.randn(4)], 7)
    opened = turns_on_device._opened(turns_on_device.Track(device, refill.given, refill.write))
    save(tmp_path / "inputs", [torch.randn(4)])
    case = Case(name="drawn", inputs=tmp_path / "inputs", outputs=tmp_path / "outputs")
    turn = DeviceTurn(lane=opened["lane"], places=(0,), number=1, queued=False, believed=True)
    told = queued.take_turn(Subject(device, torch.neg), case, turn)
    assert list(told) == ["seconds"] and 0 < told["seconds"] < 1


def test_a_baseline_queues_its_copies_from_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    pinned: list[torch.Tensor] = []
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda self: pinned.append(self) or self)

    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            least = torch.tensor(0.5, device=x.device)
            steps = torch.arange(len(x), dtype=torch.float32).to(x.device, torch.float16)
            return torch.max(x, least) + steps + torch.as_tensor([1.0], device=x.device) + torch.tensor(2.0)

    model = with_queued_copies(Model)()
    assert model(torch.zeros(3)).tolist() == [3.5, 4.5, 5.5] and not pinned, "on the host there is nothing to wait for"
    found = model(torch.zeros(3, device="meta"))
    assert (found.device.type, found.dtype) == ("meta", torch.float32)
    assert [each.tolist() for each in pinned] == [0.5, [0.0, 1.0, 2.0], [1.0]]
    assert isinstance(model, Model) and type(model).__name__ == "Model"


@pytest.mark.parametrize(
    ("unqueued", "result"), [((), "slower"), (("eager",), "slower"), (("kernel",), "inconclusive")]
)
def test_a_kernel_that_cannot_be_queued_is_not_called_slower_for_what_is_beside_its_call(
    unqueued: tuple[str, ...], result: str
) -> None:
    rounds = {"kernel": [(2e-3, 2.1e-3)] * 4, "eager": [(1e-3, 1.1e-3)] * 4}
    found = Sampled(rounds, resolution=5e-3, unqueued=unqueued, timers={"eager": "by its own process"})
    timing = measure._timing(found, "from outside")
    assert [speedup.result for speedup in timing.speedups] == [result]
    assert [measured.timer for measured in timing.measurements] == ["from outside", "by its own process"]
