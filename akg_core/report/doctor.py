"""The doctor's findings, a line each as they come; or all of them as JSON."""

from __future__ import annotations

import json
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from akg_core.report.spell import spell_seconds

if TYPE_CHECKING:
    from akg_core.doctor import Check


class DoctorReport:
    """Call it with each Check; a context that ends the report."""

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json
        self._console = Console(highlight=False)
        self._checks: list[Check] = []

    def __enter__(self) -> DoctorReport:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            return
        if self._as_json:
            print(json.dumps([check.model_dump(mode="json") for check in self._checks], indent=2))
        elif not self._checks:
            self._console.print("No plugin is installed. `pip install akg-plugin-…` adds one.")

    def __call__(self, check: Check) -> None:
        """Take in one finding."""
        first = check.plugin not in {seen.plugin for seen in self._checks}
        self._checks.append(check)
        if self._as_json:
            return
        if first:
            self._console.print(Text(check.plugin, style="bold"))
        mark = ("PASS", "green") if check.passed else ("FAIL", "bold red")
        spent = spell_seconds(check.seconds) if check.seconds else ""
        self._console.print(
            Text.assemble("  ", mark, f" {check.stage:<11}{spent:>8}  ", (check.said, "dim" if check.passed else "")),
            no_wrap=check.passed,
            overflow="ellipsis" if check.passed else "fold",
        )
