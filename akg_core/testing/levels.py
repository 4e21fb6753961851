"""Levels of conformance, each implying those before it, and what a run of the suite finds.

`contract`: what holds on any machine. `toolchain`: kernels are built, errors are results. `emission`: emitted kernels
compute what their sketches say, by simulation too. `device`: kernels are judged and timed on their device, and what
cheats is caught there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

from akg_core.records import Record

Level = Literal["contract", "toolchain", "emission", "device"]
LEVELS: tuple[Level, ...] = get_args(Level)


class Outcome(Record):
    """One test of the suite: `test` is its name in words, `said` why it failed or was skipped.

    `refused`: cases that the plugin says it does not support, each with its reason; they fail no test.
    """

    level: Level
    test: str
    status: Literal["passed", "failed", "skipped"]
    seconds: float = 0.0
    said: str = ""
    refused: tuple[str, ...] = ()


class LevelReport(Record):
    """One level: `reached` when all its tests, and all of the levels before it, have passed; else `reason`.

    `refused` counts cases, the other numbers tests.
    """

    level: Level
    reached: bool
    passed: int
    failed: int
    skipped: int
    refused: int = 0
    reason: str = ""


class Conformity(Record):
    """What a plugin was found to conform to. `reached`: the highest level, "" when not even the first."""

    plugin: str
    distribution: str
    version: str
    levels: tuple[LevelReport, ...]
    outcomes: tuple[Outcome, ...]

    @property
    def reached(self) -> str:
        return next((report.level for report in reversed(self.levels) if report.reached), "")


def grade(outcomes: Iterable[Outcome], highest: Level) -> tuple[LevelReport, ...]:
    """A report for each level up to `highest`. A level of which a test was skipped, or none was run, is not reached."""
    outcomes = tuple(outcomes)
    reports: list[LevelReport] = []
    for level in LEVELS[: LEVELS.index(highest) + 1]:
        mine = [outcome for outcome in outcomes if outcome.level == level]
        first = next((o for status in ("failed", "skipped") for o in mine if o.status == status), None)
        missed = next((report.level for report in reports if not report.reached), "")
        if first:
            reason = f"{first.test}: {first.said}"
        elif not mine:
            reason = "none of its tests was run"
        else:
            reason = f"{missed} was not reached" if missed else ""
        counts = {status: sum(o.status == status for o in mine) for status in ("passed", "failed", "skipped")}
        refused = sum(len(outcome.refused) for outcome in mine)
        reports.append(LevelReport(level=level, reached=not reason, reason=reason, refused=refused, **counts))
    return tuple(reports)
