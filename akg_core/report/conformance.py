"""The conformance suite's tests, a line each as they end, and the table of plugins; or all of it as JSON."""

from __future__ import annotations

import json
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from akg_core.report.spell import spell_seconds

if TYPE_CHECKING:
    from akg_core.registry import Plugin
    from akg_core.testing.levels import Conformity, LevelReport, Outcome

_MARKS = {"passed": ("PASS", "green"), "failed": ("FAIL", "bold red"), "skipped": ("SKIP", "yellow")}


class ConformanceReport:
    """Call it with each Outcome, between `begin` and `end` of a plugin; a context that ends the report."""

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json
        self._console = Console(highlight=False)
        self._found: list[Conformity] = []

    def __enter__(self) -> ConformanceReport:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            return
        if self._as_json:
            rows = [{**found.model_dump(mode="json"), "reached": found.reached} for found in self._found]
            print(json.dumps(rows, indent=2))
        elif not self._found:
            self._console.print("No plugin is installed. `pip install akg-plugin-…` adds one.")
        else:
            print("\n" + "\n".join(markdown(self._found)))

    def all_reach(self, level: str) -> bool:
        """Whether every plugin of the report reaches a level, and there is one."""
        return bool(self._found) and all(found.reached == level for found in self._found)

    def begin(self, plugin: Plugin) -> None:
        """A plugin's tests follow."""
        if not self._as_json:
            self._console.print(Text(f"{plugin.name} ({plugin.distribution} {plugin.version})", style="bold"))

    def __call__(self, outcome: Outcome) -> None:
        """Take in one test."""
        if not self._as_json:
            failed = outcome.status == "failed"
            spent = spell_seconds(outcome.seconds) if outcome.seconds > 0.001 else ""
            line = Text.assemble("  ", _MARKS[outcome.status], f" {outcome.level:<10}{spent:>8}  {outcome.test}")
            line.append(f"  {outcome.said}" * bool(outcome.said), style="" if failed else "dim")
            self._console.print(line, no_wrap=not failed, overflow="fold" if failed else "ellipsis")

    def end(self, found: Conformity) -> None:
        """All tests of a plugin have ended."""
        self._found.append(found)


def markdown(found: list[Conformity]) -> list[str]:
    """The lines of a table with a row for each plugin and level."""
    lines = ["| plugin | level | passed | failed | skipped | reached |", "| --- | --- | --- | --- | --- | --- |"]
    for one in found:
        lines += [f"| `{one.plugin}` {one.version} | {_row(report)} |" for report in one.levels]
    return lines


def _row(report: LevelReport) -> str:
    reached = "yes" if report.reached else f"no: {report.reason}"
    return f"{report.level} | {report.passed} | {report.failed} | {report.skipped} | {reached}"
