"""Turns of a process that are timed from outside: what its keeper writes, reads and reports."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from akg_core.worker import vm
from akg_core.worker.answers import described
from akg_core.worker.layout import aligned
from akg_core.worker.limits import Limits
from akg_core.worker.pool import Pool
from akg_core.worker.session import Session
from akg_core.worker.tensors import load
from akg_core.worker.timekeeper import Timekeeper
from tests.worker import turning

GIVEN = described(torch.empty(4))["tensors"][0]


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool((("torch", "tests.worker.turning"),)) as pool:
        yield pool


@pytest.fixture
def timed(pool: Pool) -> Iterator[Session]:
    with pool.session(Limits(confined=True, timed=True, paused=True)) as session:
        yield session


def order(calls: int, turns: int, **more: Any) -> dict[str, Any]:
    given = {"given": [GIVEN], "step": aligned(GIVEN["nbytes"])}
    return {"calls": calls, "turns": turns, "warmup": 1, "sweep": 0, "keep": True, "sized": (), **given, **more}


def take(session: Session, how: str, order: dict[str, Any], seconds: float = 20.0) -> tuple[Any, dict[str, Any], Path]:
    """Turns of a function of `tests.worker.turning`, whose calls are given four times their numbers."""
    count = order["calls"] * order["turns"]
    kept = Path(tempfile.mkstemp()[1])
    with tempfile.TemporaryFile() as data, kept.open("r+b") as answers:
        for number in range(count):
            data.write(torch.full((16,), float(number)).numpy().tobytes())
        data.flush()
        payload = {"how": how, "calls": order["calls"]}
        files = data.fileno(), answers.fileno()
        result, told = session.call_timed(f"{turning.__name__}:turn_job", payload, order, files, seconds)
    return result, told, kept


def test_calls_get_their_data_and_one_answer_of_each_turn_is_kept(timed: Session) -> None:
    result, told, kept = take(timed, "doubles", order(calls=3, turns=4))
    assert result.status == "ok" and len(told["samples"]) == 4 and min(told["samples"]) > 0
    answers = load(kept)
    for turn, (number, answer) in enumerate(zip(told["kept"], answers, strict=True)):
        assert 3 * turn <= number < 3 * turn + 3
        assert torch.equal(answer["arguments"][0], torch.full((4,), float(number)))
        assert torch.equal(answer["result"], torch.full((4,), 2.0 * number))
    result, told, _ = take(timed, "doubles", order(calls=1, turns=1))
    assert result.status == "ok" and len(told["samples"]) == 1, "and again"


def test_answers_may_be_of_sizes_that_are_told_with_each(timed: Session) -> None:
    result, told, kept = take(timed, "picks", order(calls=2, turns=4, sized=[0]))
    assert result.status == "ok"
    for number, answer in zip(told["kept"], load(kept), strict=True):
        assert torch.equal(answer["result"], torch.full((number % 4,), 2.0 * number))
    _, told, _ = take(timed, "picks more than there is", order(calls=1, turns=2, sized=[0]))
    assert told["error"] == "its answer has no size"


def test_time_passes_while_a_call_sleeps_and_not_between_turns(timed: Session) -> None:
    _, told, _ = take(timed, "sleeps", order(calls=2, turns=2))
    assert all(took > 2 * turning.SECONDS for took in told["samples"])
    _, told, _ = take(timed, "sleeps when it is told to warm up", order(calls=2, turns=6))
    assert min(told["samples"]) < turning.SECONDS


@pytest.mark.parametrize(
    ("how", "status", "said"),
    [
        ("does not begin", "error", "it was not ready to be timed"),
        ("returns at once", "ok", "it took no turns to be timed"),
        ("crashes", "crashed", "its process ended, or took no more turns"),
        ("has its data nowhere", "crashed", "could not be timed from outside"),
        ("answers from nowhere", "crashed", "could not be timed from outside"),
        ("has too few places", "crashed", "it has no place for its data"),
        ("says nonsense", "crashed", "could not be timed from outside"),
    ],
)
def test_what_takes_no_turns_is_reported(timed: Session, how: str, status: str, said: str) -> None:
    result, told, _ = take(timed, how, order(calls=1, turns=2))
    assert (result.status, said in told["error"]) == (status, True), (result, told)


def test_data_of_several_calls_have_not_one_place(timed: Session) -> None:
    """What was read for one call would be in the caches for the next."""
    result, told, _ = take(timed, "has one place for all", order(calls=2, turns=1))
    assert result.status == "crashed" and "one place for data of several calls" in told["error"]


def test_one_that_hangs_is_ended(timed: Session) -> None:
    began = time.monotonic()
    result, told, _ = take(timed, "hangs", order(calls=1, turns=1), seconds=1.0)
    assert result.status == "timed out" and "error" in told and time.monotonic() - began < 15


def test_one_that_goes_on_while_it_is_to_stand_still_is_told_of() -> None:
    orders, clock = socket.socketpair()
    child = os.fork()
    if child == 0:
        while True:
            signal.pause()
    keeper = Timekeeper(orders, clock, child)
    try:
        for how in ("stands still", "goes on", "goes on and stops"):
            keeper._stop()
            if how != "stands still":
                os.kill(child, signal.SIGCONT)
            if how == "goes on and stops":
                os.kill(child, signal.SIGSTOP)
                time.sleep(0.05)
            with contextlib.nullcontext() if how == "stands still" else pytest.raises(Exception, match="stand still"):
                keeper._require_still()
            keeper._go_on()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_memory_of_a_process_that_was_started_is_read_and_written() -> None:
    page = ctypes.create_string_buffer(b"before", 32)
    child = os.fork()
    if child == 0:
        os.kill(os.getpid(), signal.SIGSTOP)
        os._exit(0)
    try:
        os.waitpid(child, os.WUNTRACED)
        here = ctypes.create_string_buffer(b"after!", 32)
        address = ctypes.addressof(page)
        vm.write(child, address, ctypes.addressof(here), 6)
        there = ctypes.create_string_buffer(32)
        vm.read(child, address, ctypes.addressof(there), 6)
        assert there.value == b"after!" and page.value == b"before"
        with pytest.raises(OSError):
            vm.read(child, 8, ctypes.addressof(there), 6)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
