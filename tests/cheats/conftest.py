"""Prints what was caught, class by class, at the end of a run."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, []):
            for _, (kind, status, rule) in (p for p in report.user_properties if p[0] == "caught"):
                found[kind][f"{status}: {rule}" if status == "cheating" else status] += 1
    for kind, caught in sorted(found.items()):
        total, wrong = sum(caught.values()), caught["correct"] + caught["ok"]
        how = ", ".join(f"{what} ({count})" for what, count in caught.most_common())
        terminalreporter.write_line(f"| {kind.replace('_', ' ')} | {total} | {total - wrong} | {how} |")
