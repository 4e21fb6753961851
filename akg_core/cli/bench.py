"""`akg-core bench`: many tasks in one go, beside eager PyTorch and torch.compile."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from akg_core.cli.agents import Models
from akg_core.cli.options import (
    Evaluation,
    Json,
    PluginName,
    SampleSeconds,
    Scale,
    Seed,
    TargetText,
    TimeLimit,
    Together,
    TuneSeconds,
)
from akg_core.cli.spread import spread

if TYPE_CHECKING:
    from akg_core.bench.suite import Problem

KERNELBENCH, FILES = "kernelbench", "files"
SUITES = {
    KERNELBENCH: "KernelBench",
    "multikernelbench": "MultiKernelBench",
    "npukernelbench": "MultiKernelBench, which holds NPUKernelBench",
}


@spread(Models, left_out=("replay", "resume"))
def bench(
    models: Models,
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="WHAT…",
            help="`kernelbench`, `multikernelbench`, `npukernelbench`, or reference files and folders of them.",
        ),
    ],
    root: Annotated[Path | None, typer.Option("--root", metavar="DIR", help="A checkout of the suite.")] = None,
    level: Annotated[int, typer.Option("--level", metavar="N", help="KernelBench's level.")] = 1,
    problems: Annotated[
        str,
        typer.Option("--problems", metavar="LIST", help="Numbers, 1-20,54, or names and groups of others; else all."),
    ] = "",
    plugin: PluginName = "",
    target: TargetText = "",
    baseline: Annotated[
        str, typer.Option("--baseline", metavar="LIST", help="What to time against; an empty list judges only.")
    ] = "eager,compile",
    evaluation: Evaluation = False,
    scale: Scale = 1.0,
    seed: Seed = None,
    seconds: SampleSeconds = 1.5,
    tune: TuneSeconds = 0.0,
    together: Together = 4,
    time_limit: TimeLimit = 0.0,
    folder: Annotated[Path, typer.Option("--folder", metavar="DIR", help="Where runs are kept.")] = Path("runs/bench"),
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="A JSON file for the results.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Run many tasks, beside eager PyTorch and torch.compile.

    A line a task while it works, then a table by group. With --out, a run that was ended goes on where it stopped. With
    --engine llm or hybrid, models make the kernels, and the budget is for all tasks together.
    """
    from dataclasses import replace

    from rich.console import Console

    from akg_core.bench import runner
    from akg_core.cli.job import Job
    from akg_core.errors import Interrupted, UsageError
    from akg_core.judge.timing.baseline import MODES
    from akg_core.report.bench import line, show

    names = tuple(filter(None, baseline.replace(" ", "").split(",")))
    if unknown := [name for name in names if name not in MODES]:
        raise UsageError(f"There is no baseline {unknown[0]!r}.", f"There are {' and '.join(MODES)}.")
    suite, chosen = _suite(what, root, level, problems, folder)
    first = chosen[0].path
    job = Job(reference=first, plugin=plugin, target=target, evaluation=evaluation, scale=scale, seed=seed)
    request = replace(job.request(), time_limit=time_limit)
    console = Console(highlight=False, quiet=as_json)
    plan = runner.Plan(suite, names, seconds, together, examine=suite != FILES, tune=tune or 0.0, folder=folder)
    if models.engine == "builtin":
        models.require_none()
    elif tune or "eager" not in names:
        raise UsageError("Agents' kernels are timed beside eager, with no search.", "Leave out --baseline and --tune.")
    else:
        plan = replace(plan, agenda=models.agenda())
        request = replace(request, baseline="compile" in names)
    try:
        results = runner.run(
            chosen,
            request,
            plan,
            out,
            lambda *row: console.print(line(*row), soft_wrap=True, markup=False),
            lambda text: console.print(text, soft_wrap=True, markup=False),
        )
    except KeyboardInterrupt:
        if not out:
            raise
        raise Interrupted(f"Interrupted; the tasks that are done are in {out}.", "The same command goes on.") from None
    show(console, results)
    if out:
        console.print(f"written to {out}")
    if not results.finished:
        console.print(f"The budget is spent, {len(chosen) - len(results.rows)} tasks are left. Raise it to go on.")
    if as_json:
        print(results.model_dump_json(indent=1))
    raise typer.Exit(0 if results.finished and all(row.status == "correct" for row in results.rows) else 1)


def _suite(what: list[str], root: Path | None, level: int, problems: str, folder: Path) -> tuple[str, list[Problem]]:
    """The name of what is to be run, and its tasks; those that are made of cases are written below `folder`."""
    from akg_core.bench import cases, suite
    from akg_core.errors import UsageError

    if len(what) != 1 or what[0] not in SUITES:
        return FILES, suite.files(map(Path, what))
    (name,) = what
    if root is None:
        raise UsageError("--root is missing.", f"It is a checkout of {SUITES[name]}.")
    if name == KERNELBENCH:
        return f"{KERNELBENCH}-level{level}", suite.kernelbench(root, level, problems)
    if name == "multikernelbench":
        return name, suite.multikernelbench(root, problems)
    found = [cases.by_kernel(one, folder / "references") for one in suite.npukernelbench(root, problems)]
    return name, [problem for kernels in found for problem in kernels]
