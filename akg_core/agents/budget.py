"""What a run may cost, in dollars, tokens and minutes, and what it has cost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from akg_core.agents.records import Answer, Usage
from akg_core.errors import AkgError

_WARNED_AT = 0.8  # of any limit


class BudgetSpent(AkgError):
    """A limit is reached: no further question is asked, and what was found counts."""

    exit_code = 1


@dataclass(frozen=True)
class Limits:
    """None is no limit."""

    dollars: float | None = None
    tokens: int | None = None
    minutes: float | None = None


class Budget:
    """Counts what answers cost, from several threads. `warn` is told once, when four fifths of a limit are gone."""

    def __init__(self, limits: Limits, warn: Callable[[str], None] = lambda text: None) -> None:
        self.limits, self._warn = limits, warn
        self.usage, self.dollars, self.answers = Usage(), 0.0, 0
        self._began, self._warned, self._lock = time.monotonic(), False, threading.Lock()

    @property
    def minutes(self) -> float:
        return (time.monotonic() - self._began) / 60

    def require(self, only: str = "") -> None:
        """Raise BudgetSpent when a limit is reached: any, or that `only` ("dollars", "tokens", "minutes")."""
        for name, spent, limit in self._counts():
            if limit is not None and spent >= limit and only in ("", name):
                cure = f"--resume goes on {'for as long again' if name == 'minutes' else 'with a larger one'}."
                raise BudgetSpent(f"The budget of {_spell(name, limit)} is spent.", cure)

    def count(self, answer: Answer) -> None:
        """Count an answer."""
        with self._lock:
            self.answers += not answer.replayed
            self.usage += answer.usage
            self.dollars += answer.dollars or 0.0
            warning = "" if self._warned else self._near()
            self._warned = self._warned or bool(warning)
        if warning:
            self._warn(warning)

    def _near(self) -> str:
        for name, spent, limit in self._counts():
            if limit and spent >= _WARNED_AT * limit:
                return f"{spent / limit:.0%} of the budget of {_spell(name, limit)} are spent."
        return ""

    def _counts(self) -> tuple[tuple[str, float, float | None], ...]:
        return (
            ("dollars", self.dollars, self.limits.dollars),
            ("tokens", self.usage.total, self.limits.tokens),
            ("minutes", self.minutes, self.limits.minutes),
        )


def _spell(name: str, limit: float) -> str:
    return f"${limit:.2f}" if name == "dollars" else f"{limit:g} {name}"
