"""Answers kept on disk by the whole question, so that a conversation can be repeated exactly, without a network."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from akg_core.agents.records import Answer, Question, Usage
from akg_core.errors import UsageError
from akg_core.records import Record
from akg_core.storage import write_whole


class Exchange(Record):
    """A question and its answer, as a tape keeps them."""

    question: Question
    answer: Answer


class ReplayCache:
    """A folder of exchanges, one file a question.

    `only`: it is another run's. What is not on it is not asked either, and what is on it costs nothing again; without
    it the answers are those of the run that goes on, which they cost something.
    """

    def __init__(self, folder: Path, *, only: bool = False) -> None:
        self.folder, self.only = folder, only

    def exchange(self, digest: str) -> Exchange | None:
        """What is kept under the name of a question; None when nothing readable is."""
        try:
            return Exchange.model_validate_json((self.folder / f"{digest}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def find(self, question: Question) -> Answer | None:
        """The answer kept for a question. Raises UsageError when there is none and none may be asked for."""
        path = self._path(question)
        try:
            kept = Exchange.model_validate_json(path.read_text(encoding="utf-8")).answer
        except FileNotFoundError:
            if self.only:
                raise UsageError(
                    f"{self.folder} holds no answer to this {question.level} question.",
                    "The task, the settings or akg-core changed since it was recorded; run without --replay.",
                ) from None
            return None
        except (ValidationError, ValueError):
            raise UsageError(f"{path} is no answer that akg-core wrote.", "Remove the file.") from None
        free = {"replayed": True, "usage": Usage(), "dollars": 0.0, "seconds": 0.0}
        return kept.model_copy(update=free) if self.only else kept

    def keep(self, question: Question, answer: Answer) -> None:
        """Store an answer as soon as it is whole."""
        write_whole(self._path(question), Exchange(question=question, answer=answer))

    def _path(self, question: Question) -> Path:
        return self.folder / f"{question.digest}.json"
