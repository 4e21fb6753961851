"""What each part of the agents is worth: a list of tasks under several settings, each with a part left out.

    python -m benchmarks.ablation --plugin cpp_cpu --model NAME --attempts 2 --out FOLDER benchmarks/tasks/norm

A row of the table is a setting: tasks with a correct kernel in one attempt and in all, and steps, tokens and dollars a
task. `--out` keeps a benchmark's results for each setting, from which a run that was ended goes on. The budget is each
setting's.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from akg_core import cli
from akg_core.agents.engine import PARTS
from akg_core.bench import runner, suite
from akg_core.cli.agents import Models
from akg_core.cli.job import Job
from akg_core.cli.options import PluginName, Scale, TargetText
from akg_core.cli.spread import spread
from akg_core.report.bench import AGENTS, agents_cells, line
from akg_core.report.table import plain_table

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.command()
@spread(Models, left_out=("engine", "replay", "resume", "no_memory"))
def ablation(
    models: Models,
    tasks: Annotated[list[Path], typer.Argument(metavar="TASKS…", help="Reference files, or folders of them.")],
    plugin: PluginName = "",
    target: TargetText = "",
    scale: Scale = 1.0,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Where results are kept.")] = Path(
        "runs/ablation"
    ),
) -> None:
    """Run tasks with all parts of the agents, then with each of --without (else every one) left out in turn."""
    problems = suite.files(tasks)
    request = Job(reference=problems[0].path, plugin=plugin, target=target, scale=scale, no_baseline=True).request()
    console = Console(highlight=False)
    table = plain_table("setting", "tasks", *AGENTS, right=("tasks", *AGENTS))
    for part in ("", *(models.without or PARTS)):
        setting = f"without {part}" if part else "all parts"
        agenda = replace(models, without=[part] if part else [], no_memory=True).agenda()
        folder = out / setting.replace(" ", "-")
        plan = runner.Plan(suite="files", baselines=("eager",), agenda=agenda, folder=folder)
        console.print(f"[bold]{setting}[/]")
        results = runner.run(
            problems,
            request,
            plan,
            folder / "results.json",
            lambda *row: console.print(line(*row), soft_wrap=True, markup=False),
            lambda text: console.print(text, soft_wrap=True, markup=False),
        )
        table.add_row(setting, str(len(results.rows)), *agents_cells([row.tally for row in results.rows]))
    console.print(table)


if __name__ == "__main__":
    cli.main(app)
