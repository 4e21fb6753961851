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
    """Counts what answers cost, from several threads. `warn` is told once, when four fifths of a limit are gone.

    `shared`: the budget of several tasks, of which this one's costs are a part.
    """

    def __init__(
        self, limits: Limits, warn: Callable[[str], None] = lambda text: None, shared: Budget | None = None
    ) -> None:
        self.limits, self._warn, self._shared = limits, warn, shared
        self.usage, self.dollars, self.answers = Usage(), 0.0, 0
        self._began, self._warned, self._lock = time.monotonic(), False, threading.Lock()

    @property
    def minutes(self) -> float:
        return (time.monotonic() - self._began) / 60

    def require(self, only: str = "") -> None:
        """Raise BudgetSpent when a limit is reached: any, or that `only` ("dollars", "tokens", "minutes")."""
        if self._shared:
            self._shared.require(only)
        for name, spent, limit in self._limited():
            if spent >= limit and only in ("", name):
                cure = f"--resume goes on {'for as long again' if name == 'minutes' else 'with a larger one'}."
                raise BudgetSpent(f"The budget of {_spell(name, limit)} is spent.", cure)
        self._warn_if_near()

    def count(self, answer: Answer) -> None:
        """Count an answer."""
        with self._lock:
            self.answers += not answer.replayed
        self.add(answer.usage, answer.dollars)

    def add(self, usage: Usage, dollars: float | None) -> None:
        """Count what was spent, whether or not it became an answer."""
        if self._shared:
            self._shared.add(usage, dollars)
        with self._lock:
            self.usage += usage
            self.dollars += dollars or 0.0
        self._warn_if_near()

    def _warn_if_near(self) -> None:
        with self._lock:
            near = next((each for each in self._limited() if each[1] >= _WARNED_AT * each[2]), None)
            if near is None or self._warned:
                return
            self._warned = True
        name, spent, limit = near
        share = f"{spent / limit:.0%} of the" if limit else "The whole"
        self._warn(f"{share} budget of {_spell(name, limit)} is spent.")

    def _limited(self) -> list[tuple[str, float, float]]:
        """What is limited: its name, what is spent of it, the limit."""
        counts = (
            ("dollars", self.dollars, self.limits.dollars),
            ("tokens", self.usage.total, self.limits.tokens),
            ("minutes", self.minutes, self.limits.minutes),
        )
        return [(name, spent, limit) for name, spent, limit in counts if limit is not None]


def _spell(name: str, limit: float) -> str:
    return f"${limit:.2f}" if name == "dollars" else f"{limit:g} {name}"
