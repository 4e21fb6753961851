"""What goes to a model and what comes back."""

from __future__ import annotations

import hashlib
import json
from typing import Literal

from akg_core.agents.settings import Level
from akg_core.records import Record


class Message(Record):
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


class Question(Record):
    """Everything that decides an answer: `sample` tells equal questions of different attempts apart."""

    level: Level
    model: str
    messages: tuple[Message, ...]
    temperature: float | None = None
    answer_tokens: int | None = None
    sample: int = 0

    @property
    def digest(self) -> str:
        """A name for the whole request."""
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]


class Usage(Record):
    """Tokens of one answer or of many; `cached` are among those `read`. `estimated`: the endpoint did not count."""

    read: int = 0
    cached: int = 0
    written: int = 0
    estimated: bool = False

    @property
    def total(self) -> int:
        return self.read + self.written

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            read=self.read + other.read,
            cached=self.cached + other.cached,
            written=self.written + other.written,
            estimated=self.estimated or other.estimated,
        )


class Answer(Record):
    """What a model said. `ending`: "stop", "length" (cut off at the limit), or "refused".

    `dollars` is None for a model without a price. `replayed`: it is another run's, and cost nothing.
    """

    text: str
    ending: Literal["stop", "length", "refused"] = "stop"
    usage: Usage = Usage()
    dollars: float | None = None
    seconds: float = 0.0
    replayed: bool = False


class Tally(Record):
    """What attempts at a task came to: how many ended with a correct kernel, their steps, and what they cost."""

    attempts: int
    correct: int
    steps: int = 0
    answers: int
    tokens: int
    dollars: float
    ends: tuple[str, ...] = ()
