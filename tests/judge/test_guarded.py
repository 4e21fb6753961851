"""Calls in a row under guards that can tell of all that they have seen."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from akg_core.device import HOST
from akg_core.judge.candidate import guarded
from akg_core.judge.candidate.finished import ANSWERS_LATE, AsReturned
from akg_core.judge.candidate.guard import Guard
from akg_core.judge.candidate.subject import Subject
from akg_core.running import Case
from akg_core.worker.tensors import load, save


class Viewing(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(20):
            x = x.view(-1)
        return x.clone()


@pytest.mark.parametrize(("watched", "guards"), [(10**6, {2}), (400, {*range(3, 9)}), (10, {12})])
def test_calls_of_many_operators_have_a_guard_for_a_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, watched: int, guards: set[int]
) -> None:
    def made(poison: int, walls: object) -> Guard:
        numbers.append(poison)
        return Guard(poison)

    numbers: list[int] = []
    monkeypatch.setattr(guarded, "_WATCHED", watched)
    monkeypatch.setattr(guarded, "Guard", made)
    save(tmp_path / "inputs", [torch.arange(6.0)])
    case = Case(name="again", inputs=tmp_path / "inputs", outputs=tmp_path / "outputs", order=(0,) * 12)
    subject = Subject(SimpleNamespace(ModelNew=Viewing), case, HOST, lambda: lambda: None)
    report = guarded.run(subject, case, copied := [])
    assert report.finished and not report.error and not report.broken_rules, report
    assert numbers[:2] == [0, 1] and len(numbers) in guards, "one first, which tells how many at once"
    assert all(case.outputs_of(number).exists() for number in range(12)) and copied == [True]
    assert load(case.outputs_of(11))["result"].tolist() == [0, 1, 2, 3, 4, 5]


def test_a_few_calls_have_one_guard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guarded, "_WATCHED", 1)
    made: list[int] = []
    monkeypatch.setattr(guarded, "Guard", lambda poison, walls: made.append(poison) or Guard(poison))
    save(tmp_path / "inputs", [torch.arange(6.0)])
    case = Case(name="again", inputs=tmp_path / "inputs", outputs=tmp_path / "outputs", order=(0,) * 3)
    subject = Subject(SimpleNamespace(ModelNew=Viewing), case, HOST, lambda: lambda: None)
    assert guarded.run(subject, case, []).finished and len(made) == 1


class Foreign(nn.Module):
    """Answers in memory of NumPy's: each time another, or what was given back, of much the first first."""

    def __init__(self) -> None:
        super().__init__()
        self.idle = deque(np.empty(4096, np.float32) for _ in range(12))
        self.kept: list[np.ndarray] | None = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        given = self.idle.popleft() if self.kept is None else np.empty(4096, np.float32)
        place = given.view()
        if self.kept is None:
            weakref.finalize(place, self.idle.append, given)
        else:
            self.kept.append(given)
        return torch.from_numpy(place).copy_(x)


class Keeping(Foreign):
    def __init__(self) -> None:
        super().__init__()
        self.kept = []


@pytest.mark.parametrize(("model", "rules"), [(Foreign, ()), (Keeping, (guarded.KEEPS_ANSWERS,))])
def test_places_that_come_again_late_are_no_memory_that_is_kept(
    tmp_path: Path, model: type[nn.Module], rules: tuple[str, ...]
) -> None:
    save(tmp_path / "inputs", [torch.zeros(4096)])
    case = Case(name="again", inputs=tmp_path / "inputs", outputs=tmp_path / "outputs", order=(0,) * 3)
    subject = Subject(SimpleNamespace(ModelNew=model), case, HOST, lambda: lambda: None)
    report = guarded.run(subject, case, [])
    assert report.finished and report.broken_rules == rules, report


class Updating(nn.Module):
    """Gives back what it was given; `holds`: and keeps other memory of as many answers."""

    holds = False

    def __init__(self) -> None:
        super().__init__()
        self.own: list[torch.Tensor] = []

    def forward(self, xs: list[torch.Tensor]) -> list[torch.Tensor]:
        answers = [x.clone() for x in xs] if self.holds else [*xs]
        self.own += [answer.view(-1) for answer in answers] if self.holds else []
        return answers


class Holding(Updating):
    holds = True


@pytest.mark.parametrize(("model", "rules"), [(Updating, ()), (Holding, (guarded.KEEPS_ANSWERS,))])
def test_arguments_that_are_given_back_are_no_memory_that_a_kernel_keeps(
    tmp_path: Path, model: type[nn.Module], rules: tuple[str, ...]
) -> None:
    save(tmp_path / "inputs", [[torch.full((4,), float(number)) for number in range(12)]])
    updates = () if model is Holding else tuple(range(12))
    folder = {"inputs": tmp_path / "inputs", "outputs": tmp_path / "outputs"}
    case = Case(name="drawn", **folder, order=(0,) * 2, updates=updates)
    subject = Subject(SimpleNamespace(ModelNew=model), case, HOST, lambda: lambda: None)
    report = guarded.run(subject, case, [])
    assert report.finished and report.broken_rules == rules, report


class Late(nn.Module):
    """Its thread writes the answer once it is asked whether that has changed, however slow the machine is."""

    asked = threading.Event()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.clone()
        self.thread = threading.Thread(target=lambda: (self.asked.wait(), y.numpy().fill(7)))
        self.thread.start()
        return y


def test_an_answer_that_a_thread_goes_on_writing_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever reads it at once gets something else than whoever waits."""

    def has_changed_when_written(self: AsReturned) -> bool:
        Late.asked.set()
        if thread := getattr(subject.model, "thread", None):
            thread.join()
        return waiting(self)

    save(tmp_path / "inputs", [torch.arange(6.0)])
    case = Case(name="drawn", inputs=tmp_path / "inputs", outputs=tmp_path / "outputs")
    waiting = AsReturned.has_changed
    monkeypatch.setattr(AsReturned, "has_changed", has_changed_when_written)
    subject = Subject(SimpleNamespace(ModelNew=Late), case, HOST, lambda: lambda: None)
    assert ANSWERS_LATE in guarded.run(subject, case, []).broken_rules
    subject = Subject(SimpleNamespace(ModelNew=Viewing), case, HOST, lambda: lambda: None)
    assert not guarded.run(subject, case, []).broken_rules
