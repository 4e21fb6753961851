"""Sketches for a person: the text, what the checker finds, and how far one is from the reference."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.syntax import Syntax

from akg_core.report.table import plain_table
from akg_core.spell import spell_count, spell_seconds

if TYPE_CHECKING:
    from akg_core.records import Schedule, Task


def show_sketch(text: str, as_json: bool, following: int = 0) -> None:
    """Print a sketch, coloured on a terminal and exact elsewhere; `following`: the next variant, 0 for none."""
    if as_json:
        print(json.dumps({"text": text}, indent=2))
        return
    console = Console()
    if not console.is_terminal:
        print(text, end="" if text.endswith("\n") else "\n")
        return
    console.print(Syntax(text.rstrip(), "python", background_color="default", word_wrap=True))
    if following:
        console.print(f"[dim]--variant {following} shows the next variant.[/]")


def show_ir(text: str, name: str, schedule: Schedule, as_json: bool) -> None:
    """Print the tile IR of a sketch under a schedule."""
    from akg_core.lower.listing import listing

    found = listing(text, name, schedule)
    print(json.dumps({"ir": found}, indent=2) if as_json else found, end="\n" if as_json else "")


def show_findings(text: str, name: str, as_json: bool) -> None:
    """Check a sketch and print every finding; ends with exit code 2 when one is an error."""
    from akg_core.errors import SketchError
    from akg_core.sketch.check import check
    from akg_core.sketch.parse import parse

    try:
        findings = check(parse(text, name)).findings
    except SketchError as error:
        if not error.findings:
            raise
        findings = error.findings
    wrong = any(finding.severity == "error" for finding in findings)
    if as_json:
        print(json.dumps([finding.model_dump() for finding in findings], indent=2))
    else:
        console = Console(highlight=False, soft_wrap=True)
        for finding in findings:
            style = "bold red" if finding.severity == "error" else "yellow"
            console.print(
                f"{escape(name)}:{finding.line}:{finding.column}: [{style}]{finding.code}[/] {escape(finding.message)}"
            )
            if finding.suggestion:
                console.print(f"  {escape(finding.suggestion)}", style="dim")
        if not wrong:
            console.print(
                f"[green]{escape(name)} is sound[/]" + (f", {len(findings)} warnings" if findings else "") + "."
            )
    if wrong:
        raise typer.Exit(2)


def show_trial(task: Task, trial: dict[str, Any], as_json: bool) -> bool:
    """Print the interpreter's results beside eager's, and what the sketch moves and computes; whether both agree."""
    agrees = all(output["agrees"] for output in trial["outputs"])
    if as_json:
        print(json.dumps(trial, indent=2))
        return agrees
    console = Console(highlight=False)
    table = plain_table("output", "dtype", "shape", "largest difference from eager", "where", "eager's value")
    for number, output in enumerate(trial["outputs"]):
        said = "another shape or dtype" if output["error"] is None else f"{output['error']:.3g}"
        shape, where = escape(str(output["shape"])), escape(str(output["where"]))
        table.add_row(str(number), output["dtype"], shape, said, where, output["reference"])
    console.print(table)
    counted = plain_table("kernel", "reads", "writes", "dot operations", "other operations", right=("reads", "writes"))
    for name, counts in {**trial["kernels"], "all": trial["counts"]}.items():
        other = counts["elementwise"] + counts["transcendental"]
        sizes = [spell_count(counts[key], "B") for key in ("bytes_read", "bytes_written")]
        counted.add_row(escape(name), *sizes, spell_count(counts["dot_operations"]), spell_count(other))
    console.print(counted)
    console.print(f"{escape(task.name)}, interpreted in {spell_seconds(trial['seconds'])}.", style="dim")
    if not agrees:
        console.print("[bold red]The sketch differs from eager[/] by more than KernelBench's tolerance.")
    return agrees
