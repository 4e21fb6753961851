"""The process beside a warm parent: what it makes once answers requests, apart from each other and from kernels."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from akg_core.worker import wire
from akg_core.worker.limits import Limits
from akg_core.worker.pool import Pool
from akg_core.worker.usage import descendants

HERE = "tests.worker.helped"
ASK = f"{HERE}:ask"


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(warm=[(HERE,)]) as made:
        yield made


def until(true: Callable[[], bool], seconds: float = 20) -> bool:
    """Whether it becomes true in so many seconds."""
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.02)
    return true()


def test_it_makes_once_what_answers_all_and_no_request_sees_another(pool: Pool) -> None:
    first, second = (pool.call(ASK, {"do": "echo", "text": text}).unwrap() for text in ("a", "b" * (1 << 20)))
    assert first == {"made": first["made"], "asked": 1, "value": "a"}
    assert second == first | {"value": "b" * (1 << 20)}


def test_who_runs_kernels_cannot_reach_it(pool: Pool) -> None:
    assert pool.call(f"{HERE}:try_doors", {}).unwrap()["answered"] >= 2
    confined = Limits(confined=True)
    assert pool.call(f"{HERE}:try_doors", {}, limits=confined).unwrap() == {"answered": 0}
    assert "cannot be asked" in pool.call(ASK, {"do": "echo"}, limits=confined).unwrap()["failed"]


def test_a_request_has_no_files_devices_or_connections_but_its_own_and_gives_way_as_who_asks(
    pool: Pool, tmp_path: Path
) -> None:
    if "no network" not in pool.call(ASK, {"do": "echo"}).protections:
        pytest.skip("The system allows no namespaces.")
    limits = Limits(gives_way=True)
    answer = pool.call(ASK, {"do": "surroundings", "folder": str(tmp_path)}, limits=limits).unwrap()
    expected = {
        "writes": False,
        "opens devices": False,
        "has temporary files": True,
        "sockets": 1,
        "nice": min(os.getpriority(os.PRIO_PROCESS, 0) + 10, 19),
    }
    assert answer["value"] == expected and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("helper", "request_", "reason"),
    [
        ("plain", {"do": "crash"}, "ended without an answer"),
        ("plain", {"do": "nothing of it"}, "ended without an answer"),
        ("bound", {"do": "wait", "seconds": 60}, "ended without an answer"),
        ("bound", {"do": "fill", "bytes": 4 << 30}, "ended without an answer"),
        ("bound", {"do": "echo", "text": "a" * 1000}, "more than the helper reads"),
        ("unprepared", {"do": "echo"}, "helper"),
    ],
)
def test_what_has_no_answer_is_told_and_others_have_theirs(
    pool: Pool, helper: str, request_: dict, reason: str
) -> None:
    assert reason in pool.call(ASK, {"helper": helper, **request_}).unwrap()["failed"]
    if helper != "unprepared":
        assert pool.call(ASK, {"helper": helper, "do": "echo", "text": "a"}).unwrap()["value"] == "a"


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        wire.encode({"do": "echo"})[:9],
        b"\xff" * 8,
        b"\0" * 7 + b"\3abc",
        wire.encode({"do": "wait", "seconds": 90}),
    ],
)
def test_a_request_ends_with_who_has_asked(pool: Pool, sent: bytes) -> None:
    """Whether or not all of it has come; the helper answers one at a time, so that others would wait."""
    assert pool.call(f"{HERE}:leave", {"sent": sent.hex(), "seconds": 0.3}).status == "exited"
    began = time.monotonic()
    assert pool.call(ASK, {"helper": "single", "do": "echo", "text": "a"}).unwrap()["value"] == "a"
    assert time.monotonic() - began < 30


def test_what_is_no_connection_is_passed_over(pool: Pool) -> None:
    pool.call(f"{HERE}:disturb", {}).unwrap()
    assert pool.call(ASK, {"helper": "single", "do": "echo", "text": "a"}).unwrap()["value"] == "a"


def test_requests_are_answered_beside_each_other_as_many_as_may_be(pool: Pool) -> None:
    def seconds(helper: str) -> float:
        began = time.monotonic()
        with ThreadPoolExecutor(3) as threads:
            request = {"helper": helper, "do": "wait", "seconds": 1}
            assert all("value" in each for each in threads.map(lambda _: pool.call(ASK, request).unwrap(), range(3)))
        return time.monotonic() - began

    assert seconds("single") >= 3 > seconds("plain")


@pytest.mark.parametrize("killed", [True, False])
def test_it_ends_with_the_warm_parent_and_so_do_requests(killed: bool) -> None:
    with Pool(warm=[(HERE,)]) as made:
        waiting = made.submit(ASK, {"do": "wait", "seconds": 90})
        assert made.call(ASK, {"do": "echo"}).unwrap()["asked"] == 1
        parent = made._zygote.pid
        before = set(descendants(parent))
        assert len(before) > 8, "four helpers of two processes each, and a job"
        if killed:
            os.kill(parent, signal.SIGKILL)
        else:
            made.close()
        assert until(lambda: not any(Path(f"/proc/{process}").exists() for process in before))
        waiting.cancel()
