"""`akg-core bench` as a user meets it, beside what it measures."""

from __future__ import annotations

from pathlib import Path

import pytest

from akg_core.bench import runner
from akg_core.errors import Interrupted
from akg_core.stages.stages import Request


@pytest.mark.parametrize("keeps", [True, False])
def test_an_interrupt_tells_whether_anything_is_kept(akg, reference: Path, monkeypatch, keeps: bool) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "run", interrupted)
    ended = akg("bench", reference, "--plugin", "cpp_cpu", *(("--out", "rows.json") if keeps else ()))
    assert ended.code == Interrupted.exit_code
    assert ("are in rows.json" in ended.err and "goes on" in ended.err) == keeps
    assert ("keeps nothing" in ended.err) != keeps


@pytest.mark.parametrize("dynamic", [True, False])
def test_sizes_vary_where_asked(akg, reference: Path, monkeypatch, dynamic: bool) -> None:
    asked = []

    def interrupted(problems: object, request: Request, *_: object) -> None:
        asked.append(request.dynamic)
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "run", interrupted)
    akg("bench", reference, "--plugin", "cpp_cpu", *(("--dynamic",) if dynamic else ()), "--out", "rows.json")
    assert asked == [dynamic]
