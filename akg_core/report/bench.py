"""A benchmark for a person: a line a task while it works, then a table by group, and what deserves a look."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.markup import escape

from akg_core.agents.records import Tally
from akg_core.bench.results import EQUAL, REFUSED, Results, Row, geomean, groups, passes, unserved
from akg_core.judge.timing.measure import KERNEL
from akg_core.report.table import plain_table
from akg_core.spell import count_of

AGENTS = ("pass@1", "pass@k", "steps", "tokens", "dollars")  # of a task, where agents made the kernels
_WIDTH = 112  # columns that the table takes, however narrow the terminal
_NEAR = 1.5  # times as long as the best, within which a first schedule is a good one


def line(row: Row, place: int, of: int) -> str:
    """A task in one line."""
    start = f"{place:>{len(str(of))}}/{of} {row.group:>13} {row.name:32} "
    cost = f"  ({_spell_cost(row.tally)})" if row.tally else ""
    if row.status != "correct":
        return f"{start}{row.status}: {row.reason}{cost}"
    if not row.median_ms:
        return f"{start}correct in {row.cases} cases{cost}"
    times = "  ".join(f"{name} {value:8.3f} ms" for name, value in row.median_ms.items())
    return f"{start}{times}  " + "  ".join(f"{ratio:5.2f}x" for ratio, _, _ in row.speedup.values()) + cost


def show(console: Console, results: Results) -> None:
    """The table by group, then tasks that are not correct, refused, slower than eager, or weak."""
    rows = results.rows
    table = plain_table("", *_columns(results), right=_columns(results))
    for name, group in groups(rows).items():
        table.add_row(name, *_cells(group, results))
    console.width = max(_WIDTH, console.width)
    console.print(table)
    builds = [row.seconds["compile"] for row in rows if "compile" in row.seconds]
    if builds:
        console.print(f"a build took {statistics.median(builds):.1f} s (median), all {results.seconds:.0f} s")
    if gains := [row.tuned.gain for row in rows if row.tuned and row.tuned.gain]:
        near = sum(gain <= _NEAR for gain in gains)
        console.print(
            f"the first schedule takes {statistics.median(gains):.2f} times as long as the best that a search found "
            f"(median), at most {_NEAR:g} times in {near} of {len(gains)}"
        )
    _list(console, "not correct", (f"{r.name}: {r.status}, {r.reason}" for r in rows if r.is_wrong))
    _list(console, "refused, with no kernel to judge", (f"{r.name}: {r.reason}" for r in rows if r.status == REFUSED))
    left = (f"{r.name}: {count_of(len(r.refused), 'case')}" for r in unserved(rows))
    _list(console, "cases that kernels refuse, with no other for them", left)
    slower = sorted((ratio, row) for row in rows if (ratio := row.ratio("eager")) is not None and ratio < EQUAL)
    _list(console, "slower than eager", (f"{row.name} {ratio:.2f}x{_why(row)}" for ratio, row in slower))
    _list(console, "weak tasks, where correct says little", (f"{r.name}: {r.weak[0]}" for r in rows if r.weak))


def _columns(results: Results) -> tuple[str, ...]:
    timed = [f"x of {name}" for name in results.baselines]
    agents = AGENTS if results.engine.attempts else ()
    if results.baselines:
        timed += ["least", "fast_1", "fast_1.5", "roofline"]
    return ("tasks", "captured", "refused", "correct", "not correct", *agents, *timed, "seconds")


def _cells(group: list[Row], results: Results) -> list[str]:
    correct = [row for row in group if row.status == "correct"]
    refused, wrong = (row.status == REFUSED for row in group), (row.is_wrong for row in group)
    cells = [str(len(group)), str(sum(row.is_captured for row in group))]
    cells += [str(sum(refused)), str(len(correct)), str(sum(wrong))]
    if results.engine.attempts:
        cells += agents_cells([row.tally for row in group])
    if results.baselines:
        cells += [_spell(geomean(row.ratio(name) for row in correct)) for name in results.baselines]
        ratios = [ratio for row in correct if (ratio := row.ratio(results.baselines[0])) is not None]
        cells.append(_spell(min(ratios, default=None)))
        cells += [f"{sum(r >= least for r in ratios)}" for least in (EQUAL, 1.5)]
        share = geomean(row.floor_share for row in correct)
        cells.append("–" if share is None else f"{share:.0%}")
    return [*cells, f"{sum(sum(row.seconds.values()) for row in group):.0f}"]


def _spell_cost(tally: Tally) -> str:
    dollars = f", ${tally.dollars:.3f}" if tally.dollars else ""
    return f"{tally.correct} of {tally.attempts} attempts, {tally.tokens:,} tokens{dollars}"


def agents_cells(tallies: Sequence[Tally | None]) -> list[str]:
    """What AGENTS names, as means over tasks; one without a tally ended before it was attempted."""
    known = [tally for tally in tallies if tally]

    def mean(values: Iterable[float]) -> float:
        return sum(values) / max(1, len(tallies))

    return [
        f"{mean(passes(tally.attempts, tally.correct, 1) for tally in known):.0%}",
        f"{mean(passes(tally.attempts, tally.correct, tally.attempts) for tally in known):.0%}",
        f"{mean(tally.steps for tally in known):.1f}",
        f"{mean(tally.tokens for tally in known):,.0f}",
        f"{mean(tally.dollars for tally in known):.3f}",
    ]


def _list(console: Console, title: str, lines: Iterable[str]) -> None:
    found = list(lines)
    if found:
        console.print(f"\n[bold]{title}[/]")
        for text in found:
            console.print(f"  {escape(text)}", soft_wrap=True, highlight=False)


def _why(row: Row) -> str:
    if row.floor_share is None:
        return ""
    return f" ({row.median_ms[KERNEL]:.3f} ms, {row.floor_share:.0%} of the {row.limited_by} roofline)"


def _spell(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
