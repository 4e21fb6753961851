"""The conformance suite's tests, a line each as they end, and the table of plugins; or all of it as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from akg_core.report.findings import Findings

if TYPE_CHECKING:
    from akg_core.registry import Plugin
    from akg_core.testing.levels import Conformity, LevelReport, Outcome


class ConformanceReport(Findings["Conformity"]):
    """Call it with each Outcome, between `begin` and `end` of a plugin; a context that ends the report."""

    def all_reach(self, level: str) -> bool:
        """Whether every plugin of the report reaches a level, and there is one."""
        return bool(self.found) and all(found.reached == level for found in self.found)

    def begin(self, plugin: Plugin) -> None:
        """A plugin's tests follow."""
        self.head(f"{plugin.name} ({plugin.distribution} {plugin.version})")

    def __call__(self, outcome: Outcome) -> None:
        """Take in one test."""
        self.line(outcome.status, f"{outcome.level:<10}", outcome.seconds, (outcome.test, outcome.said))
        for refused in outcome.refused:
            self.note(f"refused {refused}")

    def end(self, found: Conformity) -> None:
        """All tests of a plugin have ended."""
        self.found.append(found)

    def row(self, found: Conformity) -> dict[str, Any]:
        """A plugin's levels, and the highest that it reaches."""
        return {**super().row(found), "reached": found.reached}

    def summary(self) -> list[str]:
        """The table, below an empty line."""
        return ["", *markdown(self.found)]


def markdown(found: list[Conformity]) -> list[str]:
    """The lines of a table with a row for each plugin and level."""
    lines = ["| plugin | level | passed | failed | skipped | cases refused | reached |", f"|{' --- |' * 7}"]
    for one in found:
        lines += [f"| `{one.plugin}` {one.version} | {_row(report)} |" for report in one.levels]
    return lines


def _row(report: LevelReport) -> str:
    reached = "yes" if report.reached else f"no: {report.reason}"
    return f"{report.level} | {report.passed} | {report.failed} | {report.skipped} | {report.refused} | {reached}"
