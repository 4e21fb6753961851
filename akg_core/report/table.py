"""The one look that all tables of the command line share."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.table import Table


def plain_table(*columns: str, right: tuple[str, ...] = ()) -> Table:
    """A borderless table with dim headings; the columns named in `right` are flush right."""
    table = Table(box=SIMPLE_HEAD, header_style="dim", pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for name in columns:
        table.add_column(name, justify="right" if name in right else "left", overflow="fold")
    return table
