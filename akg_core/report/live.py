"""Progress as it happens: on a terminal a table that grows, elsewhere a line for each stage that ends."""

from __future__ import annotations

import time

from rich.console import Console, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from akg_core.spell import spell_seconds
from akg_core.stages.progress import Stage

MARKS = {"done": ("✓", "green"), "failed": ("✗", "red"), "skipped": ("–", "dim")}


class LiveStages:
    """Watches a `Progress`; a context. `console` None shows nothing."""

    def __init__(self, console: Console | None) -> None:
        self._console = console
        self._stages: dict[str, tuple[Stage, float]] = {}
        self._spinner = Spinner("dots", style="cyan")
        self._live = Live(self, console=console, refresh_per_second=10) if console and console.is_terminal else None

    def __enter__(self) -> LiveStages:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    def __call__(self, stage: Stage) -> None:
        """Take in a change of one stage."""
        began = self._stages[stage.name][1] if stage.name in self._stages else time.perf_counter()
        self._stages[stage.name] = (stage, began)
        if self._console and not self._live and stage.status != "running":
            mark, style = MARKS[stage.status]
            spent = spell_seconds(stage.seconds) if stage.seconds else ""
            line = Text.assemble((mark, style), f" {stage.name:<8} {spent:>8}  ", (stage.note, "dim"))
            self._console.print(line, no_wrap=True, overflow="ellipsis")

    def __rich__(self) -> RenderableType:
        table = Table.grid(padding=(0, 1))
        table.add_column()
        table.add_column(min_width=8, no_wrap=True)
        table.add_column(justify="right", min_width=8)
        table.add_column(style="dim", no_wrap=True, overflow="ellipsis")
        for stage, began in list(self._stages.values()):
            running = stage.status == "running"
            mark: RenderableType = self._spinner if running else Text(*MARKS[stage.status])
            seconds = time.perf_counter() - began if running else stage.seconds
            spent = "" if stage.status == "skipped" else spell_seconds(seconds) if not running else f"{seconds:.1f} s"
            table.add_row(mark, stage.name, spent, Text(stage.note))
        return table
