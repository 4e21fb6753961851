"""`akg-core bench`: many tasks in one go, beside eager PyTorch and torch.compile."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from akg_core.cli.agents import Models
from akg_core.cli.options import (
    Dynamic,
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
    from rich.console import Console

    from akg_core.bench.results import Results
    from akg_core.bench.runner import Plan
    from akg_core.bench.suite import Problem
    from akg_core.stages.stages import Request

KERNELBENCH, FILES = "kernelbench", "files"
SUITES = {
    KERNELBENCH: "KernelBench",
    "multikernelbench": "MultiKernelBench",
    "npukernelbench": "MultiKernelBench, which holds NPUKernelBench",
}
Document = Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE", help="A JSON file for the results.")]


@dataclass(frozen=True, kw_only=True)
class Tasks:
    """Which tasks are run, each field an option."""

    what: Annotated[
        list[str],
        typer.Argument(
            metavar="WHAT…",
            help="`kernelbench`, `multikernelbench`, `npukernelbench`, or reference files and folders of them.",
        ),
    ]
    root: Annotated[Path | None, typer.Option(metavar="DIR", help="A checkout of the suite.")] = None
    level: Annotated[int, typer.Option(metavar="N", help="KernelBench's level.")] = 1
    problems: Annotated[
        str, typer.Option(metavar="LIST", help="Numbers, 1-20,54, or names and groups of others; else all.")
    ] = ""
    kernels: Annotated[
        int, typer.Option(metavar="N", min=0, help="Of a task with many kernels the first N (0: all).")
    ] = 0
    folder: Annotated[Path, typer.Option(metavar="DIR", help="Where runs are kept.")] = Path("runs/bench")

    def found(self) -> tuple[str, list[Problem]]:
        """The name of what is to be run, and its tasks; those that are made of cases are written below the folder."""
        from akg_core.bench import cases, suite
        from akg_core.errors import UsageError

        if len(self.what) != 1 or self.what[0] not in SUITES:
            return FILES, suite.files(map(Path, self.what))
        (name,) = self.what
        if self.root is None:
            raise UsageError("--root is missing.", f"It is a checkout of {SUITES[name]}.")
        if name == KERNELBENCH:
            return f"{KERNELBENCH}-level{self.level}", suite.kernelbench(self.root, self.level, self.problems)
        if name == "multikernelbench":
            return name, suite.multikernelbench(self.root, self.problems)
        references = self.folder / "references"
        found = [cases.by_kernel(one, references) for one in suite.npukernelbench(self.root, self.problems)]
        return name, [problem for kernels in found for problem in kernels[: self.kernels or None]]


@dataclass(frozen=True, kw_only=True)
class Clock:
    """How tasks are timed, each field an option."""

    baseline: Annotated[str, typer.Option(metavar="LIST", help="What to time against; an empty list judges only.")] = (
        "eager,compile"
    )
    seconds: SampleSeconds = 1.5
    tune: TuneSeconds = 0.0
    together: Together = 4
    time_limit: TimeLimit = 0.0

    def baselines(self) -> tuple[str, ...]:
        """What to time against. Raises UsageError for what there is not."""
        from akg_core.errors import UsageError
        from akg_core.judge.timing.baseline import MODES

        names = tuple(filter(None, self.baseline.replace(" ", "").split(",")))
        if unknown := [name for name in names if name not in MODES]:
            raise UsageError(f"There is no baseline {unknown[0]!r}.", f"There are {' and '.join(MODES)}.")
        return names


@spread(Tasks, Clock, Models, left_out=("replay", "resume"))
def bench(
    tasks: Tasks,
    clock: Clock,
    models: Models,
    plugin: PluginName = "",
    target: TargetText = "",
    dynamic: Dynamic = False,
    evaluation: Evaluation = False,
    scale: Scale = 1.0,
    seed: Seed = None,
    out: Document = None,
    as_json: Json = False,
) -> None:
    """Run many tasks, beside eager PyTorch and torch.compile.

    A line a task while it works, then a table by group. With --out, a run that was ended goes on where it stopped. With
    --engine llm or hybrid, models make the kernels, and the budget is for all tasks together.
    """
    from rich.console import Console

    from akg_core.bench import runner
    from akg_core.cli.job import Job
    from akg_core.report.bench import show

    names = clock.baselines()
    suite, chosen = tasks.found()
    job = Job(reference=chosen[0].path, plugin=plugin, target=target, evaluation=evaluation, scale=scale, seed=seed)
    request = replace(job.request(), dynamic=dynamic, time_limit=clock.time_limit)
    plan = runner.Plan(
        suite,
        names,
        clock.seconds,
        clock.together,
        examine=suite != FILES,
        tune=clock.tune or 0.0,
        kernels=tasks.kernels,
        folder=tasks.folder,
    )
    request, plan = _made_by(models, request, plan)
    console = Console(highlight=False, quiet=as_json)
    results = _run(chosen, request, plan, out, console)
    show(console, results)
    if out:
        console.print(f"written to {out}")
    if not results.finished:
        console.print(f"The budget is spent, {len(chosen) - len(results.rows)} tasks are left. Raise it to go on.")
    if as_json:
        print(results.model_dump_json(indent=1))
    raise typer.Exit(0 if results.finished and all(row.status == "correct" for row in results.rows) else 1)


def _made_by(models: Models, request: Request, plan: Plan) -> tuple[Request, Plan]:
    """What is asked and planned, with agents where these are to make the kernels."""
    from akg_core.errors import UsageError

    if models.engine == "builtin":
        models.require_none()
        return request, plan
    if plan.tune or "eager" not in plan.baselines:
        raise UsageError("Agents' kernels are timed beside eager, with no search.", "Leave out --baseline and --tune.")
    return replace(request, baseline="compile" in plan.baselines), replace(plan, agenda=models.agenda())


def _run(problems: list[Problem], request: Request, plan: Plan, out: Path | None, console: Console) -> Results:
    """The results, with a line a task printed as it is known."""
    from akg_core.bench import runner
    from akg_core.errors import Interrupted
    from akg_core.report.bench import line

    def say(text: str) -> None:
        console.print(text, soft_wrap=True, markup=False)

    try:
        return runner.run(problems, request, plan, out, lambda *row: say(line(*row)), say)
    except KeyboardInterrupt:
        if not out:
            raise
        raise Interrupted(f"Interrupted; the tasks that are done are in {out}.", "The same command goes on.") from None
