"""Prints what was caught, class by class, at the end of a run."""

from __future__ import annotations

import pytest

from tests.cheats.judging import Found, table


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [report for outcome in ("passed", "failed") for report in terminalreporter.stats.get(outcome, [])]
    caught = [value for report in reports for name, value in report.user_properties if name == "caught"]
    for line in table((kind, Found(status, rule)) for kind, status, rule in caught):
        terminalreporter.write_line(line)
