"""The clock of a GPU: what it queues, in which order; that every chip's assembler takes its kernels."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import triton
from akg_cuda import clock, lending, stamps, sweep

PTXAS = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "ptxas"
BASE, HANDLE = 1 << 20, b"h" * lending.HANDLE_BYTES


@pytest.mark.parametrize("capability", [80, 86, 89, 90])
@pytest.mark.parametrize("text", [stamps.PTX, sweep.PTX], ids=["stamps", "sweep"])
def test_every_chip_takes_the_kernels(text: bytes, capability: int, tmp_path: Path) -> None:
    (tmp_path / "kernels.ptx").write_bytes(text)
    command = [PTXAS, f"-arch=sm_{capability}", "-v", "kernels.ptx", "-o", "kernels.cubin"]
    made = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert made.stderr.count("0 bytes spill stores") == 2


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is queued on a GPU that is not there; memory is the host's."""
    done: list[str] = []

    @contextlib.contextmanager
    def stream(_: object) -> Iterator[None]:
        yield

    def note(text: str) -> Callable[..., int]:
        return lambda *_: done.append(text) or 0

    driver = SimpleNamespace(
        cuCtxResetPersistingL2Cache=note("reset"),
        cuStreamWaitValue32_v2=lambda _, at, number, how: done.append(f"wait {at.value - BASE} {number.value}") or 0,
        cuStreamWriteValue32_v2=lambda _, at, number, how: done.append(f"write {at.value - BASE} {number.value}") or 0,
    )
    monkeypatch.setattr(clock, "cuda", lambda: driver)
    monkeypatch.setattr(clock, "hold", note("hold"))
    monkeypatch.setattr(lending, "allocated", lambda size: BASE)
    monkeypatch.setattr(lending, "opened", lambda handle: BASE)
    monkeypatch.setattr(lending, "extent", lambda at: (BASE, 8192) if at < BASE + 8192 else (2 * BASE, 64))
    monkeypatch.setattr(lending, "handle_of", lambda at: HANDLE if at == BASE else b"o" * lending.HANDLE_BYTES)
    monkeypatch.setattr(lending, "memory", lambda at, size: torch.full((size,), 1, dtype=torch.uint8))
    monkeypatch.setattr(stamps, "load", lambda: None)
    monkeypatch.setattr(
        stamps, "stamp", lambda at, flag=0, value=0: done.append(f"stamp {flag and flag - BASE} {value}")
    )
    monkeypatch.setattr(torch.cuda, "stream", stream)
    monkeypatch.setattr(torch.cuda, "Stream", SimpleNamespace)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: SimpleNamespace(cuda_stream=0))
    zeros = torch.zeros
    monkeypatch.setattr(torch, "zeros", lambda *shape, device, **how: zeros(*shape, **how))
    return done


def test_a_turn_is_queued_without_a_gap_behind_what_holds_the_device(done: list[str]) -> None:
    made = clock.CudaClock(4096, lambda size: done.append(f"sweep {size}"))
    made.begin(7, lambda: done.append("expose"), 100, lambda: done.append("keep"))
    start = f"stamp {clock._START} 7"
    due = ["reset", "hold", "stamp 0 0", "expose", "sweep 100", start, f"wait {clock._END} 7", "stamp 0 0", "keep"]
    assert done == [*due, "stamp 0 0"]


def test_a_turn_whose_call_is_not_queued_ends_when_its_answer_is_told(done: list[str]) -> None:
    made = clock.CudaClock(4096, lambda size: done.append(f"sweep {size}"))
    made.begin(7, lambda: done.append("expose"), 0)
    assert done[-1] == f"stamp {clock._START} 7"
    made.end(lambda: done.append("keep"))
    assert done[-3:] == ["stamp 0 0", "keep", "stamp 0 0"]


def test_who_is_timed_waits_for_the_start_and_tells_the_end(done: list[str]) -> None:
    lane = clock.CudaLane({"handle": HANDLE.hex(), "bytes": 4096})
    lane.await_start(3)
    lane.tell_end(3)
    assert done == [f"wait {clock._START} 3", f"write {clock._END} 3"] and len(lane.memory) == 4096


def test_an_answer_is_found_where_it_is_named_and_nowhere_beyond(done: list[str], monkeypatch) -> None:
    lane = clock.CudaLane({"handle": HANDLE.hex(), "bytes": 4096})
    made = clock.CudaClock(4096, lambda size: None)
    assert lane.named(BASE + 5000, 8) == {"handle": HANDLE.hex(), "offset": 5000}, "an input that is the answer"
    assert len(made.found(lane.named(BASE + 5000, 8), 8)) == 8
    monkeypatch.setattr(lending, "opened", lambda handle: 2 * BASE)
    other = lane.named(2 * BASE + 8, 8)
    assert other["handle"] != HANDLE.hex() and len(made.found(other, 56)) == 56
    closed: list[int] = []
    monkeypatch.setattr(lending, "close", closed.append)
    for named in (other | {"offset": 60}, other | {"offset": -1}, other | {"handle": "zz"}, {"offset": 0}):
        with pytest.raises(ValueError, match=r"beyond|makes no sense"):
            made.found(named, 8)
    made.forget()
    assert closed == [2 * BASE]


@pytest.mark.parametrize("capability", [(7, 5), (9, 0)])
def test_a_sweep_takes_the_priority_from_what_it_has_read(capability, monkeypatch: pytest.MonkeyPatch) -> None:
    launched: list[str] = []
    monkeypatch.setattr(sweep, "_memory", lambda size: torch.zeros(size // 4))
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: capability)
    monkeypatch.setattr(sweep._kernels, "launch", lambda name, *_: launched.append(name))
    sweep.queue_sweep(0)
    assert launched == []
    sweep.queue_sweep(1 << 20)
    assert launched == ([] if capability < (8, 0) else ["read", "level"])
