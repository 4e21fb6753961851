"""What holds a GPU: that every chip's assembler takes it, and that it leaves room for nothing else."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import triton
from akg_cuda import device, hold, ptx
from akg_cuda.chips import CHIPS

from akg_core.plugin.resources import programs_at_once

PTXAS = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "ptxas"
LIMIT = 16  # of a thread, at most, for all threads to find room


@pytest.mark.parametrize("capability", [80, 86, 89, 90])
def test_it_fills_a_multiprocessor(capability: int, tmp_path: Path) -> None:
    (tmp_path / "hold.ptx").write_bytes(hold.PTX)
    made = subprocess.run(
        [
            PTXAS,
            f"-arch=sm_{capability}",
            f"-maxrregcount={LIMIT}",
            "-v",
            tmp_path / "hold.ptx",
            "-o",
            "hold.cubin",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "0 bytes spill stores" in made.stderr
    unit, warps = CHIPS[capability].unit, hold._THREADS // 32
    assert programs_at_once(LIMIT, 0, warps, unit) * warps == unit.warps


def test_what_is_timed_is_launched_while_the_device_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """And before the first event, so that holding is no part of what is counted."""
    done: list[str] = []

    class Event:
        def __init__(self, **_: object) -> None:
            self.record = lambda: done.append("event")
            self.synchronize = lambda: done.append("wait")
            self.elapsed_time = lambda _: 2.0

    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(device, "_idle_seconds", lambda: 1.0)
    monkeypatch.setattr(device, "hold", lambda: done.append("hold"))
    assert device.CudaDevice().seconds(lambda: done.append("launch")) == (2e-3, None)
    assert done == ["hold", "event", "launch", "event", "wait"]


def test_it_is_launched_with_as_many_threads_as_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    launched: list[tuple[int, int, int]] = []

    def launch(function: object, *given: object) -> int:
        nanoseconds = ctypes.cast(given[8][0], ctypes.POINTER(ctypes.c_uint64))[0]
        launched.append((given[0], given[3], nanoseconds))
        return 0

    driver = SimpleNamespace(cuLaunchKernel=launch, cuModuleLoadData=lambda *_: 0, cuModuleGetFunction=lambda *_: 0)
    chip = SimpleNamespace(multi_processor_count=132, max_threads_per_multi_processor=2048)
    monkeypatch.setattr(ptx, "cuda", lambda: driver)
    monkeypatch.setattr(hold, "_kernels", ptx.Kernels(hold.PTX, "hold"))
    monkeypatch.setattr(torch, "zeros", lambda *_, **__: None)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: SimpleNamespace(cuda_stream=0))
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda: chip)
    hold.hold(2e-4)
    assert launched == [(132 * 4, 512, 200_000)]
