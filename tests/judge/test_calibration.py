"""Guards look for what was called past their mode only where a profiler marks what the mode sees."""

from __future__ import annotations

import pytest
import torch

from akg_core.judge.candidate import guard
from akg_core.judge.candidate.guard import Guard


def copied_past_the_mode(elements: int = 1000) -> Guard:
    """A guard of a kernel that lets the library copy where no mode watches."""
    with Guard(0) as found:
        given = torch.empty(elements)
        with torch.utils._python_dispatch._disable_current_modes():
            given.clone()
    found.copies.clear()
    return found


def test_what_this_torch_marks_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "_untold", set())
    assert guard.calibrate("cpu") and guard.tells_of_copies()
    assert "aten::clone" in copied_past_the_mode().calls


def test_numbers_made_into_a_tensor_are_no_work_of_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "_untold", set())
    assert guard.calibrate("cpu")
    assert not copied_past_the_mode(4).calls


def test_where_marks_are_missing_nobody_is_accused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "_untold", set())
    monkeypatch.setattr(guard, "is_complete", lambda *_: False)
    assert not guard.calibrate("cpu") and not guard.tells_of_copies()
    found = copied_past_the_mode()
    assert not found.rules and not found.calls
