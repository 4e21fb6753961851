"""The result of a run for a person: verdict, times, and where everything is; or all of it as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from akg_core.judge.timing.measure import KERNEL
from akg_core.report.table import plain_table
from akg_core.spell import spell_interval, spell_seconds

if TYPE_CHECKING:
    from akg_core.judge.records import Speedup, Timing, Verdict
    from akg_core.pipeline.results import RunResult
    from akg_core.records import Scalar
    from akg_core.search.tune import Tuned

_NAMES = {"kernel": "kernel", "eager": "eager", "compile": "torch.compile"}
_FAR = 1000  # times; what is further off is wrong, and how far says nothing
_RESULTS = {"faster": "green", "slower": "red", "inconclusive": "yellow"}


def console_for(as_json: bool) -> Console | None:
    """Where progress goes: standard output for a person, nowhere when the result is data."""
    return None if as_json else Console(highlight=False)


def show_run(result: RunResult, as_json: bool) -> None:
    """Print what there is: a run that failed shows what it reached, and why it ended there."""
    if as_json:
        print(json.dumps(result.model_dump(mode="json"), indent=2))
        return
    console = Console(highlight=False)
    console.print()
    if result.verdict:
        _show_verdict(console, result.verdict)
    if result.timing:
        _show_timing(console, result.timing, verified=result.verdict is not None)
    if result.tuned:
        _say(console, "tuning", Text(_spell_tuned(result.tuned)))
    if result.kernels:
        _show_kernels(console, result.kernels)
    for note in result.notes:
        _say(console, "note", Text(note))
    if result.error:
        _say(console, "error", Text(result.error.message, style="bold red"))
        if result.error.cure:
            _say(console, "", Text(result.error.cure))
    console.print(Text.assemble(("result  ", "dim"), spell_path(Path(result.folder))), soft_wrap=True)


def _show_verdict(console: Console, verdict: Verdict) -> None:
    style = {"correct": "bold green", "unverified": "bold yellow", "unavailable": "bold yellow"}
    line = Text(verdict.status, style.get(verdict.status, "bold red"))
    if verdict.correct:
        how = " by simulation" if verdict.simulated else ""
        line.append(f"{how} in all {len(verdict.cases)} cases", style="default")
    elif verdict.reason:
        line.append(f": {verdict.reason}", style="default")
    _say(console, "verdict", line)
    if verdict.cure:
        _say(console, "", Text(verdict.cure))
    for hint in verdict.hints:
        _say(console, "", Text(hint))
    if verdict.worst_error is not None:
        nearest = f"nearest to its limit: off by {verdict.worst_error:.2g}{_of_allowed(verdict)} at {verdict.where}"
        _say(console, "", Text(nearest, style="dim"))
    if verdict.accuracy_ratio is not None:
        ratio = f"{verdict.accuracy_ratio:.2f}x" if verdict.accuracy_ratio < _FAR else f"more than {_FAR}x"
        fixed = "within" if verdict.kernelbench else "in some cases beyond"
        far = f"{ratio} as far from float64 as eager, {fixed} KernelBench's fixed tolerance"
        _say(console, "", Text(far, style="dim"))
    if verdict.seed and not verdict.correct:
        _say(console, "", Text(f"--seed {verdict.seed} repeats these draws", style="dim"))
    if verdict.deterministic is False:
        _say(console, "", Text("not deterministic: runs on the same input differ", style="yellow"))
    if verdict.left_open:
        _say(console, "", Text(f"not excluded: {', '.join(verdict.left_open)}", style="dim"))
    for note in verdict.notes:
        _say(console, "", Text(note, style="dim"))


def _of_allowed(verdict: Verdict) -> str:
    """How much of what is allowed the error is that comes nearest to it."""
    outputs = (output for case in verdict.cases for output in case.outputs)
    shares = [o.worst_error / o.allowed_error for o in outputs if o.worst_error is not None and o.allowed_error]
    if not shares:
        return ""
    most = max(shares)
    return f", {most:.1%} of what is allowed," if most < _FAR else f", more than {_FAR} times what is allowed,"


def _show_timing(console: Console, timing: Timing, verified: bool) -> None:
    if timing.status != "ok":
        _say(console, "timing", Text.assemble((timing.status, "bold red"), f": {timing.reason}"))
    elif not verified:
        _say(
            console,
            "timing",
            Text.assemble(("unverified", "bold yellow"), ": whether the kernel is right was not asked"),
        )
    if timing.measurements:
        table = plain_table("", "median", "95 % interval", "speed-up", "", right=("median", "speed-up"))
        speedups = {speedup.over: speedup for speedup in timing.speedups}
        for measured in timing.measurements:
            interval = spell_interval(measured.low, measured.high)
            against = _spell_speedup(speedups[measured.name]) if measured.name in speedups else ("", "")
            table.add_row(_NAMES.get(measured.name, measured.name), spell_seconds(measured.median), interval, *against)
        if timing.floor:
            why = {"memory": "to move its bytes", "arithmetic": "to compute"}.get(timing.floor.limited_by, "")
            if kernel := timing.median(KERNEL):
                why += f", {timing.floor.seconds / kernel:.0%} of the kernel's time"
            table.add_row("physical floor", spell_seconds(timing.floor.seconds), why, style="dim")
        console.print(Padding(table, (1, 0, 1, 2)))
    if timing.busy:
        busy = f"The machine was busy: {timing.waited:.0%} of the time went by in waiting for a processor."
        _say(console, "", Text(busy, style="yellow"))
    if timing.unqueued:
        whose = " and ".join(_NAMES.get(name, name) for name in timing.unqueued)
        counted = ", for all" if KERNEL in timing.unqueued else ""
        said = f"Calls of {whose} cannot be queued on the device: what launching takes counts{counted}."
        _say(console, "", Text(said, style="yellow"))
    for name, reason in timing.unavailable.items():
        _say(console, "", Text(f"{_NAMES.get(name, name)}: {reason}", style="dim"))


def _spell_tuned(tuned: Tuned) -> str:
    said = f"{tuned.tried} candidates tried"
    if tuned.gain and tuned.first and tuned.best:
        said += f": the best takes {spell_seconds(tuned.best)}, the first schedule {spell_seconds(tuned.first)}"
        said += f" ({tuned.gain:.2f} times as long)"
    return said


def _show_kernels(console: Console, kernels: dict[str, dict[str, Scalar]]) -> None:
    """What the compiler tells of each kernel, a column for each thing told."""
    columns = list(dict.fromkeys(key for told in kernels.values() for key in told))
    headings = [key.replace("_", " ") for key in columns]
    table = plain_table("kernel", *headings, right=tuple(headings))
    for name, told in kernels.items():
        table.add_row(name, *(_spell_told(told.get(key)) for key in columns))
    console.print(Padding(table, (0, 0, 1, 2)))


def _spell_told(value: Scalar) -> str:
    """A share as a percentage, anything else as it is."""
    if isinstance(value, float):
        return f"{value:.0%}" if 0 <= value <= 1 else f"{value:.3g}"
    return "" if value is None else str(value)


def _spell_speedup(speedup: Speedup) -> tuple[str, str]:
    said = f"{speedup.low:.2f} – {speedup.high:.2f}"
    if speedup.result == "inconclusive":
        said += " inconclusive"
    return f"[{_RESULTS[speedup.result]}]{speedup.ratio:.2f}x[/]", f"[dim]{said}[/]"


def _say(console: Console, label: str, text: Text) -> None:
    """A line with a dim label at the left; long lines wrap beside it."""
    row = Table.grid(padding=(0, 1))
    row.add_column(style="dim", width=7)
    row.add_column(overflow="fold")
    row.add_row(label, text)
    console.print(row)


def spell_path(path: Path) -> str:
    """A path as one would type it here: relative where it is below the current folder."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
