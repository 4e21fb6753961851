"""What happened in a run of agents: who was asked, what was decided and why; a line of JSON an event, kept at once."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from akg_core.agents.conductor import Action, Decision, Step
from akg_core.agents.records import Answer, Question
from akg_core.agents.stopwatch import Spent
from akg_core.errors import UsageError
from akg_core.records import Record

FILE = "trace.jsonl"


class Event(Record):
    """One thing that happened in an attempt, `at` seconds since 1970.

    Exactly one of `decided`, `asked`, `done` and `ended` is set. `spent`: where the time of the step that is `done`
    went.
    """

    at: float
    attempt: int
    decided: Decision | None = None
    asked: Asked | None = None
    done: Step | None = None
    ended: str = ""
    spent: Spent | None = None


class Asked(Record):
    """A question that was answered: by which model, from which sections, at what cost.

    `question`: its digest, under which the tape holds it with its answer.
    """

    actor: str
    action: Action
    question: str
    model: str
    chosen: tuple[str, ...] = ()
    read: int = 0
    written: int = 0
    dollars: float | None = None
    seconds: float = 0.0
    replayed: bool = False


class Trace:
    """Appends events of several attempts to one file, from several threads."""

    def __init__(self, folder: Path) -> None:
        self._path, self._lock = folder / FILE, threading.Lock()
        self._path.unlink(missing_ok=True)

    def asked(
        self, attempt: int, actor: str, action: Action, question: Question, answer: Answer, chosen: tuple[str, ...]
    ) -> None:
        said = Asked(
            actor=actor,
            action=action,
            question=question.digest,
            model=question.model,
            chosen=chosen,
            read=answer.usage.read,
            written=answer.usage.written,
            dollars=answer.dollars,
            seconds=round(answer.seconds, 3),
            replayed=answer.replayed,
        )
        self.add(attempt, asked=said)

    def add(self, attempt: int, **what: Any) -> None:
        """Append an event of an attempt, with fields of `Event`."""
        line = Event(at=round(time.time(), 3), attempt=attempt, **what).model_dump_json(exclude_defaults=True)
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")


def read_trace(folder: Path) -> Iterator[Event]:
    """The events of a run, in their order; a last line that a kill cut short is left out. Raises UsageError."""
    try:
        lines = (folder / FILE).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise UsageError(f"{folder} holds no trace.", "Give the folder of a run with --engine llm or hybrid.") from None
    for number, line in enumerate(lines):
        try:
            yield Event(**json.loads(line))
        except ValueError:
            if number + 1 < len(lines):
                raise UsageError(f"Line {number + 1} of {folder / FILE} is damaged.") from None
