"""Findings about plugins, a line each as they come, below the name of their plugin; or all of them as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from rich.console import Console
from rich.text import Text

from akg_core.records import Record
from akg_core.spell import spell_seconds

T = TypeVar("T", bound=Record)
_MARKS = {"passed": ("PASS", "green"), "failed": ("FAIL", "bold red"), "skipped": ("SKIP", "yellow")}
_NONE = "No plugin is installed. `pip install akg-plugin-…` adds one."


class Findings(Generic[T]):
    """A context that ends the report of what is in `found`."""

    def __init__(self, as_json: bool) -> None:
        self.found: list[T] = []
        self._as_json = as_json
        self._console = Console(highlight=False)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            return
        if self._as_json:
            print(json.dumps([self.row(one) for one in self.found], indent=2))
        elif not self.found:
            self._console.print(_NONE)
        else:
            for line in self.summary():
                print(line)

    def row(self, found: T) -> dict[str, Any]:
        """What JSON tells of one."""
        return found.model_dump(mode="json")

    def summary(self) -> Iterable[str]:
        """Lines at the end."""
        return ()

    def head(self, text: str) -> None:
        """Print whom the lines are about that follow."""
        if not self._as_json:
            self._console.print(Text(text, style="bold"))

    def note(self, text: str) -> None:
        """Print something more about the last finding."""
        if not self._as_json:
            self._console.print(Text(f"       {text}", style="dim"), no_wrap=True, overflow="ellipsis")

    def line(self, status: str, what: str, seconds: float, said: tuple[str, ...]) -> None:
        """Print one finding; of one that failed all is told, in as many lines as it takes."""
        if self._as_json:
            return
        failed = status == "failed"
        spent = spell_seconds(seconds) if seconds > 0.001 else ""
        *plain, last = said
        text = Text.assemble("  ", _MARKS[status], f" {what}{spent:>8}", *(f"  {one}" for one in plain))
        text.append(f"  {last}" * bool(last), style="" if failed else "dim")
        self._console.print(text, no_wrap=not failed, overflow="fold" if failed else "ellipsis")
