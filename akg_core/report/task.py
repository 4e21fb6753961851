"""What `akg-core task check` found, for a person or as JSON."""

from __future__ import annotations

import json

from rich.console import Console
from rich.text import Text

from akg_core.task.examination import Examination


def show_examination(name: str, examination: Examination, as_json: bool) -> bool:
    """Print what a task is refused for and its weaknesses; whether one of these makes a verdict worthless."""
    weak = any(finding.severity == "error" for finding in examination.findings)
    if as_json:
        print(json.dumps(examination.model_dump(mode="json"), indent=2))
        return weak
    console = Console(highlight=False, soft_wrap=True)
    for sentence in examination.refused:
        console.print(Text.assemble(("refused", "bold red"), f" {sentence}"))
    for finding in examination.findings:
        style = "bold red" if finding.severity == "error" else "yellow"
        console.print(Text.assemble((finding.code, style), f" {finding.message}"))
        if finding.suggestion:
            console.print(Text(f"      {finding.suggestion}", style="dim"))
    for note in examination.notes:
        console.print(Text(f"note: {note}", style="dim"))
    if not examination.findings and not examination.refused:
        console.print(Text.assemble((name, "bold"), " has no weakness that the probes know."))
    elif weak:
        console.print(Text.assemble((name, "bold"), ": a verdict of correct would say little."))
    return weak
