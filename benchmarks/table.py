"""What a benchmark says: a line a task while it works, a table by family at the end, and the same as data."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from akg_core.judge.records import Timing, Verdict
from akg_core.judge.timing import KERNEL


@dataclass(frozen=True)
class Row:
    """The result of one task; `reason` is set when it is not correct."""

    family: str
    task: str
    status: str
    reason: str
    verdict: Verdict | None
    timing: Timing | None
    build_seconds: float | None
    notes: tuple[str, ...] = ()

    def speedup(self, over: str) -> float | None:
        """How many times faster than a baseline; None when that was not measured or does not hold."""
        if not self.timing or self.timing.status != "ok":
            return None
        return next((s.ratio for s in self.timing.speedups if s.over == over), None)

    def milliseconds(self, name: str) -> float | None:
        median = self.timing.median(name) if self.timing else None
        return None if median is None else median * 1e3

    def line(self) -> str:
        """The task in one line."""
        if self.status != "correct" or (self.timing and self.timing.status != "ok"):
            reason = self.reason or (self.timing.reason if self.timing else "")
            return f"{self.family:>13} {self.task:24} {self.status}: {reason}"
        times = "  ".join(
            f"{name} {_show(self.milliseconds(name), '8.2f')} ms" for name in (KERNEL, "eager", "compile")
        )
        ratios = "  ".join(f"{_show(self.speedup(over), '5.2f')}x" for over in ("eager", "compile"))
        return f"{self.family:>13} {self.task:24} " + (f"{times}  {ratios}" if self.timing else "correct")

    def data(self) -> dict[str, Any]:
        """The row as JSON, with medians in milliseconds."""
        verdict = self.verdict
        return {
            "family": self.family,
            "task": self.task,
            "status": self.status,
            "reason": self.reason or (self.timing.reason if self.timing else ""),
            "cases": len(verdict.cases) if verdict else 0,
            "accuracy_ratio": verdict.accuracy_ratio if verdict else None,
            "median_ms": {m.name: round(m.median * 1e3, 4) for m in self.timing.measurements} if self.timing else {},
            "speedup": {s.over: [s.ratio, s.low, s.high] for s in self.timing.speedups} if self.timing else {},
            "build_seconds": self.build_seconds,
            "notes": list(self.notes),
        }


def geomean(values: Iterable[float | None]) -> float | None:
    """The geometric mean of those that are known; None when none is."""
    known = [value for value in values if value]
    return math.exp(sum(map(math.log, known)) / len(known)) if known else None


def show(console: Console, rows: list[Row], seconds: float) -> None:
    """The table by family, the slowest tasks, and the time that it all took."""
    table = Table(box=None, header_style="bold")
    table.add_column("family")
    for title in ("tasks", "correct", "x of eager", "least", "x of compile", "least"):
        table.add_column(title, justify="right")
    families = list(dict.fromkeys(row.family for row in rows))
    groups = [(name, [row for row in rows if row.family == name]) for name in families]
    products = [row for row in rows if row.family in ("matmul", "linear")]
    if products and len(products) < len(rows):
        groups.append(("all but products", [row for row in rows if row not in products]))
    groups.append(("all", rows))
    for name, group in groups:
        cells = [str(len(group)), str(sum(row.status == "correct" for row in group))]
        for over in ("eager", "compile"):
            ratios = [ratio for row in group if (ratio := row.speedup(over)) is not None]
            cells += [_show(geomean(ratios), ".2f"), _show(min(ratios, default=None), ".2f")]
        table.add_row(name, *cells)
    console.print(table)
    builds = [row.build_seconds for row in rows if row.build_seconds is not None]
    if builds:
        console.print(f"{len(rows)} tasks in {seconds:.0f} s; a build took {statistics.median(builds):.1f} s (median)")


def _show(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)
