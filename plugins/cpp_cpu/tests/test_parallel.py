"""Every program runs once, programs that meet see each other, scratch memory is a stack."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from .conftest import Native

DRIVER = (Path(__file__).parent / "drivers" / "parallel.cpp").read_text()


@pytest.mark.parametrize("programs", [0, 1, 2, 7, 1000])
@pytest.mark.parametrize("chunk", [0, 1, 3])
def test_every_program_runs_once(native: Native, programs: int, chunk: int) -> None:
    seen = torch.zeros(programs + 1, dtype=torch.int64)
    native(DRIVER, "native").visit(ctypes.c_void_p(seen.data_ptr()), ctypes.c_int64(programs), ctypes.c_int64(chunk))
    assert (seen[:-1] == 1).all() and seen[-1] == 0


def test_little_work_wakes_no_thread(native: Native) -> None:
    library = native(DRIVER, "native")
    shared = lambda programs, work: library.shared(ctypes.c_int64(programs), ctypes.c_int64(work))  # noqa: E731
    assert not shared(64, 64 * 3) and not shared(1, 1 << 40)
    assert shared(64, 1 << 20) and shared(1 << 40 >> 20, 1)


def test_memory_that_is_mapped_is_left_as_it_is(native: Native) -> None:
    """Past the caches pays there; small memory stays in them."""
    fresh = native(DRIVER, "native").asked
    large, small = torch.full((16 << 20,), 7, dtype=torch.uint8), torch.full((1 << 20,), 7, dtype=torch.uint8)
    assert fresh(ctypes.c_void_p(large.data_ptr()), ctypes.c_int64(large.numel()))
    assert not fresh(ctypes.c_void_p(small.data_ptr()), ctypes.c_int64(small.numel()))
    assert (large == 7).all() and (small == 7).all()


@pytest.mark.parametrize("members", [1, 2, 5])
def test_programs_meet(native: Native, members: int) -> None:
    """More members than cores, too."""
    for kind, combine in enumerate((torch.sum, torch.amax, torch.amin)):
        values = torch.randint(-9, 9, (3, members, 37)).float()
        want = combine(values, 1, keepdim=True).expand_as(values)
        given = values.clone()
        sizes = [ctypes.c_int64(size) for size in (3, members, 37, kind)]
        native(DRIVER, "native").meet(ctypes.c_void_p(given.data_ptr()), *sizes)
        assert torch.equal(given, want)


def test_scratch_is_a_stack(native: Native) -> None:
    assert native(DRIVER, "native").arena() == 1


def test_who_has_no_memory_says_so(native: Native) -> None:
    path = native(DRIVER, "native")._name
    program = f"import ctypes; ctypes.CDLL({path!r}).take(ctypes.c_int64(1 << 50))"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ended.returncode == -signal.SIGABRT
    assert ended.stderr == "A kernel stops: there is no memory left for its scratch.\n"
