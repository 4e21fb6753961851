"""Stages of a job as they happen: each has a start, an end, a duration and a note, and someone may watch."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

from akg_core.errors import AkgError
from akg_core.record import Sentence
from akg_core.records import Record

Status = Literal["running", "done", "failed", "skipped"]


class Stage(Record):
    """One stage: `seconds` since its start, or that it took; `note` is what there is to say in a line."""

    name: str
    status: Status = "running"
    seconds: float = 0.0
    note: Sentence = ""


class StageNote:
    """What the code of a stage says about itself: its note, and that it failed without an exception."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._text = ""
        self.failed = False

    @property
    def text(self) -> str:
        """A line; setting it shows it at once."""
        return self._text

    @text.setter
    def text(self, text: str) -> None:
        self._text = text
        self._tell(text)

    def tell(self, text: str) -> None:
        """Show how far the stage is; its note stays what it is."""
        self._tell(text)


class Progress:
    """Records stages, from several threads, and tells `watch` about each change."""

    def __init__(self, watch: Callable[[Stage], None] | None = None) -> None:
        self._watch = watch or (lambda stage: None)
        self._stages: dict[str, Stage] = {}
        self._lock = threading.Lock()

    @contextmanager
    def stage(self, name: str) -> Iterator[StageNote]:
        """Run a `with` body as the stage `name`; an exception makes it a failed one."""
        began = time.perf_counter()
        note = StageNote(lambda text: self._set(Stage(name=name, note=text)))
        self._set(Stage(name=name))
        try:
            yield note
        except BaseException as error:
            self._set(Stage(name=name, status="failed", seconds=time.perf_counter() - began, note=_said(error)))
            raise
        status: Status = "failed" if note.failed else "done"
        self._set(Stage(name=name, status=status, seconds=time.perf_counter() - began, note=note.text))

    def skip(self, name: str, why: str) -> None:
        """Say that a stage does not take place."""
        self._set(Stage(name=name, status="skipped", note=why))

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Every stage so far, in the order of their starts."""
        with self._lock:
            return tuple(self._stages.values())

    def _set(self, stage: Stage) -> None:
        with self._lock:
            self._stages[stage.name] = stage
        self._watch(stage)


def _said(error: BaseException) -> str:
    if isinstance(error, AkgError):
        return error.message
    return "interrupted" if isinstance(error, KeyboardInterrupt) else type(error).__name__
