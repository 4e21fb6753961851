"""What each part of the agents is worth: a list of tasks under several settings, each with a part left out.

    python -m benchmarks.ablation --plugin cpp_cpu --model NAME --attempts 2 --out FILE.json benchmarks/tasks/norm

A row is a setting: tasks with a correct kernel in one attempt and in all, and steps, tokens and dollars a task.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from akg_core.agents.engine import PARTS, Agenda, Part, Tally, run
from akg_core.agents.settings import read_settings
from akg_core.agents.trace import read_trace
from akg_core.records import Record, Target
from akg_core.report.table import plain_table
from akg_core.runs import RunFolder
from akg_core.stages import Request


class Outcome(Record):
    """One task under one setting; `without` names the part that is left out, "" none."""

    task: str
    without: str
    attempts: int = 0
    correct: int = 0
    steps: int = 0
    tokens: int = 0
    dollars: float = 0.0


def passes(attempts: int, correct: int, k: int) -> float:
    """pass@k: the chance that one of k attempts, drawn from those made, is correct (Chen et al., 2021)."""
    if k > attempts:
        return float("nan")
    return 1.0 - math.comb(attempts - correct, k) / math.comb(attempts, k)


def outcome(reference: Path, request: Request, agenda: Agenda, without: str, folder: Path) -> Outcome:
    """Run one task; what ends it early counts as no correct kernel."""
    run(request, RunFolder(folder), lambda stage: None, agenda)
    kept = folder / "agents.json"
    tally = Tally(**json.loads(kept.read_text())) if kept.exists() else None
    steps = sum(event.done is not None for event in read_trace(folder)) if (folder / "trace.jsonl").exists() else 0
    return Outcome(
        task=reference.stem,
        without=without,
        attempts=agenda.attempts,
        correct=tally.correct if tally else 0,
        steps=steps,
        tokens=tally.tokens if tally else 0,
        dollars=tally.dollars if tally else 0.0,
    )


def show(rows: Sequence[Outcome], console: Console) -> None:
    """The table: a line a setting."""
    table = plain_table("setting", "tasks", "pass@1", "pass@k", "steps", "tokens", "dollars")
    for without in dict.fromkeys(row.without for row in rows):
        mine = [row for row in rows if row.without == without]

        def mean(values: Sequence[float]) -> float:
            return sum(values) / len(values)

        table.add_row(
            f"without {without}" if without else "all parts",
            str(len(mine)),
            f"{mean([passes(row.attempts, row.correct, 1) for row in mine]):.0%}",
            f"{mean([passes(row.attempts, row.correct, row.attempts) for row in mine]):.0%}",
            f"{mean([row.steps for row in mine]):.1f}",
            f"{mean([row.tokens for row in mine]):,.0f}",
            f"{mean([row.dollars for row in mine]):.3f}",
        )
    console.print(table)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="What each part of the agents is worth.")
    parser.add_argument("tasks", nargs="+", type=Path, help="reference files, or folders of them")
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--target", required=True, help="a chip that the plugin serves, such as cpu")
    parser.add_argument("--model", default="")
    parser.add_argument("--base-url", default="")
    parser.add_argument("--attempts", type=int, default=1)
    parser.add_argument("--without", nargs="*", choices=PARTS, default=list(PARTS), help="parts to leave out, in turn")
    parser.add_argument("--out", type=Path, help="a JSON file for the rows")
    given = parser.parse_args(arguments)
    files = [file for path in given.tasks for file in (sorted(path.rglob("*.py")) if path.is_dir() else [path])]
    settings = read_settings(model=given.model, base_url=given.base_url)
    wanted: list[Part | None] = [None, *given.without]
    rows: list[Outcome] = []
    console = Console(highlight=False)
    with tempfile.TemporaryDirectory() as kept:
        for part in wanted:
            agenda = Agenda(settings, given.attempts, without=frozenset([part] if part else ()), memory=False)
            for number, file in enumerate(files):
                request = Request(file, given.plugin, Target.parse(given.target), baseline=False)
                rows.append(outcome(file, request, agenda, part or "", Path(kept, f"{part}-{number}")))
                console.print(f"{part or 'all parts'}  {file.stem}  {rows[-1].correct} of {given.attempts} correct")
                if given.out:
                    given.out.write_text(json.dumps([row.model_dump() for row in rows], indent=1) + "\n")
    show(rows, console)
    return 0


if __name__ == "__main__":
    sys.exit(main())
